package openai

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestPatch(t *testing.T) {
	for _, c := range []struct {
		codec          llm.Codec
		body           string
		results, texts int
	}{{Chat{}, chatSample, 4, 12}, {Responses{}, responsesSample, 4, 12}} {
		req, err := c.codec.Decode([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if n := codectest.Patch(t, c.codec, []byte(c.body), req, codectest.IsResult); n != c.results {
			t.Errorf("%d results", n)
		}
		if n := codectest.Patch(t, c.codec, []byte(c.body), req, codectest.IsAny); n != c.texts {
			t.Errorf("%d texts", n)
		}
		dst := []byte("kept")
		if out, err := c.codec.Patch(dst, []byte(c.body), req, []llm.Edit{{Message: 2, Part: 9}}); err == nil || string(out) != "kept" {
			t.Errorf("%q, %v", out, err)
		}
	}
}

func TestCaptures(t *testing.T) {
	recordings := os.DirFS(cmp.Or(os.Getenv("STET_CAPTURES"), "../../../shared/captures"))
	for _, c := range []struct {
		name  string
		codec llm.Codec
		words []string
	}{{"chat", Chat{}, []string{"chat"}}, {"responses", Responses{}, []string{"responses", "codex"}}} {
		t.Run(c.name, func(t *testing.T) {
			codectest.Captures(t, recordings, func(t *testing.T, name string, bodies [][]byte) {
				for _, p := range codectest.PatchResults(t, c.codec, bodies) {
					// The results of MCP tools consist of two texts.
					if name != "codex-mcp.jsonl" || !strings.HasPrefix(p.Text, "Wall time") {
						t.Errorf("not editable: %+v", p)
					}
				}
				codectest.Grow(t, c.codec, bodies)
			}, c.words...)
		})
	}
}

func FuzzDecodeChat(f *testing.F) {
	codectest.Fuzz(f, Chat{}, chatSample, `{"messages":[{"role":"tool","tool_call_id":"t","content":"a\ud800"}]}`)
}

func FuzzDecodeResponses(f *testing.F) {
	codectest.Fuzz(f, Responses{}, responsesSample, `{"input":"x","instructions":"y"}`)
}
