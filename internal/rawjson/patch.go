package rawjson

import "fmt"

// Patch replaces the string literal at Span by one that says Text.
type Patch struct {
	Span Span
	Text string
}

// AppendPatched appends body to dst with the patches made, every other byte as
// it is. The patches must be in the order of their places, each exactly one
// string literal of body; otherwise dst comes back as it was, with an error.
func AppendPatched(dst, body []byte, patches []Patch) ([]byte, error) {
	size, at := len(body), 0
	for _, p := range patches {
		if err := check(body, at, p.Span); err != nil {
			return dst, err
		}
		at = p.Span.End
		size += len(p.Text) + len(p.Text)/16 + 2 - p.Span.size()
	}
	if len(dst)+size > cap(dst) {
		dst = append(make([]byte, 0, len(dst)+size), dst...)
	}
	at = 0
	for _, p := range patches {
		dst = append(dst, body[at:p.Span.Start]...)
		dst = appendQuoted(dst, p.Text)
		at = p.Span.End
	}
	return append(dst, body[at:]...), nil
}

func check(body []byte, at int, p Span) error {
	switch {
	case p.Start < 0 || p.End > len(body) || p.End-p.Start < 2:
		return fmt.Errorf("patch bytes %d to %d of %d: no such place", p.Start, p.End, len(body))
	case p.Start < at:
		return fmt.Errorf("patch bytes %d to %d: out of order", p.Start, p.End)
	case body[p.Start] != '"' || stringEnd(body[:p.End], p.Start) != p.End:
		return fmt.Errorf("patch bytes %d to %d: %w", p.Start, p.End, errString)
	}
	return nil
}
