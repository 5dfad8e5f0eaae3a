package proxy

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

// say makes a message of each word. The first letter is the role.
func say(words ...string) []llm.Message {
	roles := map[byte]llm.Role{'s': llm.System, 'u': llm.User, 'a': llm.Assistant, 't': llm.Tool}
	var out []llm.Message
	for _, w := range words {
		out = append(out, llm.Message{Role: roles[w[0]], Parts: []llm.Part{{Text: w}}})
	}
	return out
}

// nowhere stands for an earlier process that knows no conversation.
func nowhere() string { return "" }

func (t *conversations) pass(key string, messages []llm.Message) *conversation {
	c := prefix.ChainOf(messages, nil, 0)
	v := t.enter(key, key, &c, nowhere)
	t.leave(v, new(record.Request), nil)
	return v
}

func TestByChain(t *testing.T) {
	tab := newConversations(10)
	a := tab.pass("", say("s", "u1"))
	if got := tab.pass("", say("s", "u1", "a1", "t1")); got != a {
		t.Error("a conversation that goes on is another one")
	}
	if got := tab.pass("", say("s", "u1", "a1", "t1")); got != a {
		t.Error("a repeated request is another conversation")
	}
	b := tab.pass("", say("s", "u2"))
	if b == a {
		t.Error("another beginning is the same conversation")
	}
	if got := tab.pass("", say("s", "u1", "a1", "t1", "a2", "t2")); got != a {
		t.Error("the first conversation is lost")
	}
	if got := tab.pass("", say("s", "u1", "a9", "t9")); got == a || got == b {
		t.Error("a fork of an older state is the same conversation")
	}
	if got := tab.pass("", say("title", "u2")); got == b {
		t.Error("another system text with no answer in common is the same conversation")
	}
	if got := tab.pass("", say("s, changed", "u1", "a1", "t1", "a2", "t2", "u3")); got != a {
		t.Error("a system text that changes splits the conversation")
	}
	if x, y := tab.pass("", say("s", "a1")), tab.pass("", say("s", "a1")); x == y {
		t.Error("requests without a user's word are one conversation")
	}
}

func TestByKey(t *testing.T) {
	tab := newConversations(10)
	a, b := tab.pass("a", say("u1")), tab.pass("b", say("u1"))
	if a == b || a.id != "a" {
		t.Error("two keys are one conversation")
	}
	if tab.pass("a", say("u9")) != a {
		t.Error("one key is two conversations")
	}
	if tab.pass("", say("u1")) == a {
		t.Error("a request without a key joined one with a key")
	}
}

// Conversations that begin with the same words at the same time do not mix, in whatever order their requests come.
func TestConversationsThatBeginAlike(t *testing.T) {
	const twins, turns = 6, 12
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		tab := newConversations(1000)
		of := make([]*conversation, twins)
		owner := map[*conversation]int{}
		words := make([][]string, twins)
		var first []prefix.Chain
		for i := range twins {
			words[i] = []string{"s", "u the same for all"}
			c := prefix.ChainOf(say(words[i]...), nil, 0)
			first = append(first, c)
			of[i] = tab.enter("", "", &c, nowhere)
		}
		for i := range twins { // all requests are in flight together
			tab.leave(of[i], new(record.Request), nil)
		}
		_ = first
		turn := make([]int, twins)
		for range twins * turns {
			i := rnd.IntN(twins)
			turn[i]++
			words[i] = append(words[i], fmt.Sprintf("a%d.%d", i, turn[i]), fmt.Sprintf("t%d.%d", i, turn[i]))
			v := tab.pass("", say(words[i]...))
			if turn[i] == 1 {
				if _, taken := owner[v]; taken {
					t.Fatalf("seed %d: conversation %d was taken for another", seed, i)
				}
				owner[v], of[i] = i, v
			} else if of[i] != v {
				t.Fatalf("seed %d: conversation %d was split", seed, i)
			}
		}
	}
}

func TestBounded(t *testing.T) {
	tab := newConversations(5)
	for i := range 50 {
		tab.pass("", say(fmt.Sprintf("u%d", i)))
		tab.pass(fmt.Sprintf("k%d", i), say("u"))
	}
	if tab.order.Len() != 5 || len(tab.byKey) > 5 || len(tab.byEnd) > 5 {
		t.Errorf("%d conversations, %d keys, %d ends", tab.order.Len(), len(tab.byKey), len(tab.byEnd))
	}
	if totals := tab.sums(); totals.Requests != 100 {
		t.Errorf("totals %+v", totals)
	}
}

// What is remembered of a request does not hold its texts in memory.
func TestTextsAreNotHeld(t *testing.T) {
	tab := newConversations(5)
	text := strings.Repeat("call_1/home/me/project/a.go", 10_000)
	memory := weak.Make(unsafe.StringData(text))
	c := prefix.ChainOf(say("u1"), nil, 0)
	v := tab.enter("", "", &c, nowhere)
	fresh := tab.leave(v, new(record.Request), []record.Trim{{CallID: text[:6], Paths: []string{text[6:27]}}})
	if len(fresh) != 1 || fresh[0].CallID != "call_1" || fresh[0].Paths[0] != "/home/me/project/a.go" || !v.shortened["call_1"] {
		t.Errorf("%+v, %v", fresh, v.shortened)
	}
	text = ""
	runtime.GC()
	if memory.Value() != nil {
		t.Error("the request's text is kept")
	}
	runtime.KeepAlive(fresh)
	runtime.KeepAlive(tab)
}

// The estimate of a request is the sum over all its texts, also if some were counted before. For a shortened text its replacement
// counts.
func TestEstimate(t *testing.T) {
	long := strings.Repeat("func add(a, b int) int { return a + b }\n", 30)
	req := &llm.Request{Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: long}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, Name: "write", Args: long + "1"}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, Text: long + "2"}}},
	}}
	req.AddTool("write", "writes", []byte(long))
	plan := &trim.Plan{Edits: []llm.Edit{{Message: 1, Text: "{}"}, {Message: 2, Text: "[line]"}}}
	var c counters
	for _, model := range []string{"m", "claude-opus-4-6", "m", "gpt-4"} {
		n := tokens.EstimateFor(model).Count
		want := n("write") + n("writes") + n(long) + n(long) + n("write") + n(long+"1") + n(long+"2")
		less := n(long+"1") - n("{}") + n(long+"2") - n("[line]")
		if off, sent := estimate(c.of(model), &reading{model: model, request: req}, plan); off != want || sent != want-less {
			t.Errorf("%s: %d and %d, want %d and %d", model, off, sent, want, want-less)
		}
	}
}
