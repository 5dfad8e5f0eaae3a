package terminal

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// A character that arrives in two pieces is written as one. No text can send escape sequences to a terminal.
func TestLinesSafe(t *testing.T) {
	var l Lines
	got := ""
	for _, piece := range []string{"a\xe6", "\x97", "\xa5b\xff\xe6", "c\x1b[2J\n", "\xe6\x97"} {
		got += l.safe(piece)
	}
	var out strings.Builder
	l.Out = &out
	l.End()
	if got += out.String(); got != "a日b<\\xff><\\xe6>c<\\x1b>[2J\n<\\xe6><\\x97>\n" {
		t.Errorf("%q", got)
	}
}

// If the output is not a terminal, it gets the model's text unchanged, and everything else goes to Err.
func TestLines(t *testing.T) {
	var out, told strings.Builder
	l := &Lines{Out: &out, Err: &told}
	l.Tell(agent.Event{Kind: agent.Piece, Piece: llm.Event{Kind: llm.TextDelta, Text: "one \x1b"}})
	l.Tell(agent.Event{Kind: agent.Piece, Piece: llm.Event{Kind: llm.TextDelta, Text: "two"}})
	l.Tell(agent.Event{Kind: agent.Answered})
	l.Tell(agent.Event{Kind: agent.CallEnds, Call: llm.Part{Name: "read_file", Args: `{"path":"a\u001b.go"}`}})
	l.Tell(agent.Event{Kind: agent.Changed, Paths: []string{"b.go"}})
	if out.String() != "one \x1btwo\n" {
		t.Errorf("said: %q", out.String())
	}
	if told.String() != "● read_file a<\\x1b>.go\n· changed by another program: b.go\n" {
		t.Errorf("told: %q", told.String())
	}
}
