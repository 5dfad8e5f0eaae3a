package terminal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

var update = flag.Bool("update", false, "write what the screens are into testdata")

// rig is a chat without a terminal. A script provides its input. Commands with effects outside the screen are not run.
type rig struct {
	t     *testing.T
	m     *chat
	above []string // printed since the last screen
	out   strings.Builder
	calls map[string]llm.Part
	early bool // questions do not accept keys yet
}

// TestScreens runs scripts and compares the screens that they request. Each archive in testdata/chat has a script and the
// screens. A script may begin with "said" lines. The clock does not move.
func TestScreens(t *testing.T) {
	names, err := filepath.Glob("testdata/chat/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err, "no scripts")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) != 2 || ar.Files[0].Name != "script" || ar.Files[1].Name != "screens" {
				t.Fatal("want the files script and screens")
			}
			got := ""
			synctest.Test(t, func(t *testing.T) { got = play(t, string(ar.Files[0].Data)) })
			if got == string(ar.Files[1].Data) {
				return
			}
			if !*update {
				t.Fatalf("the screens are\n%s\nwant\n%s", got, ar.Files[1].Data)
			}
			ar.Files[1].Data = []byte(got)
			if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	s := &rig{t: t, calls: map[string]llm.Part{}}
	var said []session.Body
	alone := false
	c := &Chat{Env: []string{"NO_COLOR=1"}, Editor: "true", Model: "a-model", Policy: "asks before it writes"}
	for n, line := range strings.Split(strings.TrimSpace(script), "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		args := words(t, rest)
		switch verb {
		case "", "#":
			continue
		case "alone":
			alone = true
			continue
		case "colors":
			c.Env = nil
			continue
		case "said":
			said = append(said, session.Message{Role: llm.Role(args[0]), Parts: []llm.Part{{Text: args[1]}}, Time: time.Now()})
			continue
		}
		if s.m == nil {
			if !alone {
				c.Talk = talkOf(t, said)
			}
			s.m = newChat(t.Context(), c)
			s.m.waits = alone
			s.m.start = func(func() then) tea.Cmd { return nil } // the script provides the results of work
			s.m.Init()
		}
		if !s.screenVerb(verb, args) && !s.eventVerb(verb, args) {
			t.Fatalf("line %d: %s", n+1, line)
		}
		if !s.early {
			s.m.release()
			s.m.ready = true
		}
		s.above = append(s.above, s.m.printer.rest()...)
	}
	return s.out.String()
}

// words splits a line at spaces. A quoted text is one word.
func words(t *testing.T, line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			out, line = append(out, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		word, _ := strconv.Unquote(quoted)
		out, line = append(out, word), line[len(quoted):]
	}
	return out
}

