package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// decoder reads one body.
type decoder struct {
	rawjson.Decoder
	llm.Builder
	layout
	calls   int        // function calls so far
	open    []llm.Part // calls of the model's last content that have no response yet
	counted bool       // the request stands in a body of countTokens
}

// layout is where a request stands in its body.
type layout struct {
	walk   rawjson.Walk // of the contents; its seams count function calls as their parts
	system bool         // a message goes before those of the walk
}

func newDecoder(body []byte) *decoder { return &decoder{Decoder: rawjson.NewDecoder(body)} }

// Decode implements llm.Codec. Model and Stream stay empty: they are in the path.
//
// Strings of the messages share pieces of memory of up to 64 KB: clone what is to
// outlive the request.
func (c GenerateContent) Decode(body []byte) (*llm.Request, error) {
	return c.DecodeAfter(body, nil, nil)
}

// DecodeAfter implements llm.Codec.
func (GenerateContent) DecodeAfter(body []byte, earlier *llm.Request, earlierBody []byte) (*llm.Request, error) {
	d := newDecoder(body)
	req, err := d.request(earlier, earlierBody)
	if err != nil {
		return nil, fmt.Errorf("gemini request: %w", err)
	}
	return req, nil
}

// Members have two names, as always where JSON is made of protocol buffers.
const (
	reqContents = iota
	reqSystem
	reqSystemOther
	reqTools
	reqConfig
	reqConfigOther
	reqCached
	reqCachedOther
	reqCounted
	reqCountedOther
	reqKeyCount
)

var reqKeys = [reqKeyCount]string{
	"contents", "systemInstruction", "system_instruction", "tools", "generationConfig", "generation_config",
	"cachedContent", "cached_content", "generateContentRequest", "generate_content_request",
}

var configKeys = [2]string{"maxOutputTokens", "max_output_tokens"}

func (d *decoder) request(earlier *llm.Request, earlierBody []byte) (*llm.Request, error) {
	var f [reqKeyCount]rawjson.Span
	found := d.Walk(&d.walk, d.resume(earlier, earlierBody), reqKeys[reqContents], reqKeys[:], f[:], d.contents)
	if d.Err() != nil {
		return nil, d.Err()
	}
	if counted := either(f[reqCounted], f[reqCountedOther]); !counted.IsZero() && !d.counted {
		return d.countedRequest(counted)
	}
	if !found || !f[reqContents].IsZero() {
		return nil, errors.New("no contents, or two")
	}
	req := &llm.Request{}
	d.systemText(either(f[reqSystem], f[reqSystemOther]))
	if at := either(f[reqConfig], f[reqConfigOther]); at.KindOf(d.Body) == '{' {
		var c [2]rawjson.Span
		s := rawjson.At(d.Body, at)
		s.Object(configKeys[:], c[:])
		req.MaxTokens, _ = rawjson.Int(d.Body, either(c[0], c[1]))
	}
	d.tools(req, f[reqTools])
	// Content that the provider keeps under a name comes before the contents, and is not seen here.
	req.Chained = d.Own(either(f[reqCached], f[reqCachedOther])) != ""
	req.Messages = d.Messages()
	layout := d.layout // alone: the decoder has the body
	req.Layout = &layout
	return req, d.Err()
}

// countedRequest reads the request whose tokens are to be counted, where countTokens has it whole: the provider
// ignores contents beside it then.
func (d *decoder) countedRequest(at rawjson.Span) (*llm.Request, error) {
	if at.KindOf(d.Body) != '{' {
		return nil, errors.New("the request to be counted is no object")
	}
	in := &decoder{Decoder: rawjson.NewDecoderAt(d.Body, at), counted: true}
	req, err := in.request(nil, nil)
	if err != nil {
		return nil, err
	}
	req.Layout = nil // no other body goes on from a seam in it
	return req, nil
}

// either is the place of a member that is written in one of two ways.
func either(a, b rawjson.Span) rawjson.Span {
	if a.IsZero() {
		return b
	}
	return a
}

// resume goes on behind the contents that the body has in common with an earlier one. It is nil
// if there are none.
func (d *decoder) resume(earlier *llm.Request, earlierBody []byte) *rawjson.Scanner {
	if earlier == nil {
		return nil
	}
	before, ok := earlier.Layout.(*layout)
	if !ok {
		return nil
	}
	s, walk, ok := before.walk.Resume(d.Body, earlierBody)
	if !ok {
		return nil
	}
	d.walk = walk
	at := walk.Last()
	messages := earlier.Messages
	if before.system {
		messages = messages[1:]
	}
	d.Before, d.calls = messages[:at.Messages:at.Messages], at.Parts
	d.reopen()
	d.Few()
	return &s
}

