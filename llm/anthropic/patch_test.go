package anthropic

import (
	"cmp"
	"os"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestPatch(t *testing.T) {
	req, err := Messages{}.Decode([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if n := codectest.Patch(t, Messages{}, []byte(sample), req, codectest.IsResult); n != 2 {
		t.Errorf("%d results", n)
	}
	if n := codectest.Patch(t, Messages{}, []byte(sample), req, codectest.IsAny); n != 10 {
		t.Errorf("%d texts", n)
	}
	if n := codectest.RemoveThinking(t, Messages{}, []byte(sample), req); n != 2 {
		t.Errorf("%d blocks of thinking", n)
	}
	dst := []byte("kept")
	for _, edits := range [][]llm.Edit{{{Message: 99}}, {{Message: 2, Part: 0, Text: "hm"}}, {{Message: 2, Part: 2, Text: "[]"}}, {{Message: 1, Part: 0}, {Message: 1, Part: 0}}} {
		if out, err := (Messages{}).Patch(dst, []byte(sample), req, edits); err == nil || string(out) != "kept" {
			t.Errorf("%v: %q, %v", edits, out, err)
		}
	}
}

func TestCaptures(t *testing.T) {
	recordings := os.DirFS(cmp.Or(os.Getenv("STET_CAPTURES"), "../../../shared/captures"))
	codectest.Captures(t, recordings, func(t *testing.T, _ string, bodies [][]byte) {
		for _, p := range codectest.PatchResults(t, Messages{}, bodies) {
			t.Errorf("not editable: %+v", p)
		}
		codectest.Grow(t, Messages{}, bodies)
	}, "anthropic")
}

func FuzzDecode(f *testing.F) {
	codectest.Fuzz(f, Messages{}, sample,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a\ud800"}]}]}`)
}
