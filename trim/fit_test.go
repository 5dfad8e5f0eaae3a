package trim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"pgregory.net/rapid"
)

// talk returns a conversation of n turns, each with a call whose result is long.
func talk(n int) []llm.Message {
	out := []llm.Message{say(llm.System, words("be brief"))}
	for i := range n {
		id := fmt.Sprint(i)
		out = append(out, say(llm.User, words("question "+id)),
			say(llm.Assistant, words("I look "+id), toolCall(id)),
			say(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: id, Text: strings.Repeat("line of text\n", 100)}),
			say(llm.Assistant, words("answer "+id)))
	}
	return out
}

// CTX-2: the oldest results of tools go first, and no more of them than necessary.
func TestFitOldestResultsFirst(t *testing.T) {
	in := talk(5)
	before := clone(in)
	whole := tokens.CountMessages(in, tokens.Estimate{})
	fitted, size := Fit(in, whole-1, tokens.Estimate{})
	if len(fitted) != len(in) || size >= whole {
		t.Fatalf("%d messages of %d, %d tokens of %d", len(fitted), len(in), size, whole)
	}
	for i := range in {
		trimmed := fitted[i].Parts[0].Text == unfitPlaceholder
		if trimmed != (i == 3) || !trimmed && !reflect.DeepEqual(fitted[i], in[i]) {
			t.Errorf("message %d: %+v", i, fitted[i])
		}
	}
	if !reflect.DeepEqual(before, in) { // TRIM-1
		t.Error("the conversation was changed")
	}
	if same, n := Fit(in, whole, tokens.Estimate{}); n != whole || !reflect.DeepEqual(same, in) {
		t.Error("trimmed what fits")
	}
}

// CTX-2: results go first, then messages of the assistant, then of the user. System text and the newest messages stay under any
// budget.
func TestFitByPriority(t *testing.T) {
	in := talk(5)
	roles := func(budget int) string {
		fitted, _ := Fit(in, budget, tokens.Estimate{})
		var b strings.Builder
		for _, m := range fitted {
			b.WriteByte(m.Role[0])
		}
		return b.String()
	}
	_, least := Fit(in, 0, tokens.Estimate{})
	if got, want := roles(0), "suata"; got != want {
		t.Errorf("nothing but what stays: %s, want %s", got, want)
	}
	if got, want := roles(least+1), "suata"; got != want {
		t.Errorf("no room for a question: %s, want %s", got, want)
	}
	if got, want := roles(least+8), "suuata"; got != want {
		t.Errorf("room for a question: %s, want %s", got, want)
	}
	// Four questions of the user, and of the answers the newest one.
	if got, want := roles(least+50), "suuuuauata"; got != want {
		t.Errorf("room for an answer: %s, want %s", got, want)
	}
}

// CTX-2: the user's message that the newest messages answer stays, however far back it stands.
func TestFitKeepsTheTask(t *testing.T) {
	c := &conv{}
	c.user("first task")
	c.user("the task")
	for range 8 {
		c.call("terminal-execute", `{"command":"make"}`, strings.Repeat("made\n", 50))
	}
	fitted, _ := Fit(c.messages, 0, tokens.Estimate{})
	if len(fitted) != 5 || fitted[0].Parts[0].Text != "the task" || !reflect.DeepEqual(fitted[1:], c.messages[len(c.messages)-4:]) {
		t.Errorf("%+v", fitted)
	}
}

// CTX-2: the four newest messages stay, and the message of the user before them.
func TestFitKeepsTheNewestFour(t *testing.T) {
	spoken := func(n int) []llm.Message { // the user is the last to speak
		var out []llm.Message
		for i := range n {
			role := llm.User
			if i%2 == 1 {
				role = llm.Assistant
			}
			out = append(out, say(role, words(fmt.Sprint("message ", i))))
		}
		return out
	}
	for name, tt := range map[string]struct {
		in   []llm.Message
		want int // number of messages that stay at the end
	}{
		"four, and the one that they answer": {spoken(9), 5},
		"four, the first of the user":        {spoken(10), 4},
	} {
		fitted, _ := Fit(tt.in, 0, tokens.Estimate{})
		if !reflect.DeepEqual(fitted, tt.in[len(tt.in)-tt.want:]) {
			t.Errorf("%s: %d messages stay, want %d: %+v", name, len(fitted), tt.want, fitted)
		}
	}
}