// reopen finds the calls that have no response yet in what goes before.
func (d *decoder) reopen() {
	for i := len(d.Before) - 1; i >= 0; i-- {
		if d.Before[i].Role != llm.Assistant {
			continue
		}
		d.asked(d.Before[i].Parts)
		for _, m := range d.Before[i+1:] {
			for _, p := range m.Parts {
				if p.Kind == llm.ToolResult {
					d.close(func(c llm.Part) bool { return c.CallID == p.CallID })
				}
			}
		}
		return
	}
}

// asked takes the calls among the parts of the model's last content for open.
func (d *decoder) asked(parts []llm.Part) {
	d.open = d.open[:0]
	for _, p := range parts {
		if p.Kind == llm.ToolCall {
			d.open = append(d.open, p)
		}
	}
}

// close takes away the first open call that is meant, and returns its id.
func (d *decoder) close(meant func(llm.Part) bool) (id string, ok bool) {
	i := slices.IndexFunc(d.open, meant)
	if i < 0 {
		return "", false
	}
	id = d.open[i].CallID
	d.open = slices.Delete(d.open, i, i+1)
	return id, true
}

// contents reads the contents that are left of the array that s is in.
func (d *decoder) contents(s *rawjson.Scanner) {
	for s.Next() && d.Err() == nil {
		d.content(s)
		d.walk.Cut(s, len(d.Before)+d.Len(), d.calls)
	}
}

var contentKeys = [2]string{"role", "parts"}

// content reads one content of the wire, which becomes one message, or several where
// function responses stand among other parts.
func (d *decoder) content(s *rawjson.Scanner) {
	var f [2]rawjson.Span
	whole := s.Object(contentKeys[:], f[:])
	if whole.IsZero() {
		d.Fail(s.Err())
		return
	}
	from := len(d.Parts)
	switch d.Word(f[0]) {
	case "model":
		d.parts(f[1], llm.Assistant)
		d.End(llm.Assistant)
		d.asked(d.Parts[from:])
	case "user", "function", "tool", "":
		d.parts(f[1], llm.User)
		d.split(from)
	default:
		d.FailAt(whole, "unknown role")
	}
}

// split ends the messages of a content that began at part from.
func (d *decoder) split(from int) {
	roleOf := func(p *llm.Part) llm.Role {
		if p.Kind == llm.ToolResult {
			return llm.Tool
		}
		return llm.User
	}
	for i := from; i < len(d.Parts); i++ {
		if i+1 == len(d.Parts) || roleOf(&d.Parts[i]) != roleOf(&d.Parts[i+1]) {
			d.EndAt(roleOf(&d.Parts[i]), i+1)
		}
	}
	if from == len(d.Parts) {
		d.EndAt(llm.User, from)
	}
}

// systemText reads the system instruction, a content of its own.
func (d *decoder) systemText(at rawjson.Span) {
	if at.IsZero() {
		return
	}
	var f [2]rawjson.Span
	s := rawjson.At(d.Body, at)
	if s.Object(contentKeys[:], f[:]).IsZero() {
		d.Fail(s.Err())
		return
	}
	d.parts(f[1], llm.System)
	d.EndFirst(llm.System)
	d.system = true
}

// tools reads what the model may call: functions, and by their names the tools that run at the
// provider.
func (d *decoder) tools(req *llm.Request, at rawjson.Span) {
	if at.IsZero() {
		return
	}
	s := rawjson.At(d.Body, at)
	for s.Enter('['); s.Next() && d.Err() == nil; {
		for s.Enter('{'); s.Next() && d.Err() == nil; {
			switch name := string(s.Key()); name {
			case "functionDeclarations", "function_declarations":
				if s.Kind() == 'n' {
					s.Skip()
					continue
				}
				for s.Enter('['); s.Next() && d.Err() == nil; {
					d.function(req, &s)
				}
			default:
				value := s.Skip()
				req.AddTool(name, "", bytes.Clone(value.Of(d.Body)))
			}
		}
	}
	d.Fail(s.Err())
}

var functionKeys = [5]string{"name", "description", "parameters", "parametersJsonSchema", "parameters_json_schema"}

// function adds the function that is next.
func (d *decoder) function(req *llm.Request, s *rawjson.Scanner) {
	var f [5]rawjson.Span
	if s.Object(functionKeys[:], f[:]).IsZero() {
		d.Fail(s.Err())
		return
	}
	schema := either(f[2], either(f[3], f[4]))
	req.AddTool(d.String(f[0]), d.String(f[1]), bytes.Clone(schema.Of(d.Body)))
}

// callName is the id of a call that has none: the number of calls before it.
func callName(n int) string { return "call-" + strconv.Itoa(n) }
