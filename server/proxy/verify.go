package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stet-dev/stet/llm"
)

// verify proves that patched equals body, except that the literals of the edited parts are replaced by the texts of the edits, and
// removed thinking is gone.
func verify(body, patched []byte, req *llm.Request, edits []llm.Edit) error {
	type place struct {
		llm.Span
		text string
		gone bool // the part is removed
	}
	places := make([]place, len(edits))
	for i, e := range edits {
		part := &req.Messages[e.Message].Parts[e.Part]
		places[i] = place{part.Span, part.InPlace(e.Text), part.Kind == llm.Thinking}
	}
	slices.SortFunc(places, func(a, b place) int { return a.Start - b.Start })
	done := 0 // bytes of body that are checked
	rest := patched
	for _, at := range places {
		if at.Start < done || at.End > len(body) {
			return fmt.Errorf("the spans at byte %d overlap", at.Start)
		}
		same := body[done:at.Start]
		if !bytes.HasPrefix(rest, same) {
			return fmt.Errorf("bytes %d to %d differ", done, at.Start)
		}
		rest = rest[len(same):]
		if at.gone {
			if block, ok := bytes.CutSuffix(bytes.TrimSpace(body[at.Start:at.End]), []byte(",")); !ok || !json.Valid(block) {
				return fmt.Errorf("bytes %d to %d are not one block", at.Start, at.End)
			}
			done = at.End
			continue
		}
		literal := literalOf(rest)
		if body[at.Start] == '{' { // the arguments of a call are a JSON object, not a string
			literal = rest[:min(len(rest), len(at.text))]
		}
		if !says(literal, at.text) {
			return fmt.Errorf("the value at byte %d is not the edit's text", at.Start)
		}
		rest, done = rest[len(literal):], at.End
	}
	if !bytes.Equal(rest, body[done:]) {
		return fmt.Errorf("bytes from %d differ", done)
	}
	return nil
}

// says reports whether value is the JSON string for text, or is a JSON object equal to text.
func says(value []byte, text string) bool {
	if len(value) > 0 && value[0] == '{' {
		return string(value) == text && json.Valid(value)
	}
	var said string
	return json.Unmarshal(value, &said) == nil && said == text
}

// literalOf returns the JSON string literal at the beginning of b, or nil.
func literalOf(b []byte) []byte {
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1]
		}
	}
	return nil
}
