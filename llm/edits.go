package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
)

// InPlace is the part of a [Codec] that is the same for all: Patch.
type InPlace struct{}

// Patch implements Codec.
func (InPlace) Patch(dst, body []byte, req *Request, edits []Edit) ([]byte, error) {
	patches, err := req.patches(edits)
	if err != nil {
		return dst, err
	}
	for i := range patches {
		p := &patches[i]
		if p.Text == "" && p.Span.End <= len(body) && body[p.Span.Start] == '{' && !isElement(string(p.Span.Of(body))) {
			return dst, fmt.Errorf("edit bytes %d to %d: not an object with the comma after it", p.Span.Start, p.Span.End)
		}
	}
	return rawjson.AppendPatched(dst, body, patches)
}

// patches returns the edits in the order of their spans in the body that r was decoded from.
func (r *Request) patches(edits []Edit) ([]rawjson.Patch, error) {
	out := make([]rawjson.Patch, 0, len(edits))
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
		if p.Kind == Thinking && e.Text != "" {
			return nil, fmt.Errorf("edit message %d part %d: thinking is removed whole", e.Message, e.Part)
		}
		out = append(out, rawjson.Patch{Span: rawjson.Span(p.Span), Text: p.InPlace(e.Text)})
	}
	slices.SortFunc(out, func(a, b rawjson.Patch) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	for i := 1; i < len(out); i++ {
		if out[i].Span.Start < out[i-1].Span.End {
			return nil, fmt.Errorf("edit bytes %d to %d: edited twice", out[i].Span.Start, out[i].Span.End)
		}
	}
	return out, nil
}

// isElement reports whether s is a JSON object and the comma after it.
func isElement(s string) bool {
	object, comma := strings.CutSuffix(strings.TrimSpace(s), ",")
	return comma && isObject(strings.TrimSpace(object))
}

// isObject reports whether s is a JSON object in UTF-8, without surrounding space.
func isObject(s string) bool {
	return len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' && utf8.ValidString(s) && json.Valid([]byte(s))
}
