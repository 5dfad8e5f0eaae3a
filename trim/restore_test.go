package trim

import (
	"testing"

	"github.com/stet-dev/stet/llm"
)

// TRIM-16: a pointer is taken out only where the calls that it names certainly do not hold its text.
func TestRestore(t *testing.T) {
	messages := func(id, result string) []llm.Message {
		return []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Read", Args: `{"file_path":"a.go"}`}}},
			{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: result}}},
			{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c9", Text: long("a.go", 2000)}}},
		}
	}
	for _, test := range []struct {
		id, result, edit string
		kept             bool
	}{
		{"c0", long("a.go", 2000), "[stet: a.go lines 1-90 unchanged: shown above by c0 (lines 1-90). Ask again for the full text.]", true},
		{"functions.Read:0", long("a.go", 2000), "[stet: a.go lines 1-90 unchanged: shown above by functions.Read:0 (lines 1-90). Ask again for the full text.]", true},
		{"c0|x", long("a.go", 2000), "a new line\n[stet: a.go lines 1-90 unchanged: 1-9 written by c0, 10-90 shown above by c1. Ask again for the full text.]", true},
		{"c0", long("a.go", 800), "[stet: a.go lines 1-90 unchanged: written by c0. Ask again for the full text.]", true},
		{"c0", "[Old tool result content cleared]", "[stet: a.go lines 1-90 unchanged: shown above by c0 (lines 1-90). Ask again for the full text.]", false},
		{"c1", long("a.go", 2000), "c1\n[stet: a.go lines 1-90 unchanged: shown above by c0 (lines 1-90). Ask again for the full text.]", false},
		{"c1", long("a.go", 2000), "[stet: a.go lines 1-90 unchanged: shown above by an earlier read (lines 1-90). Ask again for the full text.]", true},
		{"c1", "gone", "[stet: output of an older command left out: make Run it again if needed.]", true},
	} {
		p := &Plan{Edits: []llm.Edit{{Message: 2, Text: test.edit}}, Omissions: []Omission{{Message: 2, Before: 2000, After: len(test.edit)}}, Stats: Stats{Saved: 2000 - len(test.edit)}}
		p.Restore(messages(test.id, test.result))
		if kept := len(p.Edits) == 1; kept != test.kept || len(p.Omissions) != len(p.Edits) || kept != (p.Saved > 0) {
			t.Errorf("%s, %.20q: %s: kept %v, saved %d", test.id, test.result, test.edit, kept, p.Saved)
		}
	}
}