// Parts beside a result, such as an image, go with it.
func TestFitResultWithImage(t *testing.T) {
	in := talk(3)
	in[3].Parts = append(in[3].Parts, llm.Part{Kind: llm.Opaque, Raw: strings.Repeat("x", 5000)})
	fitted, _ := Fit(in, tokens.CountMessages(in, tokens.Estimate{})-1, tokens.Estimate{})
	if len(fitted[3].Parts) != 1 || fitted[3].Parts[0].Text != unfitPlaceholder {
		t.Errorf("%+v", fitted[3])
	}
}

func drawTalk(t *rapid.T) []llm.Message {
	texts := rapid.SampledFrom([]string{"", "short", strings.Repeat("some words of text ", 20), strings.Repeat("very long text\n", 90)})
	ids := rapid.SampledFrom([]string{"1", "2", "3", "4", "5"})
	var out []llm.Message
	for range rapid.IntRange(0, 20).Draw(t, "messages") {
		m := llm.Message{
			Role:  rapid.SampledFrom([]llm.Role{llm.System, llm.User, llm.Assistant, llm.Assistant, llm.Tool, llm.Tool}).Draw(t, "role"),
			Local: rapid.IntRange(0, 9).Draw(t, "local") == 0,
		}
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			p := llm.Part{Text: texts.Draw(t, "text")}
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case m.Role == llm.Assistant && kind == 0:
				p = llm.Part{Kind: llm.Thinking, Raw: "{}"}
			case m.Role == llm.Assistant && kind > 1:
				p = toolCall(ids.Draw(t, "id"))
			case m.Role == llm.Tool && kind == 0:
				p = llm.Part{Kind: llm.Opaque, Raw: "{}"}
			case m.Role == llm.Tool:
				p.Kind, p.CallID = llm.ToolResult, ids.Draw(t, "id")
			}
			m.Parts = append(m.Parts, p)
		}
		out = append(out, m)
	}
	return out
}

// CTX-2, over random conversations.
func TestFitInvariants(t *testing.T) {
	counter := tokens.Estimate{}
	rapid.Check(t, func(t *rapid.T) {
		in := drawTalk(t)
		before := clone(in)
		budget := rapid.IntRange(-1, 3000).Draw(t, "budget")
		fitted, size := Fit(in, budget, counter)
		if !reflect.DeepEqual(before, in) {
			t.Fatal("the conversation was changed")
		}
		if n := tokens.CountMessages(fitted, counter); n != size {
			t.Fatalf("size %d, said to be %d", n, size)
		}
		if again := Normalize(fitted); !reflect.DeepEqual(again, fitted) && len(fitted)+len(again) > 0 {
			t.Fatalf("no provider accepts it:\n%+v", fitted)
		}
		if twice, n := Fit(in, budget, counter); n != size || !reflect.DeepEqual(twice, fitted) {
			t.Fatal("the same conversation was fitted in two ways")
		}
		checkPriority(t, Normalize(in), fitted, size > budget)
	})
}

// checkPriority checks that nothing was removed that has a higher priority than something that stayed. If the rest is still too
// large, nothing more may be removed.
func checkPriority(t *rapid.T, whole, fitted []llm.Message, over bool) {
	count := func(in []llm.Message, role llm.Role) (n int) {
		for _, m := range in {
			if m.Role == role {
				n++
			}
		}
		return n
	}
	if count(whole, llm.System) != count(fitted, llm.System) {
		t.Fatal("system text went")
	}
	tail := whole[max(0, len(whole)-newest):]
	if !reflect.DeepEqual(fitted[len(fitted)-len(tail):], tail) && len(tail) > 0 {
		t.Fatal("of the newest messages something went")
	}
	head := fitted[:len(fitted)-len(tail)]
	if len(tail) > 0 && tail[0].Role == llm.Tool {
		head = head[:len(head)-1]
	}
	if gone := count(whole, llm.User) > count(fitted, llm.User); (gone || over) && count(head, llm.Assistant) > 0 {
		t.Fatal("an answer stayed while a question went")
	}
	if over && count(head, llm.User) > 1 {
		t.Fatal("too large, and old questions stayed")
	}
	if gone := count(whole, llm.Assistant) > count(fitted, llm.Assistant); gone || over {
		for _, m := range head {
			for _, p := range m.Parts {
				if p.Kind == llm.ToolResult && p.Text != unfitPlaceholder && len(p.Text) > len(unfitPlaceholder) {
					t.Fatal("a result stayed while an answer went")
				}
			}
		}
	}
}
