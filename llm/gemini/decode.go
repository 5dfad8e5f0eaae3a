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
	llm.Decoder
	calls   int        // function calls so far
	open    []llm.Part // calls of the model's last content without a response
	counted bool       // the request is inside a body of countTokens
}

func newDecoder(body []byte) *decoder { return &decoder{Decoder: llm.NewDecoder(body)} }

// Decode implements llm.Codec. Model and Stream stay empty, because they are in the path.
func (c GenerateContent) Decode(body []byte) (*llm.Request, error) {
	return c.DecodeAfter(body, nil, nil, 0)
}

// DecodeAfter implements llm.Codec.
func (GenerateContent) DecodeAfter(body []byte, earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	d := newDecoder(body)
	req, err := d.request(earlier, earlierBody, same)
	if err != nil {
		return nil, fmt.Errorf("gemini request: %w", err)
	}
	return req, nil
}

// Each member has two names, as usual for JSON that is made from protocol buffers.
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

func (d *decoder) request(earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	var f [reqKeyCount]rawjson.Span
	found := d.Walk(&d.Walked, d.resume(earlier, earlierBody, same), reqKeys[reqContents], reqKeys[:], f[:], d.contents)
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
	config := either(f[reqConfig], f[reqConfigOther])
	req.MaxTokens, _ = rawjson.Int(d.Body, either(rawjson.Member(d.Body, config, "maxOutputTokens"), rawjson.Member(d.Body, config, "max_output_tokens")))
	d.tools(req, f[reqTools])
	// With cachedContent, the provider stores the beginning of the conversation. It is not in this body.
	req.Chained = d.Own(either(f[reqCached], f[reqCachedOther])) != ""
	return d.Finish(req)
}

// countedRequest reads the request in a body of countTokens whose tokens are to be counted. In this case the provider ignores
// contents next to the request.
func (d *decoder) countedRequest(at rawjson.Span) (*llm.Request, error) {
	if at.KindOf(d.Body) != '{' {
		return nil, errors.New("the request to be counted is no object")
	}
	in := &decoder{Decoder: llm.Decoder{Decoder: rawjson.NewDecoderAt(d.Body, at)}, counted: true}
	req, err := in.request(nil, nil, 0)
	if err != nil {
		return nil, err
	}
	req.Layout = nil // DecodeAfter cannot continue from such a request
	return req, nil
}

// either returns the span of a member that has two possible names.
func either(a, b rawjson.Span) rawjson.Span {
	if a.IsZero() {
		return b
	}
	return a
}

// resume is Resume, and sets the calls from the messages in Before.
func (d *decoder) resume(earlier *llm.Request, earlierBody []byte, same int) *rawjson.Scanner {
	s := d.Resume(earlier, earlierBody, same)
	for _, m := range d.Before {
		if m.Role == llm.Assistant {
			d.setOpen(m.Parts)
			d.calls += len(d.open)
			continue
		}
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResult {
				d.close(func(c llm.Part) bool { return c.CallID == p.CallID })
			}
		}
	}
	return s
}

// setOpen sets the open calls to the calls among parts. parts are those of the model's last content.
func (d *decoder) setOpen(parts []llm.Part) {
	d.open = d.open[:0]
	for _, p := range parts {
		if p.Kind == llm.ToolCall {
			d.open = append(d.open, p)
		}
	}
}

// close removes the first open call for which meant is true, and returns its id.
func (d *decoder) close(meant func(llm.Part) bool) (id string, ok bool) {
	i := slices.IndexFunc(d.open, meant)
	if i < 0 {
		return "", false
	}
	id = d.open[i].CallID
	d.open = slices.Delete(d.open, i, i+1)
	return id, true
}

// contents reads the remaining contents of the array that s is in.
func (d *decoder) contents(s *rawjson.Scanner) {
	for s.Next() && d.Err() == nil {
		d.content(s)
		d.Cut(s)
	}
}

var contentKeys = [2]string{"role", "parts"}

// content reads one content of the wire format. It becomes one message, or several if function responses are among other parts.
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
		d.setOpen(d.Parts[from:])
	case "user", "function", "tool", "":
		d.parts(f[1], llm.User)
		d.EndResults(from)
	default:
		d.FailAt(whole, "unknown role")
	}
}

// systemText reads the system instruction, which is a separate content.
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
	d.First = 1
}

// tools reads the offered tools: functions, and the tools that run at the provider, by their names.
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

// function adds the next function.
func (d *decoder) function(req *llm.Request, s *rawjson.Scanner) {
	var f [5]rawjson.Span
	if s.Object(functionKeys[:], f[:]).IsZero() {
		d.Fail(s.Err())
		return
	}
	schema := either(f[2], either(f[3], f[4]))
	req.AddTool(d.String(f[0]), d.String(f[1]), bytes.Clone(schema.Of(d.Body)))
}

// callName returns the id for a call without an id. n is the number of calls before it.
func callName(n int) string { return "call-" + strconv.Itoa(n) }
