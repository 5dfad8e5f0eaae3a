package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
)

const goodSummary = "The person wants the files read, and the plan kept. Files 0 to 9 were read. Next: edit plan.txt."

// asksForSummary reports whether a request asks for a summary.
func asksForSummary(req *llm.Request) bool {
	last := req.Messages[len(req.Messages)-1]
	return last.Role == llm.User && strings.HasPrefix(last.Parts[len(last.Parts)-1].Text, agent.SummaryAsked)
}

// noted approves everything, and keeps the questions.
type noted struct{ asked []approval.Question }

func (n *noted) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	n.asked = append(n.asked, q)
	return approval.Answer{Verdict: approval.Approve, Seal: q.Seal}, nil
}

// long is a rig whose model reads one file after another until the window is full: `files` files of 3,000 tokens each, in a window
// of 22,000. Then it edits plan.txt, which it read before, and ends. summary answers the requests for a summary.
func long(t *testing.T, wire string, files int, summary handler) (*rig, *noted) {
	step := 0
	r := newRig(t, wire, llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
		if asksForSummary(req) {
			return summary(req)
		}
		step++
		id := func(p llm.Part) llm.Part { p.CallID = fmt.Sprintf("call_%d", step); return p }
		switch {
		case step <= files:
			return say("I read the next one.", id(call("read_file", fmt.Sprintf(`{"path":"%d.txt"}`, step-1))))
		case step == files+1:
			return say("And the plan.", id(call("read_file", `{"path":"plan.txt"}`)))
		case step == files+2:
			return say("One more.", id(call("read_file", fmt.Sprintf(`{"path":"%d.txt"}`, files))))
		case step == files+3:
			return say("I change the plan.", id(call("edit_file", `{"path":"plan.txt","edits":[{"old_text":"first","new_text":"second"}]}`)))
		case step == files+4:
			return say("I write it whole.", id(call("write_file", `{"path":"plan.txt","content":"all new\n"}`)))
		}
		return say("All is done.")
	}, func(a *agent.Agent) {
		a.Limits = agent.Limits{Window: 22_000}
		a.MaxTokens = 1000
	})
	n := new(noted)
	r.asks.Approver = n
	for i := range files + 1 {
		var b strings.Builder
		for line := 0; b.Len() < 12_000; line++ {
			fmt.Fprintf(&b, "file %d line %d says %x\n", i, line, (i+1)*(line+7)*7919)
		}
		r.put(fmt.Sprintf("%d.txt", i), b.String())
	}
	r.put("plan.txt", "the first plan\n")
	return r, n
}

// Past 92 % of the window the model is asked for a summary. The summary replaces the conversation in a new session, with the most
// important files as they are on disk. These can be edited without being read again. (CTX-4, CTX-9, CTX-10 group 3)
func TestCompaction(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r, person := long(t, wire, 5, says(goodSummary))
		c := r.begin()
		out := r.run(c, "Read the files, then bring the plan up to date.")
		if out.End != agent.Done || out.Text != "All is done." {
			t.Fatalf("%+v\n%s", out, texts(r.sent()))
		}
		if r.get("plan.txt") != "all new\n" {
			t.Fatalf("plan.txt: %q", r.get("plan.txt"))
		}
		done := r.told(agent.Compacted)
		if len(done) != 1 || done[0].To != c.ID() || done[0].Text != goodSummary || len(r.told(agent.NotCompacted)) != 0 {
			t.Fatalf("%d compactions", len(done))
		}
		before := r.told(agent.Compacting)[0].Fill
		if share := float64(before.Used) / float64(before.Window); share < 0.92 || share > 1 || done[0].Fill.Used*2 > before.Used {
			t.Fatalf("compacted at %.0f %%, from %d to %d tokens", share*100, before.Used, done[0].Fill.Used)
		}
		for _, q := range person.asked {
			if len(q.Notes) > 0 {
				t.Errorf("%s of %s: %v: what was attached counts as not read", q.Tool, q.Path, q.Notes)
			}
		}
		checkSummaryRequest(t, r)
		st := c.State()
		if st.From.Relation != session.Compacted {
			t.Fatalf("%+v", st.From)
		}
		old, err := session.Resume(t.Context(), r.store, st.From.Session)
		if err != nil || old.State().Next != st.ID {
			t.Fatalf("%v, the old session goes on in %q", err, old.State().Next)
		}
		first := st.Messages[0]
		if !agent.IsSummary(first.Parts[0]) || !strings.Contains(first.Parts[0].Text, goodSummary) {
			t.Fatalf("%+v", first)
		}
		if spent := c.Spent().Usage; spent.Output <= st.Spent.Output || spent.Prompt() <= old.State().Spent.Prompt() {
			t.Fatalf("%+v spent in all, %+v before", spent, old.State().Spent)
		}
		// A resume of the old session leads to the new one. (TRIM-12)
		if got := r.resume(old.ID()).ID(); got != st.ID {
			t.Fatalf("resumed %s", got)
		}
	})
}

