package trim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// longWork returns a conversation that is long enough for warm breaks: an agent reads files, runs commands, and changes some of
// the files. In some conversations a person writes much in between, which always stays.
func longWork(r *rand.Rand) *conv {
	c := new(conv)
	c.user("mend the build")
	files, talk := []int{30, 1000}[r.IntN(2)], r.IntN(6)
	for turn := range 60 + r.IntN(140) {
		file := fmt.Sprintf("src/f%d.go", r.IntN(files))
		switch r.IntN(5 + talk) {
		case 0, 1:
			first := 1 + r.IntN(400)
			c.read(file, first, first+10+r.IntN(190), 600)
		case 2:
			c.call("filesystem-edit", map[string]any{"filePath": file, "searchContent": "old", "replaceContent": "new"}, "edited")
		case 3, 4:
			c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("make test-%d", turn)},
				strings.Repeat(fmt.Sprintf("building package %d\r", turn), r.IntN(300))+fmt.Sprintf("ok  some/package/%d\n", turn))
		default:
			c.user(strings.Repeat(fmt.Sprintf("please see to %d as well\n", turn), 1+r.IntN(900)))
		}
	}
	return c
}

// priceOf returns the price of a request after the request before, at a provider with a cache. The unit is one input byte without
// a cache, as weigh counts texts.
func priceOf(request, before []llm.Message, p Price, weigh func(text string) int) (cost float64) {
	same := true
	for i := range request {
		m := &request[i]
		size := around(m)
		for j := range m.Parts {
			size += weigh(m.Parts[j].Text) + weigh(m.Parts[j].Args)
		}
		if same = same && i < len(before) && slices.Equal(m.Parts, before[i].Parts); same {
			cost += p.Read * float64(size)
		} else {
			cost += p.Write * float64(size)
		}
	}
	return cost
}

// At every message of a conversation, warm breaks have made it dearer by no more than the part that they may risk. Between breaks
// a plan is the beginning of the next plan. If thinking is checked, a break changes nothing that was sent: the provider clears
// more results (WIRE-2).
func TestBreaksCostLittle(t *testing.T) {
	for _, checked := range []bool{false, true} {
		breaks := 0
		for seed := range uint64(100) {
			breaks += breaksCostLittle(t, seed, checked)
		}
		if breaks < 40 {
			t.Errorf("checked %v: %d breaks: the test shows little", checked, breaks)
		}
	}
}

// breaksCostLittle checks one conversation, and returns its number of breaks.
func breaksCostLittle(t *testing.T, seed uint64, checked bool) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	c, price := longWork(r), Price{0.1, []float64{1, 1.25, 2}[r.IntN(3)]}
	e := newEngine(t, Config{Policy: Bold, Price: price, ChecksThinking: checked, Clears: checked})
	st := e.NewState()
	var before, beforeOff []llm.Message
	plan := new(Plan)
	cost, off := 0., 0.
	for i := range c.messages {
		if c.messages[i].Role != llm.Assistant {
			continue
		}
		st.Add(c.messages[st.Len():i]...)
		next := st.Plan()
		now := llm.Apply(c.messages[:i], next.Seen().Edits)
		cost += priceOf(now, before, price, func(text string) int { return len(text) })
		off += priceOf(c.messages[:i], beforeOff, price, func(text string) int { return len(text) })
		if cost > (1+risk)*off {
			t.Fatalf("seed %d: at message %d the conversation has cost %.0f, and without stet %.0f", seed, i, cost, off)
		}
		broke := next.Breaks > plan.Breaks
		if (checked || !broke) && !slices.Equal(next.Edits[:len(plan.Edits)], plan.Edits) {
			t.Fatalf("seed %d: at message %d the plan changed without a break", seed, i)
		}
		if broke != (next.ClearedCalls > plan.ClearedCalls) && checked {
			t.Fatalf("seed %d: at message %d %d calls are cleared, and before %d", seed, i, next.ClearedCalls, plan.ClearedCalls)
		}
		before, beforeOff, plan = now, c.messages[:i], next
	}
	whole := e.Plan(c.messages)
	st.Add(c.messages[st.Len():]...)
	if diff := cmp.Diff(whole, st.Plan()); diff != "" {
		t.Fatalf("seed %d: planned at once and step by step (-, +):\n%s", seed, diff)
	}
	if balance := st.account.balance; math.Abs(balance-(off-cost)) > 0.02*off {
		t.Fatalf("seed %d: the account says that %.0f was saved; it is %.0f of %.0f", seed, balance, off-cost, off)
	}
	return whole.Breaks
}