// talkOf returns a conversation that already has messages.
func talkOf(t *testing.T, said []session.Body) Talk {
	store := new(session.Memory)
	a := &agent.Agent{Model: endpoint.Client{API: openai.ChatAPI}, Name: "a-model", Store: store, Limits: agent.Limits{Window: 10_000}}
	if len(said) == 0 {
		c, err := a.New(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	stored, err := session.Create(t.Context(), store, session.Opening{}, said...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Resume(t.Context(), stored.ID())
	if err != nil {
		t.Fatal(err)
	}
	return fixed{c}
}

// fixed is a conversation with a constant ID.
type fixed struct{ *agent.Conversation }

func (fixed) ID() string { return "0199-fixed" }

// screenVerb performs actions of a person or a terminal.
func (s *rig) screenVerb(verb string, args []string) bool {
	switch verb {
	case "size":
		w, _ := strconv.Atoi(args[0])
		h, _ := strconv.Atoi(args[1])
		s.m.update(tea.WindowSizeMsg{Width: w, Height: h})
		s.m.update(tea.CursorPositionMsg{}) // the terminal has answered
	case "type":
		for _, r := range args[0] {
			s.m.update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	case "paste":
		s.m.update(tea.PasteMsg{Content: args[0]})
	case "key":
		for _, name := range args {
			s.m.update(keyNamed(s.t, name))
		}
	case "early":
		s.early = true
	case "ready":
		s.early = false
	case "screen":
		s.screen(args)
	default:
		return false
	}
	return true
}

func keyNamed(t *testing.T, name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp,
	}
	mods := map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}
	var k tea.Key
	for part := range strings.SplitSeq(name, "+") {
		switch {
		case mods[part] != 0:
			k.Mod |= mods[part]
		case codes[part] != 0:
			k.Code = codes[part]
		case len(part) == 1:
			k.Code = rune(part[0])
		default:
			t.Fatalf("no key %q", name)
		}
	}
	return tea.KeyPressMsg(k)
}

// screen writes what was printed since the last time, and the view below it.
func (s *rig) screen(args []string) {
	fmt.Fprintf(&s.out, "== %s\n", strings.Join(args, " "))
	view := s.m.View()
	lines := append(s.above, "--")
	if view.AltScreen {
		lines = append(lines, "(alternate screen)")
	}
	lines = append(lines, strings.Split(view.Content, "\n")...)
	for _, l := range lines {
		s.out.WriteString(strings.ReplaceAll(strings.TrimRight(l, " "), "\x1b", "␛") + "\n")
	}
	if c := view.Cursor; c != nil {
		fmt.Fprintf(&s.out, "-- cursor in line %d, column %d\n", c.Y+1, c.X+1)
	}
	s.above = nil
}

// eventVerb performs actions of an agent, and of a source of questions.
func (s *rig) eventVerb(verb string, args []string) bool {
	tell := func(e agent.Event) { s.m.update(agentEvent{e}) }
	piece := func(e llm.Event) { tell(agent.Event{Kind: agent.Piece, Piece: e}) }
	switch verb {
	case "asking":
		used, _ := strconv.Atoi(args[0])
		tell(agent.Event{Kind: agent.Asking, Fill: agent.Fill{Window: 10_000, Limit: 9200, Used: used}})
	case "text":
		piece(llm.Event{Kind: llm.TextDelta, Text: args[0]})
	case "think":
		piece(llm.Event{Kind: llm.ThinkingDelta, Text: args[0]})
	case "calling":
		piece(llm.Event{Kind: llm.CallDelta, Index: 1, Text: args[1], Call: llm.Part{Name: args[0]}})
	case "retrying":
		piece(llm.Event{Kind: llm.Retrying, Err: errors.New(args[0]), Wait: 2 * time.Second})
	case "answered":
		tell(agent.Event{Kind: agent.Answered})
	case "call":
		s.calls[args[0]] = llm.Part{Kind: llm.ToolCall, CallID: args[0], Name: args[1], Args: args[2]}
		tell(agent.Event{Kind: agent.CallBegins, Call: s.calls[args[0]]})
	case "result":
		tell(agent.Event{Kind: agent.CallEnds, Call: s.calls[args[0]], Result: tool.Result{Code: tool.Code(args[1]), Text: args[2]}})
	case "changed":
		tell(agent.Event{Kind: agent.Changed, Paths: args})
	case "compacted":
		tell(agent.Event{Kind: agent.Compacting})
		tell(agent.Event{Kind: agent.Compacted, To: args[0]})
	case "notcompacted":
		tell(agent.Event{Kind: agent.NotCompacted, Err: errors.New(args[0])})
	case "warned":
		tell(agent.Event{Kind: agent.Warned, Fill: agent.Fill{Window: 10_000, Limit: 9200, Used: 8100}})
	case "end":
		out, err := agent.Outcome{End: agent.End(args[0])}, error(nil)
		if args[0] == "cancelled" {
			out, err = agent.Outcome{}, context.Canceled
		}
		s.m.end(out, err)
	case "ask":
		if args[2] == "long" {
			args[2] = "--- a\n+++ a\n@@ -0,0 +1,150 @@\n" + strings.Repeat("+line\n", 150)
		}
		s.m.question(approval.Event{Opened: &approval.Question{
			ID: args[0], Tool: "edit_file", Path: args[1], Write: true, Before: "x", After: "y", Size: 1234, Diff: tool.ParseDiff(args[2]),
			Content: []byte("text\n"), Editable: true, Why: "default", Grantable: true, Seal: "the seal",
		}})
	case "outside":
		q := approval.Question{
			ID: args[0], Client: "stet", Session: "0198-another", Tool: args[1], Write: true, Diff: tool.ParseDiff(args[2]), Notes: []tool.Note{tool.Outside},
			Why: "default", Grantable: true, Seal: "the seal",
		}
		q.Complete()
		s.m.question(approval.Event{Opened: &q})
	case "closed":
		s.m.question(approval.Event{Closed: &approval.Closing{ID: args[0], How: args[1], By: args[2]}})
	case "edited":
		s.m.edited(s.m.deciding.q.ID, []byte("text\n"), []byte(args[0]), nil)
	case "taken":
		s.m.answered(approval.Question{Path: args[0]}, approval.Answer{Verdict: approval.Verdict(args[1])}, nil)
	case "called":
		q := approval.Question{Tool: args[0], Notes: []tool.Note{tool.Outside}}
		s.m.answered(q, approval.Answer{Verdict: approval.Verdict(args[1])}, nil)
	default:
		return false
	}
	return true
}