// checkSummaryRequest checks that the request for a summary begins with what was sent before, so that the provider reads it from
// its cache.
func checkSummaryRequest(t *testing.T, r *rig) {
	t.Helper()
	all := r.server.Requests()
	for i, req := range all {
		if !asksForSummary(req.Decoded) {
			continue
		}
		was, now := all[i-1].Decoded, req.Decoded
		before, after := bare(was.Messages), bare(now.Messages)
		for i, part := range before {
			if after[i] != part {
				t.Errorf("part %d was sent as\n%.200s\nand then as\n%.200s", i, part, after[i])
			}
		}
		if len(was.Tools) == 0 || fmt.Sprint(was.Tools) != fmt.Sprint(now.Tools) {
			t.Error("the tools are others")
		}
		return
	}
	t.Error("no request asked for a summary")
}

// bare returns the messages without their event numbers.
func bare(messages []llm.Message) []string {
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			out = append(out, fmt.Sprint(m.Role, p.Kind, p.Text, p.CallID, p.Name, p.Args))
		}
	}
	return out
}

// If the model fails, or its summary is nonsense or too long, only the question is lost: all messages remain, the turn continues
// with the messages that fit, and the model is asked a limited number of times. (CTX-4, CTX-2)
func TestCompactionFails(t *testing.T) {
	nonsense := call("read_file", `{"path":"0.txt"}`)
	onOne := map[string]bool{"fails": true, "whitespace": true, "too long": true} // these cases do not depend on the wire format
	for name, summary := range map[string]handler{
		"fails": func(*llm.Request) (llm.Response, error) {
			return llm.Response{}, llmtest.Fault{Status: 400, Message: "no"}
		},
		"calls":      says("I read on.", nonsense),
		"says nil":   says(""),
		"whitespace": says("  \n "),
		"too long":   says(strings.Repeat("7 1 9 3 5 2 8 4 6 0 ", 2500)),
		"cut off":    stops("", ""),
	} {
		t.Run(name, func(t *testing.T) {
			test := func(t *testing.T, wire string) {
				summary := summary
				if name == "cut off" {
					summary = stops(limitWord[wire], "The person wants")
				}
				r, _ := long(t, wire, 9, summary)
				c := r.begin()
				out := r.run(c, "Read the files, then bring the plan up to date.")
				if out.End != agent.Done || out.Text != "All is done." || r.get("plan.txt") != "all new\n" {
					t.Fatalf("%+v", out)
				}
				if len(r.told(agent.Compacted)) != 0 {
					t.Fatal("compacted by " + name)
				}
				asked := 0
				for _, req := range r.server.Requests() {
					if asksForSummary(req.Decoded) {
						asked++
					}
					if n := len(req.Body) / 4; n > 24_000 {
						t.Fatalf("a request of %d tokens", n)
					}
				}
				if asked == 0 || asked > 12 {
					t.Fatalf("asked for a summary %d times in %d requests", asked, len(r.server.Requests()))
				}
				// All messages remain: 10 reads of 3,000 tokens are stored whole.
				size := 0
				for _, m := range c.State().Messages {
					for _, p := range m.Parts {
						size += len(p.Text)
					}
				}
				if size < 10*12_000 {
					t.Fatalf("%d bytes are stored", size)
				}
			}
			if onOne[name] {
				test(t, "messages")
				return
			}
			overWires(t, test)
		})
	}
}