// The price of a break includes everything that it changes in earlier messages. Here it changes a pointer, because the source of
// the pointer has no unique name: two calls have the same id.
func TestBreakCountsAllThatChanges(t *testing.T) {
	c := new(conv)
	c.user("mend the build")
	for range 2 {
		c.call("TaskOutput", map[string]any{"task_id": "1"}, lineRange("text of line %[1]d of the report, as it has been", 1, 30))
	}
	c.user(strings.Repeat("please see to this as well\n", 20_000))
	c.n = 0
	for i := range 100 {
		c.read(fmt.Sprintf("src/f%d.go", i), 1, 60, 60)
	}
	price := Price{0.1, 1.25}
	st := newEngine(t, Config{Policy: Bold, Price: price}).NewState()
	var before, beforeOff []llm.Message
	cost, off := 0., 0.
	for i := range c.messages {
		if c.messages[i].Role != llm.Assistant {
			continue
		}
		st.Add(c.messages[st.Len():i]...)
		now := llm.Apply(c.messages[:i], st.Plan().Edits)
		cost += priceOf(now, before, price, func(text string) int { return len(text) })
		off += priceOf(c.messages[:i], beforeOff, price, func(text string) int { return len(text) })
		if cost > (1+risk)*off {
			t.Fatalf("at message %d the conversation has cost %.0f, and without stet %.0f", i, cost, off)
		}
		before, beforeOff = now, c.messages[:i]
	}
}

// longReading returns a conversation in which a warm break pays early.
func longReading() []llm.Message {
	c := new(conv)
	c.user("mend the build")
	for i := range 200 {
		c.read(fmt.Sprintf("src/f%d.go", i), 1, 200, 200)
	}
	return c.messages
}

func TestBreaks(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		breaks bool
	}{
		"bold":             {Config{Policy: Bold}, true},
		"adaptive":         {Config{Policy: Adaptive}, false},
		"thinking checked": {Config{Policy: Bold, ChecksThinking: true}, false},
		"kept":             {Config{Policy: Bold, NoBreaks: true}, false},
		"never idle":       {Config{Policy: Bold, Idle: -1, KeepShell: -1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := newEngine(t, tt.config).NewState()
			st.Add(longReading()...)
			if p := st.Plan(); p.Breaks > 0 != tt.breaks {
				t.Errorf("%d breaks", p.Breaks)
			}
		})
	}
}

// firstBreak returns the message of the model after which the first warm break of a conversation comes, or 0.
func firstBreak(t *testing.T, c *conv, config Config) int {
	t.Helper()
	st := newEngine(t, config).NewState()
	for i := range c.messages {
		if c.messages[i].Role == llm.Assistant {
			st.Add(c.messages[st.Len() : i+1]...)
			if st.Plan().Breaks > 0 {
				return i
			}
		}
	}
	return 0
}

// If no price is known, a break must pay at the price at which it costs most.
func TestBreakWithoutPrice(t *testing.T) {
	for _, checked := range []bool{false, true} {
		later := 0
		for seed := range uint64(30) {
			c := longWork(rand.New(rand.NewPCG(seed, 0)))
			config := Config{Policy: Bold, ChecksThinking: checked, Clears: checked}
			unknown := firstBreak(t, c, config)
			config.Price = dearest
			if known := firstBreak(t, c, config); unknown > 0 && (known == 0 || unknown < known) {
				t.Errorf("checked %v, seed %d: a break behind message %d, and with the dearest price behind %d", checked, seed, unknown, known)
			}
			config.Price = Price{0.1, 1.25}
			if known := firstBreak(t, c, config); known > 0 && (unknown == 0 || unknown > known) {
				later++
			}
		}
		if later == 0 {
			t.Errorf("checked %v: the price made no difference", checked)
		}
	}
}

// Each result that leaves may be needed again, which costs one more request. So a break that leaves out the same text in many
// small results does not pay.
func TestBreakCountsRecalls(t *testing.T) {
	for parts, breaks := range map[int]bool{1: true, 20: false} {
		c := new(conv)
		c.user(strings.Repeat("please see to this as well\n", 20_000))
		for turn := range 1000 {
			output := "done"
			if turn%20 < parts {
				output = lineRange(fmt.Sprintf("%d: built target %%[1]d of the project", turn), 1, 200/parts)
			}
			c.call("Bash", map[string]any{"command": fmt.Sprint("make -j", turn)}, output)
		}
		if first := firstBreak(t, c, Config{Policy: Bold, Price: Price{0.1, 1.25}}); first > 0 != breaks {
			t.Errorf("in %d outputs: a break behind message %d", parts, first)
		}
	}
}

