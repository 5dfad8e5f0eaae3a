package terminal

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// Typed bytes that are not UTF-8 become escapes, for every division of the input into reads.
func FuzzKeyboard(f *testing.F) {
	f.Add([]byte("a\xff\xfe日本\xe6\x97"), 3)
	f.Fuzz(func(t *testing.T, typed []byte, cut int) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		cut = max(0, min(cut, len(typed)))
		go func() {
			defer w.Close()
			_, _ = w.Write(typed[:cut]) // an error means that the reader has failed before
			_, _ = w.Write(typed[cut:])
		}()
		got, err := readAll(&keyboard{File: r})
		if err != nil {
			t.Fatal(err)
		}
		want, rest := escaped(nil, typed)
		for _, b := range rest {
			want, _ = escaped(want, append([]byte{b}, ' '))
			want = want[:len(want)-1]
		}
		if !bytes.Equal(got, want) || !utf8.Valid(got) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
		if utf8.Valid(typed) && !bytes.Equal(got, typed) {
			t.Errorf("%q became %q", typed, got)
		}
	})
}

func readAll(r io.Reader) (all []byte, err error) {
	for p := make([]byte, 64); ; {
		n, err := r.Read(p)
		if all = append(all, p[:n]...); err != nil {
			if err == io.EOF {
				err = nil
			}
			return all, err
		}
	}
}

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
