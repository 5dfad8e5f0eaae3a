package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// talk builds a session turn by turn.
type talk struct {
	transcript.Session
	at    time.Duration
	model string
}

func (k *talk) add(role llm.Role, parts ...llm.Part) {
	m := llm.Message{Role: role, Parts: parts, Time: noon.Add(k.at)}
	if role == llm.Assistant {
		m.Model = k.model
	}
	k.Messages = append(k.Messages, m)
	k.at += 10 * time.Second
}

func (k *talk) say(role llm.Role, text string) { k.add(role, llm.Part{Text: text}) }

func (k *talk) call(name, args, result string) {
	id := fmt.Sprintf("call_%d", len(k.Messages))
	k.add(llm.Assistant, llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: args})
	k.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: id, Text: result})
}

func (k *talk) read(path string, lines int) {
	k.call("Read", fmt.Sprintf(`{"file_path":"/home/me/project/%s"}`, path), numbered(path, 1, lines))
}

func (k *talk) make(target string, lines int) {
	k.call("Bash", fmt.Sprintf(`{"command":"make %s"}`, target), numbered(target, 1, lines))
}

func numbered(name string, from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&b, "%d\tthe text of line %d of %s\n", n, n, name)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// goBack begins a context that has the first n messages.
func (k *talk) goBack(n int) {
	start := len(k.Messages)
	k.Starts = append(k.Starts, start)
	for i, m := range k.Messages[:n] {
		if m.Role == llm.Assistant {
			k.Carried = append(k.Carried, start+i)
		}
		k.Messages = append(k.Messages, m)
	}
}

func (k *talk) under(t *testing.T, p trim.Policy) (off, with Outcome) {
	t.Helper()
	off, r, err := Session(context.Background(), &k.Session, Config{History: trim.Config{Policy: p, Root: "/home/me/project"}})
	if err != nil {
		t.Fatal(err)
	}
	return off, r
}

// notDearer checks that a session costs no more than under off, under the policies that promise it.
func (k *talk) notDearer(t *testing.T) {
	t.Helper()
	for _, p := range []trim.Policy{trim.Lossless, trim.Adaptive} {
		off, r := k.under(t, p)
		for rule, cost := range off.Cost {
			if r.Cost[rule] > cost*(1+1e-12) {
				t.Errorf("%s, %s: %.0f instead of %.0f", p, rule, r.Cost[rule], cost)
			}
		}
	}
}

// TRIM-17: the prompt of a cold point is taken back, and another one is sent. The plan of the cold point stays, because the cache
// has that form.
func TestTakenBackAfterColdPoint(t *testing.T) {
	k := &talk{}
	k.say(llm.User, "go on")
	for i := range 10 {
		k.make(fmt.Sprint("target", i), 100)
	}
	for i := range 15 {
		k.read(fmt.Sprintf("f%d.go", i), 200)
	}
	k.say(llm.Assistant, "done")
	n := len(k.Messages)
	k.at += time.Hour
	k.say(llm.User, "now the first thing")
	k.say(llm.Assistant, "did that")
	k.goBack(n)
	k.say(llm.User, "no, the second thing")
	k.say(llm.Assistant, "did the other")
	k.notDearer(t)
	if off, r := k.under(t, trim.Adaptive); r.Cost[prices.Anthropic5m] > 0.99*off.Cost[prices.Anthropic5m] {
		t.Errorf("nothing saved: %.0f of %.0f", r.Cost[prices.Anthropic5m], off.Cost[prices.Anthropic5m])
	}
}

// TRIM-17: if models take turns, each has its own cache and its own plan.
func TestModelsTakeTurns(t *testing.T) {
	for _, every := range []int{1, 5, 15} {
		k := &talk{}
		k.say(llm.User, "go on")
		for i := range 60 {
			k.model = []string{"one", "two"}[i/every%2]
			k.make(fmt.Sprint("target", i), 100)
		}
		k.say(llm.Assistant, "done")
		k.notDearer(t)
		models := 0
		for _, m := range coldPointsOf(t, &k.Session, prices.Anthropic5m) {
			if strings.HasPrefix(m, string(trim.Model)) {
				models++
			}
		}
		if models != 1 {
			t.Errorf("turns of %d: %d cold points of another model", every, models)
		}
	}
}