// If the first summary cannot be used, the model is told the reason, and its second summary may be used.
func TestCompactionRetry(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		asked := 0
		r, _ := long(t, wire, 5, func(req *llm.Request) (llm.Response, error) {
			if asked++; asked == 1 {
				return say("I read on.", call("read_file", `{"path":"0.txt"}`))
			}
			if last := req.Messages[len(req.Messages)-1]; !strings.Contains(last.Parts[len(last.Parts)-1].Text, "it called a tool") {
				t.Error("the model was not told why")
			}
			return say(goodSummary)
		})
		c := r.begin()
		r.run(c, "Read the files.")
		if len(r.told(agent.Compacted)) != 1 || asked != 2 {
			t.Fatalf("%d compactions, %d questions", len(r.told(agent.Compacted)), asked)
		}
	})
}

// Compaction on request keeps what the person asks for. An empty conversation is not compacted.
func TestCompactByHand(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
			if asksForSummary(req) {
				last := req.Messages[len(req.Messages)-1]
				if !strings.Contains(last.Parts[len(last.Parts)-1].Text, "the colour") {
					t.Error("the focus is not asked for")
				}
				return say("It is green.")
			}
			return say(strings.Repeat("Green it is. ", 50))
		}, nil)
		c := r.begin()
		if err := c.Compact(t.Context(), "", nil); err == nil {
			t.Fatal("compacted nothing")
		}
		r.run(c, "Which colour?")
		was := c.ID()
		if err := c.Compact(t.Context(), "the colour", nil); err != nil {
			t.Fatal(err)
		}
		if c.ID() == was || roles(c.State().Messages) != "user" {
			t.Fatalf("%s after %s: %s", c.ID(), was, roles(c.State().Messages))
		}
		r.run(c, "And now?")
		if r.in("It is green.") != 1 || r.in("Which colour?") != 0 {
			t.Fatal(texts(r.sent()))
		}
	})
}

// A model that accepts less than expected: the request is made shorter.
func TestTooLongForTheModel(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r, _ := long(t, wire, 5, says(goodSummary))
		r.agent.Limits.Window = 100_000
		refused := 0
		r.server.Fail(llmtest.Fault{}, llmtest.Fault{}, llmtest.Fault{}, llmtest.Fault{}, llmtest.Fault{Status: 400, Message: "prompt is too long: 200000 tokens > 20000 maximum"})
		c := r.begin()
		out := r.run(c, "Read the files, then bring the plan up to date.")
		for _, req := range r.server.Requests() {
			if req.Status == 400 {
				refused++
			}
		}
		if out.Text != "All is done." || refused != 1 || len(r.told(agent.Compacted)) == 0 {
			t.Fatalf("%+v, refused %d times, %d compactions", out, refused, len(r.told(agent.Compacted)))
		}
	})
}

// A compaction in the middle of a turn keeps the person's words, keeps calls together with their results, and attaches files as
// they are on disk.
func TestCompactionMidTurn(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r, _ := long(t, wire, 5, says(goodSummary))
		c := r.begin()
		r.run(c, "Read the files, and mind the gap.")
		for _, req := range r.server.Requests() {
			if first := req.Decoded.Messages[0]; first.Role != llm.System {
				t.Fatalf("%+v", first)
			}
			open := map[string]bool{}
			for _, m := range req.Decoded.Messages {
				for _, p := range m.Parts {
					switch p.Kind {
					case llm.ToolCall:
						open[p.CallID] = true
					case llm.ToolResult:
						if !open[p.CallID] {
							t.Fatalf("a result without its call: %s", p.CallID)
						}
						delete(open, p.CallID)
					}
				}
			}
			if len(open) > 0 {
				t.Fatalf("calls without results: %v", open)
			}
			if n := strings.Count(texts(req.Decoded), "mind the gap"); n != 1 {
				t.Fatalf("the person's words stand in a request %d times", n)
			}
		}
	})
}
