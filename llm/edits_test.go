package llm

import (
	"reflect"
	"testing"

	"github.com/stet-dev/stet/internal/rawjson"
)

func TestPatches(t *testing.T) {
	r := &Request{Messages: []Message{
		{Role: System, Parts: []Part{{Span: Span{100, 110}}}},
		{Role: Tool, Parts: []Part{{Span: Span{10, 20}}, {Span: Span{20, 25}}, {}}},
	}}
	got, err := r.patches([]Edit{{0, 0, "s"}, {1, 1, "b"}, {1, 0, "a"}})
	want := []rawjson.Patch{{Span: rawjson.Span{Start: 10, End: 20}, Text: "a"}, {Span: rawjson.Span{Start: 20, End: 25}, Text: "b"}, {Span: rawjson.Span{Start: 100, End: 110}, Text: "s"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, edits := range [][]Edit{
		{{1, 2, "no span"}}, {{1, 3, ""}}, {{2, 0, ""}}, {{-1, 0, ""}}, {{0, -1, ""}}, {{1, 0, "a"}, {1, 0, "b"}},
	} {
		if _, err := r.patches(edits); err == nil {
			t.Errorf("%v passed", edits)
		}
	}
}

// Arguments that are an object must stay an object. Free text may be replaced by any text.
func TestPatchArguments(t *testing.T) {
	place := func(args, text string) error {
		r := &Request{Messages: []Message{{Role: Assistant, Parts: []Part{{Kind: ToolCall, Args: args, Span: Span{1, 3}}}}}}
		_, err := r.patches([]Edit{{0, 0, text}})
		return err
	}
	for _, text := range []string{"{}", `{"a":"b"}`} {
		if err := place(" {\"a\":1}", text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "left out", "[]", "{", `{"a":}`, "{}x", " {}", "{\"a\":\"\xff\"}"} {
		if place(`{"a":1}`, text) == nil {
			t.Errorf("%q passed", text)
		}
	}
	if err := place("*** Begin Patch", "left out"); err != nil {
		t.Error(err)
	}
}

// Thinking is removed with the comma behind it, and only so.
func TestPatchRemoves(t *testing.T) {
	body := []byte(`[{"a":1} , {"b":"x"},{"c":3}]`)
	patch := func(spans ...Span) (string, error) {
		r := &Request{Messages: []Message{{Role: Assistant}}}
		var edits []Edit
		for i, at := range spans {
			r.Messages[0].Parts = append(r.Messages[0].Parts, Part{Kind: Thinking, Span: at})
			edits = append(edits, Edit{0, i, ""})
		}
		out, err := InPlace{}.Patch(nil, body, r, edits)
		return string(out), err
	}
	if out, err := patch(Span{1, 11}, Span{11, 21}); err != nil || out != `[{"c":3}]` {
		t.Errorf("%s, %v", out, err)
	}
	for _, at := range []Span{{1, 8}, {11, 20}, {1, 12}, {1, 21}, {21, 28}, {21, 29}} {
		if out, err := patch(at); err == nil {
			t.Errorf("%v: %s", at, out)
		}
	}
}

func TestApplyArguments(t *testing.T) {
	stored := []Message{{Role: Assistant, Parts: []Part{{Kind: ToolCall, Text: "t", Args: "{}"}}}}
	got := Apply(stored, []Edit{{0, 0, `{"a":1}`}})[0].Parts[0]
	if got.Args != `{"a":1}` || got.Text != "t" || stored[0].Parts[0].Args != "{}" {
		t.Errorf("%+v", got)
	}
}

func TestApplyLeavesTheStoredMessages(t *testing.T) { // TRIM-1
	stored := []Message{{Role: User, Parts: []Part{{Text: "u"}}}, {Role: Tool, Parts: []Part{{Text: "a"}, {Text: "b"}}}}
	got := Apply(stored, []Edit{{1, 0, "x"}, {1, 1, "y"}})
	if stored[1].Parts[0].Text != "a" || stored[1].Parts[1].Text != "b" {
		t.Error("stored messages changed")
	}
	if got[1].Parts[0].Text != "x" || got[1].Parts[1].Text != "y" || got[0].Parts[0].Text != "u" {
		t.Errorf("%v", got)
	}
}
