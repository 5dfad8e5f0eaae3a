package rawjson

import (
	"errors"
	"strings"
	"testing"
)

func TestDecoderJoined(t *testing.T) {
	for _, c := range []struct {
		body, text string
		place      Span
	}{
		{`"a"`, "a", Span{0, 3}},
		{`"\ud800"`, "\ufffd", Span{}},
		{`[]`, "", Span{}},
		{`[{"type":"text","text":"a"}]`, "a", Span{23, 26}},
		{`[{"text":"a","type":"words"}]`, "a", Span{9, 12}},
		{`[{"type":"text","text":"a"},{"type":"image","text":"b"}]`, "a", Span{}},
		{`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "a\nb", Span{}},
		{`[{"type":"text","text":""},{"type":"text"},{"type":"text","text":"b"}]`, "\nb", Span{}},
	} {
		d := NewDecoder([]byte(c.body))
		text, place := d.Joined(Span{0, len(c.body)}, "text", "words")
		if d.Err() != nil || text != c.text || place != c.place {
			t.Errorf("%s: %q at %v, %v", c.body, text, place, d.Err())
		}
	}
	for body, want := range map[string]string{
		`5`:                             "byte 0: not a string",
		`["a"]`:                         "byte 1: JSON value of another kind",
		`[{"type":"text","text":5}]`:    "byte 23: not a string",
		`[{"type":"text","text":"\q`:    "byte 26: unexpected end of JSON",
		`[{"type":"text","text":"\q"}]`: "byte 23: invalid escape in a JSON string",
	} {
		d := NewDecoder([]byte(body))
		d.Joined(Span{0, len(body)}, "text")
		if d.Err() == nil || d.Err().Error() != want {
			t.Errorf("%s: %v", body, d.Err())
		}
	}
}

func TestDecoderKeepsTheFirstError(t *testing.T) {
	d := NewDecoder([]byte(`[1]`))
	if d.Fail(nil); d.Err() != nil || d.String(Span{}) != "" || d.Own(Span{}) != "" || d.Raw(Span{}) != "" {
		t.Error("no value is no error")
	}
	d.FailAt(Span{1, 2}, "odd")
	d.Fail(errors.New("later"))
	d.Own(Span{1, 2})
	if d.Err() == nil || d.Err().Error() != "byte 1: odd" {
		t.Errorf("%v", d.Err())
	}
}

func TestSaid(t *testing.T) {
	for body, want := range map[string]string{`"b"`: "b", `"\q"`: "a", `5`: "a", `null`: "a"} {
		text := "a"
		if Said([]byte(body), Span{0, len(body)}, &text); text != want {
			t.Errorf("%s: %q", body, text)
		}
	}
}

// Headed returns all texts of a list together. If the texts before the last one are short, it also returns these, and the place
// of the last one.
func TestDecoderHeaded(t *testing.T) {
	long := strings.Repeat("x", maxHead)
	for body, want := range map[string][3]string{
		`"a"`:                          {"a", "", `"a"`},
		`[{"type":"text","text":"a"}]`: {"a", "", `"a"`},
		`[{"type":"text","text":"a"}, {"text":"b","type":"text","cache_control":{}}]`:       {"a\nb", "a\n", `"b"`},
		`[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":""}]`: {"a\nb\n", "a\nb\n", `""`},
		`[]`: {"", "", ""},
		`[{"type":"text","text":"a"},{"type":"image","text":"b"}]`:           {"a", "", ""},
		`[{"type":"text","text":"a"},{"type":"text","text":"\ud800"}]`:       {"a\n\ufffd", "", ""},
		`[{"type":"text","text":"` + long + `"},{"type":"text","text":"b"}]`: {long + "\nb", "", ""},
	} {
		d := NewDecoder([]byte(body))
		text, head, place := d.Headed(Span{0, len(body)}, "text")
		if got := [3]string{text, head, string(place.Of([]byte(body)))}; got != want || d.Err() != nil {
			t.Errorf("%s: %q, %v", body, got, d.Err())
		}
	}
}
