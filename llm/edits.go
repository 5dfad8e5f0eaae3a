package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Placed is an edit with its place in the body.
type Placed struct {
	Span Span
	Text string
}

// Place returns the edits in the order of their places in the body that r was decoded from. It is an error if a part does not
// exist, has no valid Span, or is edited twice. It is also an error if a call's arguments are an object and the new ones are not.
func (r *Request) Place(edits []Edit) ([]Placed, error) {
	out := make([]Placed, 0, len(edits))
	for _, e := range edits {
		if e.Message < 0 || e.Message >= len(r.Messages) ||
			e.Part < 0 || e.Part >= len(r.Messages[e.Message].Parts) {
			return nil, fmt.Errorf("edit message %d part %d: no such part", e.Message, e.Part)
		}
		p := &r.Messages[e.Message].Parts[e.Part]
		if !p.Span.Valid() {
			return nil, fmt.Errorf("edit message %d part %d: not editable in place", e.Message, e.Part)
		}
		if p.Kind == ToolCall && isObject(strings.TrimSpace(p.Args)) && !isObject(e.Text) {
			return nil, fmt.Errorf("edit message %d part %d: the arguments are no JSON object", e.Message, e.Part)
		}
		out = append(out, Placed{Span: p.Span, Text: p.InPlace(e.Text)})
	}
	slices.SortFunc(out, func(a, b Placed) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	for i := 1; i < len(out); i++ {
		if out[i].Span.Start < out[i-1].Span.End {
			return nil, fmt.Errorf("edit bytes %d to %d: edited twice", out[i].Span.Start, out[i].Span.End)
		}
	}
	return out, nil
}

// isObject reports whether s is a JSON object in UTF-8, without surrounding space.
func isObject(s string) bool {
	return len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' && utf8.ValidString(s) && json.Valid([]byte(s))
}
