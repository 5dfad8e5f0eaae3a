package trim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// For equal calls of one message the text stands once, and each other result points to it. None of these calls asks again,
// because the model had seen no result yet when it made them.
func TestEqualCallsOfOneMessage(t *testing.T) {
	read := request{"filesystem-read", `{"filePath":"src/a.ts"}`, shown("src/a.ts", 1, 60, 60)}
	run := request{"terminal-execute", `{"command":"make"}`, long("out", 900)}
	tests := []struct {
		name  string
		calls []int // number of equal calls in each message
		want  []int // for each call in order: the number of the call that shows the text
	}{
		{"first", []int{3}, []int{1, 1, 1}},
		{"after one", []int{1, 3}, []int{1, 1, 1, 1}},
		{"asked again", []int{1, 1, 3}, []int{1, 1, 3, 3, 3}},
		{"one more", []int{3, 1, 2}, []int{1, 1, 1, 4, 4, 4}},
	}
	for name, r := range map[string]request{"read": read, "run": run} {
		for _, tt := range tests {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				var c conv
				for _, n := range tt.calls {
					var same []request
					for range n {
						same = append(same, r)
					}
					c.batch(same...)
				}
				for shape, messages := range map[string][]llm.Message{"a message each": c.messages, "one message": joined(c.messages)} {
					out, _ := sent(t, lossless(t), messages)
					if got := sources(out); fmt.Sprint(got) != fmt.Sprint(tt.want) {
						t.Errorf("%s: the texts stand in %v, want %v", shape, got, tt.want)
					}
					if again := lossless(t).Plan(out); len(again.Edits) > 0 {
						t.Errorf("%s: planned again, message %d becomes %q", shape, again.Edits[0].Message, again.Edits[0].Text)
					}
				}
			})
		}
	}
}

// joined puts consecutive results into one message, as some providers require.
func joined(messages []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range messages {
		if n := len(out) - 1; n >= 0 && m.Role == llm.Tool && out[n].Role == llm.Tool {
			out[n].Parts = append(out[n].Parts[:len(out[n].Parts):len(out[n].Parts)], m.Parts...)
		} else {
			out = append(out, m)
		}
	}
	return out
}

// sources returns for each result the number of the call to which it points, or its own number if it is not a pointer.
func sources(messages []llm.Message) []int {
	var out []int
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind != llm.ToolResult {
				continue
			}
			n := len(out) + 1
			if _, behind, ok := strings.Cut(p.Text, " by call_"); ok && strings.HasPrefix(p.Text, mark) {
				fmt.Sscan(strings.TrimRight(behind[:2], " .]("), &n)
			}
			out = append(out, n)
		}
	}
	return out
}
