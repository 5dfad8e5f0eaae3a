package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

func TestUnreadTools(t *testing.T) {
	lines := strings.Repeat("text of a file\n", 20)
	s := &transcript.Session{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "go on"}}}}}
	for i, r := range []struct{ tool, args, text string }{
		{"Read", `{"file_path":"/p/a.go"}`, "1\t" + lines},
		{"Read", `{"file_path":"/p/a.go"}`, "== a form of its own ==\n" + lines},
		{"Read", `{"file_path":"/p/a.go"}`, "short"},
		{"exec_command", `{"cmd":"cat a.go"}`, lines},
		{"read", `{"path":"a.go"}`, lines},
	} {
		id := fmt.Sprint("call_", i)
		s.Messages = append(s.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: r.tool, Args: r.args}}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: r.text}}})
	}
	if got, want := check.UnreadTools(s, dialect.Default()), []check.Unread{{Tool: "Read", Reads: 2, Unread: 1}}; !slices.Equal(got, want) {
		t.Errorf("unread: %+v, want %+v", got, want)
	}
}

// Every row reads what its tool printed in the recorded sessions: of a hundred reads without a shell one at most has a form that no format knows.
func TestRecordedReadsAreKnown(t *testing.T) {
	reads, unread := 0, make(map[string]int)
	all := 0
	for _, s := range recorded(t) {
		for _, p := range s.Messages {
			for i := range p.Parts {
				if p.Parts[i].Kind == llm.ToolCall && dialect.Default().Action(p.Parts[i].Name, p.Parts[i].Args).Op == dialect.Read {
					reads++
				}
			}
		}
		for _, u := range check.UnreadTools(s, dialect.Default()) {
			all += u.Unread
			unread[u.Tool] += u.Unread
		}
	}
	t.Logf("%d reads, not known: %v", reads, unread)
	if 100*all > reads {
		t.Errorf("%d of %d reads are not known: %v", all, reads, unread)
	}
}
