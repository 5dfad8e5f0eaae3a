package llm

import (
	"cmp"
	"fmt"
	"slices"
)

// Placed is an edit with its place in the body.
type Placed struct {
	Span Span
	Text string
}

// Place returns the edits in the order of their places in the body that r was
// decoded from. An edit of a part that is not there, or has no valid Span, or is
// edited twice, is an error.
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
		out = append(out, Placed{Span: p.Span, Text: e.Text})
	}
	slices.SortFunc(out, func(a, b Placed) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	for i := 1; i < len(out); i++ {
		if out[i].Span.Start < out[i-1].Span.End {
			return nil, fmt.Errorf("edit bytes %d to %d: edited twice", out[i].Span.Start, out[i].Span.End)
		}
	}
	return out, nil
}
