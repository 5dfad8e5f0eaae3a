package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	if f := llm.FailureIn(body); f != nil {
		return nil, a.Config.failure(0, a.id, f)
	}
	res, err := a.API.Codec.DecodeResponse(body)
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
			*p = llm.Sendable(*p, res.ID, i, res.Message.Parts[:i])
		}
	}
	return res
}
