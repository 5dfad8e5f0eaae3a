package others

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
	"github.com/stet-dev/stet/trim/transcript"
)

func boundOf(t *testing.T, s *transcript.Session, p bench.Policy) (off, bound replay.Outcome) {
	t.Helper()
	r := replay.New(s, &replay.Config{Counter: replaytest.Bytes{}, Overhead: -1})
	off, err := r.Under(context.Background(), nil, replay.Rules())
	if err != nil {
		t.Fatal(err)
	}
	if bound, err = p.Play(context.Background(), r, replay.Rules()); err != nil {
		t.Fatal(err)
	}
	return off, bound
}

// If the same 60 lines are read a second time, they cost nothing under the bound of policies that lose nothing, from their first
// request on. Everything else costs as before.
func TestLosslessBound(t *testing.T) {
	s := replaytest.Reading(2)
	off, bound := boundOf(t, s, LosslessBound("bound"))
	result := len(s.Messages[2].Parts[0].Text)
	ask := len("Read") + len(s.Messages[1].Parts[0].Args)
	free := result + ask // the call repeats the path, which is one line of the result
	if got := off.Tokens - bound.Tokens; got != int64(free) {
		t.Errorf("%d tokens are free, want %d", got, free)
	}
	for name, want := range map[string]float64{prices.Anthropic5m: 1.25, prices.OpenAI: 1, prices.None: 1} {
		if got := off.Cost[name] - bound.Cost[name]; !replaytest.Near(got, want*float64(free)) {
			t.Errorf("%s: %v is saved, want %v", name, got, want*float64(free))
		}
	}
}

// An older listing costs nothing under the bound once a newer one exists. The same holds for a file that was overwritten.
func TestLosslessBoundReplaced(t *testing.T) {
	tool := func(id, name, args, result string) []llm.Message {
		return []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: name, Args: args}}},
			{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: result}}},
		}
	}
	write := func(content string) string {
		args, _ := json.Marshal(map[string]string{"file_path": "/home/me/project/a.txt", "content": content})
		return string(args)
	}
	s := &transcript.Session{File: "s", Messages: []llm.Message{replaytest.Text(llm.User, 10, 0)}}
	first, second := "the first listing: a.txt", "another listing: b.txt"
	s.Messages = append(s.Messages, tool("1", "LS", `{"path":"/home/me/project"}`, first)...)
	s.Messages = append(s.Messages, tool("2", "Write", write("one content of it"), "ok")...)
	s.Messages = append(s.Messages, tool("3", "Write", write("what it is in the end"), "ok")...)
	s.Messages = append(s.Messages, tool("4", "LS", `{"path":"/home/me/project/"}`, "unlike")...)
	s.Messages = append(s.Messages, tool("5", "LS", `{"path":"/home/me/project"}`, second)...)
	s.Messages = append(s.Messages, replaytest.Text(llm.Assistant, 5, time.Minute))
	c := replay.Config{Counter: replaytest.Bytes{}, Overhead: -1}
	r := replay.New(s, &c)
	var got []release
	for _, d := range repeatedParts(r) {
		if d.Tokens == r.Counted(d.Part) && r.Parts[d.Part].Kind == llm.ToolResult || r.Parts[d.Part].Name == "Write" && d.Request == 3 {
			got = append(got, d)
		}
	}
	want := []release{
		{Request: 3, Part: r.First[3], Tokens: len("Write") + len(write("one content of it"))},
		{Request: 5, Part: r.First[2], Tokens: len(first)},
	}
	found := 0
	for _, w := range want {
		for _, g := range got {
			if g == w {
				found++
			}
		}
	}
	if found != len(want) {
		t.Errorf("%v, want %v among them", got, want)
	}
}

// If no later answer names anything of a result, the result costs nothing after the first request that had it. A result that an
// edit needs is kept until then.
func TestClairvoyantBound(t *testing.T) {
	answer := func(words string) llm.Message {
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: words}}}
	}
	result := func(id, words string) llm.Message {
		return llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: words}}}
	}
	s := &transcript.Session{File: "s", Messages: []llm.Message{
		replaytest.Text(llm.User, 10, 0),
		answer("look"), result("a", "alpha_value is here"), // 0
		answer("hm"), result("b", "omega_value is there"), // 1
		answer("so"), replaytest.Text(llm.User, 3, 0), // 2
		answer("it is alpha_value"), replaytest.Text(llm.User, 3, 0), // 3
		answer("alpha_value it is"), replaytest.Text(llm.User, 3, 0), // 4: the answer knows it from its own words
		answer("end"), // 5
	}}
	c := replay.Config{Counter: replaytest.Bytes{}, Overhead: -1}
	r := replay.New(s, &c)
	last := make(map[int]int)
	for _, d := range unneededParts(r) {
		last[d.Part] = d.Request - 1
	}
	for message, want := range map[int]int{2: 3, 4: 2} {
		if got := last[r.First[message]]; got != want {
			t.Errorf("message %d is last needed by request %d, want %d", message, got, want)
		}
	}

	e := replaytest.Editing()
	er := replay.New(e, &c)
	for _, d := range unneededParts(er) {
		if d.Part == er.First[2] && d.Request <= 3 && d.Tokens == er.Counted(d.Part) {
			t.Errorf("what an edit needs is free from request %d on", d.Request)
		}
	}
}

// If nothing can be left out, a bound equals the full cost.
func TestBoundOfNothing(t *testing.T) {
	s := &transcript.Session{File: "s", Messages: []llm.Message{replaytest.Text(llm.User, 30, 0), replaytest.Text(llm.Assistant, 5, 0), replaytest.Text(llm.User, 8, time.Hour), replaytest.Text(llm.Assistant, 5, time.Hour)}}
	for _, p := range []bench.Policy{LosslessBound("a"), ClairvoyantBound("b")} {
		off, bound := boundOf(t, s, p)
		for rule, cost := range off.Cost {
			if len(bound.Cost) != len(off.Cost) || !replaytest.Near(bound.Cost[rule], cost) {
				t.Errorf("%s: %s costs %v, want %v", p.Name, rule, bound.Cost[rule], cost)
			}
		}
	}
}