// What left at a break does not come back at the next one, although its file was edited in between.
func TestBreakKeepsOut(t *testing.T) {
	c := new(conv)
	c.user("mend the build")
	first := c.read("src/old.go", 1, 200, 200)
	for i := range 150 {
		c.read(fmt.Sprintf("src/f%d.go", i), 1, 200, 200)
	}
	e := newEngine(t, Config{Policy: Bold, Price: Price{0.1, 1.25}})
	before := e.Plan(c.messages)
	for i := range 150 {
		if i%3 == 0 {
			c.call("filesystem-edit", map[string]any{"filePath": "src/old.go", "searchContent": "a", "replaceContent": "b"}, "edited")
		}
		c.read(fmt.Sprintf("src/g%d.go", i), 1, 200, 200)
	}
	for n := len(c.messages) - 290; n <= len(c.messages); n++ {
		after := e.Plan(c.messages[:n])
		if before.Breaks == 0 || n == len(c.messages) && after.Breaks == before.Breaks {
			t.Fatalf("%d breaks, then %d: the test shows nothing", before.Breaks, after.Breaks)
		}
		if at := after.Edits[0]; at.Message != first {
			t.Fatalf("with %d messages the old read came back", n)
		}
	}
}

// respelled returns a text with fewer or more bytes for each token. Line numbers stay.
func respelled(r *rand.Rand, style int, text string) string {
	return strings.Map(func(c rune) rune {
		switch letter := 'a' <= c && c <= 'z'; {
		case letter && style == 1:
			return '一' + c*7
		case letter && style == 2: // like base64
			return rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(62)])
		}
		return c
	}, text)
}

// A warm break for thinking makes no conversation dearer at any message, under adaptive, whether or not thinking is checked,
// whatever else is written again (images, frames of calls), and however few bytes a token has in what left, or in what is written
// again. Only thinking leaves, and what has left stays away.
func TestThinkingBreaks(t *testing.T) {
	image := llm.Part{Kind: llm.Opaque, Raw: strings.Repeat("i", 8000)}
	for _, checked := range []bool{false, true} {
		breaks := 0
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 2))
			c, price := longWork(r), Price{0.1, []float64{1, 1.25, 2}[r.IntN(3)]}
			much, results, others := 1+r.IntN(8000), r.IntN(3), r.IntN(3)
			for i := range c.messages {
				m, style := &c.messages[i], others
				if m.Role == llm.Tool {
					style = results
				}
				for j := range m.Parts {
					m.Parts[j].Text = respelled(r, style, m.Parts[j].Text)
				}
				if m.Role == llm.Assistant {
					thought := respelled(r, others, long("thought", r.IntN(much)))
					m.Parts = append([]llm.Part{{Kind: llm.Thinking, Text: thought}}, m.Parts...)
				} else if m.Role == llm.Tool && seed%2 == 0 {
					m.Parts = append(m.Parts, image)
				}
			}
			breaks += thinkingBreaks(t, seed, withAnswers(c.messages), Config{Price: price, BillsThinking: true, ChecksThinking: checked, Clears: checked})
		}
		t.Logf("checked %v: %d breaks", checked, breaks)
		if breaks < 20 {
			t.Errorf("checked %v: %d breaks: the test shows little", checked, breaks)
		}
	}
}

// withAnswers ends the loop of tools after every third result.
func withAnswers(messages []llm.Message) (out []llm.Message) {
	n := 0
	for _, m := range messages {
		out = append(out, m)
		if m.Role == llm.Tool {
			if n++; n%3 == 0 {
				out = append(out, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "done"}}}, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "go on"}}})
			}
		}
	}
	return out
}

// thinkingBreaks checks one conversation, and returns its number of breaks.
func thinkingBreaks(t *testing.T, seed uint64, messages []llm.Message, c Config) int {
	t.Helper()
	st := newEngine(t, c).NewState()
	var before, beforeOff []llm.Message
	var counter tokens.Memo
	weigh := func(text string) int { return counter.Count(text) * bytesPerToken }
	plan := new(Plan)
	cost, off := 0., 0.
	for i := range messages {
		if messages[i].Role != llm.Assistant {
			continue
		}
		st.Add(messages[st.Len():i]...)
		next := st.Plan()
		now := llm.Apply(messages[:i], next.Edits)
		cost += priceOf(now, before, c.Price, weigh)
		off += priceOf(messages[:i], beforeOff, c.Price, weigh)
		if cost > off*(1+1e-9) {
			t.Fatalf("seed %d: at message %d the conversation has cost %.0f, and without stet %.0f", seed, i, cost, off)
		}
		for _, e := range plan.Edits {
			if !slices.Contains(next.Edits, e) {
				t.Fatalf("seed %d: at message %d %v was sent otherwise than before", seed, i, e)
			}
		}
		before, beforeOff, plan = now, messages[:i], next
	}
	return plan.Breaks
}
