// Package replaytest makes recorded sessions for the tests of package replay and of
// those below it.
package replaytest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// Noon is when the sessions begin.
var Noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Bytes counts a token a byte, so that sums can be told by hand.
type Bytes struct{}

// Count implements tokens.Counter.
func (Bytes) Count(text string) int { return len(text) }

// Near reports whether two sums are equal but for rounding.
func Near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

// Text is a message of n bytes.
func Text(role llm.Role, n int, at time.Duration) llm.Message {
	return llm.Message{Role: role, Time: Noon.Add(at), Parts: []llm.Part{{Text: strings.Repeat("x", n)}}}
}

// Read is an assistant's read of a file and its result.
func Read(id int, at time.Duration, first, last int) []llm.Message {
	args, _ := json.Marshal(map[string]any{"file_path": "/home/me/project/a.go", "offset": first, "limit": last - first + 1})
	var b strings.Builder
	for n := first; n <= last; n++ {
		fmt.Fprintf(&b, "%6d→the text of line %d, some words long\n", n, n)
	}
	name := fmt.Sprintf("call_%d", id)
	return []llm.Message{
		{Role: llm.Assistant, Time: Noon.Add(at), Parts: []llm.Part{{Kind: llm.ToolCall, CallID: name, Name: "Read", Args: string(args)}}},
		{Role: llm.Tool, Time: Noon.Add(at + time.Second), Parts: []llm.Part{{Kind: llm.ToolResult, CallID: name, Text: strings.TrimSuffix(b.String(), "\n")}}},
	}
}

// Reading is a session that reads the same 60 lines n times, a minute apart.
func Reading(n int) *transcript.Session {
	s := &transcript.Session{File: "reading", Dir: "/home/me/project", Messages: []llm.Message{Text(llm.User, 40, 0)}}
	for i := range n {
		s.Messages = append(s.Messages, Read(i+1, time.Duration(i+1)*time.Minute, 1, 60)...)
	}
	s.Messages = append(s.Messages, Text(llm.Assistant, 20, time.Duration(n+1)*time.Minute))
	return s
}

// Draw draws a session of reads, words, pauses, changes of the model and
// new contexts.
func Draw(t *rapid.T) *transcript.Session {
	// The first message has a time, so that every request has one.
	s := &transcript.Session{File: "drawn", Dir: "/home/me/project", Messages: []llm.Message{Text(llm.User, 25, 0)}}
	at := time.Duration(0)
	model := "one"
	stamp := func(m llm.Message) llm.Message {
		at += time.Duration(rapid.IntRange(0, 400).Draw(t, "pause")) * time.Second
		m.Time = Noon.Add(at)
		if rapid.IntRange(0, 9).Draw(t, "timed") == 0 {
			m.Time = time.Time{}
		}
		if m.Role == llm.Assistant {
			m.Model = model
		}
		return m
	}
	for n := range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 11).Draw(t, "step") {
		case 0:
			s.Messages = append(s.Messages, stamp(Text(llm.User, 30+n, 0)))
		case 1:
			s.Messages = append(s.Messages, stamp(Text(llm.Assistant, 20+n, 0)))
		case 2:
			note := stamp(Text(llm.User, 9, 0))
			note.Local = true
			s.Messages = append(s.Messages, note)
		case 3:
			model = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "model")
		case 4:
			if len(s.Messages) > 0 && (len(s.Starts) == 0 || s.Starts[len(s.Starts)-1] < len(s.Messages)) {
				s.Starts = append(s.Starts, len(s.Messages))
				if rapid.Bool().Draw(t, "same head") { // as after a rewind
					s.Messages = append(s.Messages, s.Messages[:rapid.IntRange(0, len(s.Messages)).Draw(t, "head")]...)
				}
			}
		default:
			first := rapid.IntRange(1, 5).Draw(t, "first")
			for _, m := range Read(n, 0, first, first+rapid.IntRange(3, 12).Draw(t, "lines")) {
				s.Messages = append(s.Messages, stamp(m))
			}
		}
	}
	return s
}

// Edit is a call that replaces text, and its result.
func Edit(id string, at time.Duration, old string) []llm.Message {
	args, _ := json.Marshal(map[string]string{"file_path": "/home/me/project/a.go", "old_string": old, "new_string": "new text of these lines"})
	return []llm.Message{
		{Role: llm.Assistant, Time: Noon.Add(at), Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Edit", Args: string(args)}}},
		{Role: llm.Tool, Time: Noon.Add(at), Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: "done"}}},
	}
}

// Lines of the session that Editing makes.
const (
	Line7 = "the text of line 7, some words long"
	Line8 = "the text of line 8, some words long"
	Line9 = "the text of line 9, some words long"
)

// Editing is a session that reads lines 1 to 20, lists something, and edits four times:
// a part of line 8; lines 7 to 9; what was never in view; and a blank.
func Editing() *transcript.Session {
	s := &transcript.Session{File: "s", Dir: "/home/me/project", Messages: []llm.Message{Text(llm.User, 10, 0)}}
	s.Messages = append(s.Messages, Read(1, time.Minute, 1, 20)...)
	s.Messages = append(s.Messages, Read(2, 2*time.Minute, 40, 45)...)
	for i, old := range []string{"of line 8, some", Line7 + "\n" + Line8 + "\n" + Line9, "nothing that anyone saw", " \n"} {
		s.Messages = append(s.Messages, Edit("edit_"+string(rune('a'+i)), time.Duration(3+i)*time.Minute, old)...)
	}
	return s
}
