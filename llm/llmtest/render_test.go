package llmtest

import (
	"testing"

	"github.com/stet-dev/stet/llm"
)

// An agent in the Gemini format that asks for JSON, to choose its model for instance, gets JSON that fits its schema.
func TestGeminiJSON(t *testing.T) {
	body := `{"contents":[],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object",` +
		`"properties":{"reasoning":{"type":"string"},"model_choice":{"type":"string","enum":["flash","pro"]},"score":{"type":"INTEGER"}}}}}`
	script := Script{Turns: []Turn{Say("I read it.", Read("a"))}}
	resp, step, side := script.answer(&llm.Request{}, "call", []byte(body))
	if want := `{"model_choice":"flash","reasoning":"scripted","score":1}`; !side || step != 0 || len(resp.Message.Parts) != 1 || resp.Message.Parts[0].Text != want {
		t.Errorf("%+v, %d, %v; want %s", resp, step, side, want)
	}
}

// The script's actions become calls that the library's own file tools take.
func TestOwnTools(t *testing.T) {
	edits := `{"properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"properties":{"old_text":{},"new_text":{}}}}},"required":["path","edits"]}`
	read := `{"properties":{"path":{"type":"string"},"start_line":{"type":"integer"},"limit":{"type":"integer"}},"required":["path"]}`
	for want, got := range map[string]string{
		`{"edits":[{"new_text":"y","old_text":"x"}],"path":"a"}`: arguments(Edit("a", "x", "y"), "", "edit_file", []byte(edits)),
		`{"limit":3,"path":"/w/a","start_line":2}`:               arguments(ReadLines("a", 2, 4), "/w", "Read", []byte(read)),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
