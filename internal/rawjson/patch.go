package rawjson

import (
	"errors"
	"fmt"
)

var errObject = errors.New("not a JSON object")

// Patch replaces the string literal at Span by the string Text, or the object at Span by the object Text. If Text is empty
// and Span is an object with the comma after it, up to the next element of an array, the object is removed.
type Patch struct {
	Span Span
	Text string
}

// AppendPatched appends body with the patches to dst; every other byte stays. The patches must be in order, and each must cover
// exactly one string literal or object of body, or what it removes, which is not checked. Otherwise dst is returned unchanged, with an error. The structure of an object's
// text is checked, but not the inside of its strings.
func AppendPatched(dst, body []byte, patches []Patch) ([]byte, error) {
	size, at := len(body), 0
	for _, p := range patches {
		if err := check(body, at, p); err != nil {
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
		if body[p.Span.Start] == '{' {
			dst = append(dst, p.Text...)
		} else {
			dst = appendQuoted(dst, p.Text)
		}
		at = p.Span.End
	}
	return append(dst, body[at:]...), nil
}

func check(body []byte, at int, patch Patch) error {
	p := patch.Span
	switch {
	case p.Start < 0 || p.End > len(body) || p.End-p.Start < 2:
		return fmt.Errorf("patch bytes %d to %d of %d: no such place", p.Start, p.End, len(body))
	case p.Start < at:
		return fmt.Errorf("patch bytes %d to %d: out of order", p.Start, p.End)
	case patch.Text == "" && body[p.Start] == '{' && body[p.End-1] != '}':
	case body[p.Start] == '{':
		if !isObject(body[:p.End], p.Start) || !isObject([]byte(patch.Text), 0) {
			return fmt.Errorf("patch bytes %d to %d: %w", p.Start, p.End, errObject)
		}
	case body[p.Start] != '"' || stringEnd(body[:p.End], p.Start) != p.End:
		return fmt.Errorf("patch bytes %d to %d: %w", p.Start, p.End, errString)
	}
	return nil
}

// isObject reports whether body from start on is exactly one object.
func isObject(body []byte, start int) bool {
	if start == len(body) || body[start] != '{' {
		return false
	}
	end, err := skip(body, start, 0)
	return err == nil && end == len(body)
}
