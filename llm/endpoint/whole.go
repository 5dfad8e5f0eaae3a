package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// readWhole reads an answer that is not streamed, and emits its pieces as if it were. Some endpoints do not stream
// even if asked to.
func (a *attempt) readWhole(w *watch, contentType string) (*llm.Response, error) {
	body, err := io.ReadAll(io.LimitReader(w, maxWhole+1))
	switch {
	case err != nil:
		a.began = len(body) > 0
		return nil, fmt.Errorf("%s: %w: %w", a.Config.host(), llm.ErrBroken, err)
	case len(body) > maxWhole:
		return nil, fmt.Errorf("%s: an answer of over %d bytes", a.Config.host(), maxWhole)
	}
	if f := FailureIn(body); f != nil {
		f.RequestID = a.id
		return nil, a.Config.failure(0, f)
	}
	res, err := a.Format.Decode(body)
	if err == nil && !json.Valid(body) { // parts of it are stored unchanged
		err = errors.New("invalid JSON")
	}
	if err != nil {
		if !strings.Contains(contentType, "json") {
			err = fmt.Errorf("content type %q is not an answer", contentType)
		}
		return nil, fmt.Errorf("%s: %w", a.Config.host(), err)
	}
	tell(clean(res), a.emit)
	return res, nil
}

// tell emits the pieces of a whole answer.
func tell(res *llm.Response, emit func(llm.Event)) {
	for i, p := range res.Message.Parts {
		switch p.Kind {
		case llm.Text:
			emit(llm.Event{Kind: llm.TextDelta, Index: i, Text: p.Text})
		case llm.Thinking:
			emit(llm.Event{Kind: llm.ThinkingDelta, Index: i, Text: p.Text})
		case llm.ToolCall:
			emit(llm.Event{Kind: llm.CallDone, Index: i, Call: p})
		}
	}
	emit(llm.Event{Kind: llm.UsageSaid, Usage: res.Usage})
	emit(llm.Event{Kind: llm.Stopped, Reason: res.StopReason})
}

// clean removes the spans of the parts, which are useless without the body, and changes the calls so that they can be sent back.
func clean(res *llm.Response) *llm.Response {
	for i := range res.Message.Parts {
		p := &res.Message.Parts[i]
		p.Span = llm.Span{}
		if p.Kind == llm.ToolCall {
			*p = Named(*p, res.ID, i, res.Message.Parts[:i])
		}
	}
	return res
}

// maxName is the longest tool name that an API accepts, in bytes.
const maxName = 128

// Named returns the call p in a form that can be sent back. others are parts of the same answer. The call gets a new id if it has
// none, or if a call in others has the same one. The new id is made from the answer's id and the part's index. The name becomes a
// valid tool name. Missing arguments become an empty object, because some endpoints leave them out.
func Named(p llm.Part, response string, index int, others []llm.Part) llm.Part {
	taken := func() bool {
		return slices.ContainsFunc(others, func(o llm.Part) bool { return o.Kind == llm.ToolCall && o.CallID == p.CallID })
	}
	if p.CallID == "" || taken() {
		p.CallID = fmt.Sprintf("call_%s_%d", response, index)
	}
	for taken() {
		p.CallID += "_"
	}
	p.Name = llm.LegalName(p.Name, maxName)
	if p.Args == "" {
		p.Args = "{}"
	}
	return p
}

var errNoSuchEvent = errors.New("event is not JSON of the expected shape")

// Malformed returns the error for an event that is not valid.
func Malformed(name []byte, err error) error {
	if err == nil {
		err = errNoSuchEvent
	}
	return fmt.Errorf("event %.40q: %w", name, err)
}
