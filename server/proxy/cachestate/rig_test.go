package cachestate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// talk describes a request of a conversation.
type talk struct {
	model, tools, system string
	begun                string // the user's first text
	rounds               int    // calls with their results
	thinking             bool   // the first answer has thinking
	lifetime             time.Duration
	unmarked             bool // no guaranteed lifetime
	of                   *Conversation
}

func (k talk) at(at time.Time) Request {
	req := &llm.Request{Model: "m" + k.model}
	req.AddTool("Bash", k.tools, nil)
	say := func(role llm.Role, p llm.Part) {
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: []llm.Part{p}})
	}
	say(llm.System, llm.Part{Text: "You help. " + k.system})
	say(llm.User, llm.Part{Text: "go on " + k.begun})
	for i := range k.rounds {
		id := fmt.Sprint("c", i)
		say(llm.Assistant, llm.Part{Kind: llm.ToolCall, CallID: id, Name: "Bash", Args: fmt.Sprintf(`{"command":"make %d"}`, i)})
		if k.thinking && i == 0 {
			m := &req.Messages[len(req.Messages)-1]
			m.Parts = append([]llm.Part{{Kind: llm.Thinking, Text: "hm"}}, m.Parts...)
		}
		say(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: id, Text: strings.Repeat(fmt.Sprintf("ok %d: built one more of the targets\n", i), 40)})
	}
	if k.lifetime == 0 {
		k.lifetime = 5 * time.Minute
	}
	c := prefix.ChainOf(req.Messages, nil, 0)
	return Request{
		Time: at, API: llm.Messages, Key: Key{req.Model, prefix.Tools(req), c.System}, Name: "c", Conversation: k.of,
		Decoded: req, Chain: &c, Lifetime: k.lifetime, Vouched: !k.unmarked,
		Bound: k.thinking && req.Model == strictModel,
	}
}

// strictModel is a model whose provider checks thinking.
const strictModel = "mstrict"

func newState() *State {
	return New(Config{Evicts: true, Checks: func(_, model string) bool { return model == strictModel }})
}

// planOf returns a plan that replaces a part of a message.
func planOf(message int, text string) *trim.Plan {
	return &trim.Plan{Edits: []llm.Edit{{Message: message, Text: text}}, Omissions: []trim.Omission{{Reason: trim.Command, Before: 1000, After: len(text)}}}
}

// sends commits and settles a request with this plan.
func (s *State) sends(r Request, plan *trim.Plan, u record.Usage) (Verdict, []record.Turn, bool) {
	v := s.Judge(r)
	w := s.Commit(r, v, plan)
	turns, alive := s.Settle(w, Answer{
		Time: r.Time, Usage: u, Compared: w.Compare(r.Decoded), Price: trim.Price{Read: 0.1, Write: 1.25}, MinTokens: 1024,
	})
	return v, turns, alive
}

// sound fails if the State holds data of turns that it does not remember.
func (s *State) sound(t interface{ Errorf(string, ...any) }) {
	turns := 0
	for _, same := range s.turns {
		turns += len(same)
	}
	if turns != s.count {
		t.Errorf("%d turns are held, and %d counted", turns, s.count)
	}
}

func account(t *testing.T, turns []record.Turn) int {
	t.Helper()
	if len(turns) == 0 {
		t.Fatal("there is no turn to store")
	}
	return turns[len(turns)-1].Account
}
