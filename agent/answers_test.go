package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// limitWord and refusedWord are the stop reasons of each wire format.
var (
	limitWord   = map[string]string{"messages": "max_tokens", "chat": "length", "responses": "max_output_tokens"}
	refusedWord = map[string]string{"messages": "refusal", "chat": "content_filter", "responses": "content_filter"}
)

// turns answers each request with the next function, and then with "Done.".
func turns(all ...func(req *llm.Request) (llm.Response, error)) handler {
	var n atomic.Int32
	return func(req *llm.Request) (llm.Response, error) {
		i := int(n.Add(1)) - 1
		if i >= len(all) {
			return say("Done.")
		}
		return all[i](req)
	}
}

func says(text string, calls ...llm.Part) handler {
	return func(*llm.Request) (llm.Response, error) { return say(text, calls...) }
}

// stops returns an answer that ends with the given stop reason.
func stops(reason, text string, calls ...llm.Part) handler {
	return func(*llm.Request) (llm.Response, error) {
		res, err := say(text, calls...)
		res.StopReason = reason
		return res, err
	}
}

// A call in which the answer was cut off is not run. The calls before it are run.
func TestCallCutOff(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, turns(
			stops(limitWord[wire], "I write.", call("write_file", `{"path":"a.txt","content":"a"}`), call("write_file", `{"path":"b.txt","content":"half`)),
		), nil)
		if wire == "messages" { // this wire format cannot have an incomplete call
			r = newRig(t, wire, llmtest.Script{}, turns(
				stops(limitWord[wire], "I write.", call("write_file", `{"path":"a.txt","content":"a"}`), call("write_file", `{"path":"b.txt","content":"half"}`)),
			), nil)
		}
		c := r.begin()
		out := r.run(c, "Write two files.")
		if out.End != agent.Done || out.Turns != 2 {
			t.Fatalf("%+v", out)
		}
		if r.get("a.txt") != "a" || r.get("b.txt") == "half" {
			t.Fatalf("a.txt %q, b.txt %q", r.get("a.txt"), r.get("b.txt"))
		}
		if r.in("reached the limit of its length within this call") != 1 {
			t.Fatal(texts(r.sent()))
		}
	})
}

// Text that was cut off is continued, a limited number of times.
func TestTextCutOff(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, turns(stops(limitWord[wire], "First half,"), says("second half.")), nil)
		if out := r.run(r.begin(), "Tell me."); out.Text != "second half." || out.Turns != 2 {
			t.Fatalf("%+v", out)
		}
		r = newRig(t, wire, llmtest.Script{}, stops(limitWord[wire], "On and on"), nil)
		c := r.begin()
		if out := r.run(c, "Tell me."); out.End != agent.CutOff || out.Turns != 4 {
			t.Fatalf("%+v", out)
		}
		// It can be told to continue.
		if out := r.run(c, ""); out.Turns != 4 || r.in("Your last answer was cut off. Go on where it ends.") != 1 {
			t.Fatalf("%+v\n%s", out, texts(r.sent()))
		}
	})
}

// A refusal ends the run, and is stored.
func TestRefused(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, stops(refusedWord[wire], "I will not."), nil)
		c := r.begin()
		out := r.run(c, "Do it.")
		if out.End != agent.Refused || out.Stop != llm.StopRefused || out.Turns != 1 || len(c.State().Messages) != 2 {
			t.Fatalf("%+v", out)
		}
	})
}

// The calls of a refused answer are not run. Each gets a result that says so, because a provider refuses calls without a result.
func TestRefusedCalls(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, turns(
			stops(refusedWord[wire], "I will not.", call("write_file", `{"path":"a.txt","content":"a"}`), call("write_file", `{"path":"b.txt","content":"b"}`)),
		), nil)
		c := r.begin()
		if out := r.run(c, "Do it."); out.End != agent.Refused || out.Turns != 1 || len(r.told(agent.CallEnds)) != 2 {
			t.Fatalf("%+v", out)
		}
		if got := roles(c.State().Messages); got != "user assistant tool tool" || r.get("a.txt") == "a" || r.get("b.txt") == "b" {
			t.Fatalf("%s, a.txt: %q", got, r.get("a.txt"))
		}
		r.run(c, "Something else, then.")
		if r.in("[not run: the answer was not whole.") != 2 {
			t.Fatal(texts(r.sent()))
		}
	})
}

// A turn that the provider paused is sent back unchanged.
func TestPaused(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, turns(stops("pause_turn", "I am looking."), says("Found.")), nil)
	c := r.begin()
	if out := r.run(c, "Look."); out.Text != "Found." || out.Turns != 2 {
		t.Fatalf("%+v", out)
	}
	sent := r.sent().Messages
	if last := sent[len(sent)-1]; last.Role != llm.Assistant || last.Parts[0].Text != "I am looking." {
		t.Fatalf("%+v", last)
	}
}

// An empty answer is not stored as a message. The model is told, and the usage counts.
func TestEmptyAnswer(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, turns(says(""), says("Here.")), nil)
		c := r.begin()
		if out := r.run(c, "Well?"); out.Text != "Here." || out.Turns != 2 {
			t.Fatalf("%+v", out)
		}
		if got := roles(c.State().Messages); got != "user user assistant" {
			t.Fatal(got)
		}
		r = newRig(t, wire, llmtest.Script{}, says(""), nil)
		if out := r.run(r.begin(), "Well?"); out.End != agent.CutOff {
			t.Fatalf("%+v", out)
		}
	})
}

// The model is told what is wrong with a call, so that it can repeat the call correctly.
func TestWrongCalls(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		bad := `{"path":`
		if wire == "messages" {
			bad = `{"input":"x"}` // arguments are an object there
		}
		r := newRig(t, wire, llmtest.Script{}, turns(says("I try.",
			call("no_such_tool", `{}`), call("read_file", bad), call("read_file", `{"path":"a.txt"}`), call("list_files", ""),
		)), nil)
		r.put("a.txt", "alpha\n")
		c := r.begin()
		if out := r.run(c, "Try."); out.End != agent.Done || out.Turns != 2 {
			t.Fatalf("%+v", out)
		}
		var failed, fine int
		for _, m := range c.State().Messages {
			for _, p := range m.Parts {
				switch {
				case p.Kind != llm.ToolResult:
				case p.IsError:
					failed++
				default:
					fine++
				}
			}
		}
		if failed != 2 || fine != 2 {
			t.Fatalf("%d failed, %d did not:\n%s", failed, fine, texts(r.sent()))
		}
	})
}

// The same call with the same result is detected: first the model is told, then the run ends.
func TestLoopGuard(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		n := 0
		r := newRig(t, wire, llmtest.Script{}, func(*llm.Request) (llm.Response, error) {
			n++
			return say("", call("read_file", fmt.Sprintf(`{"path":"%c.txt"}`, 'a'+n%2)))
		}, nil)
		r.put("a.txt", "alpha\n")
		r.put("b.txt", "beta\n")
		out := r.run(r.begin(), "Read.")
		if out.End != agent.Looping || out.Turns < 6 || out.Turns > 12 {
			t.Fatalf("%+v", out)
		}
		if n := len(r.told(agent.Reminded)); n == 0 {
			t.Fatal("the model was not told")
		}
	})
}

// A blank prompt is refused before anything is stored or sent, because providers refuse it.
func TestBlankWords(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, says("Yes."), nil)
	c := r.begin()
	blank := func(parts ...llm.Part) {
		t.Helper()
		if out, err := c.Run(t.Context(), parts, nil); err == nil || !strings.Contains(err.Error(), "blank") || out.End != agent.Failed {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	blank(text(" \n"))
	if c.ID() != "" {
		t.Fatal("a session is stored")
	}
	r.run(c, "Hello.")
	blank(text(""), text("\t"))
	if n := len(r.server.Requests()); n != 1 || roles(c.State().Messages) != "user assistant" {
		t.Fatalf("%d requests, %s", n, roles(c.State().Messages))
	}
}

// The number of requests for one prompt is limited.
func TestMaxTurns(t *testing.T) {
	n := 0
	r := newRig(t, "chat", llmtest.Script{}, func(*llm.Request) (llm.Response, error) {
		n++
		return say("", call("find_files", fmt.Sprintf(`{"pattern":"*%d"}`, n)))
	}, func(a *agent.Agent) { a.MaxTurns = 7 })
	c := r.begin()
	if out := r.run(c, "Find."); out.End != agent.Turns || out.Turns != 7 {
		t.Fatalf("%+v", out)
	}
	// The results are stored, and a Run without a prompt continues.
	if out := r.run(c, ""); out.End != agent.Turns || out.Turns != 7 {
		t.Fatalf("%+v", out)
	}
}

// waitingTools has calls that wait until their context ends.
type waitingTools struct {
	began chan string
	specs []tool.Spec
}

func (p *waitingTools) Specs() []tool.Spec { return p.specs }

func (p *waitingTools) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if string(c.Arguments) == `{"quick":true}` {
		return tool.Result{CallID: c.ID, Text: "quick"}, nil
	}
	p.began <- c.ID
	<-ctx.Done()
	return tool.Result{}, ctx.Err()
}

// After an interruption, all messages are stored and every call has a result. The next prompt continues from there.
func TestInterruptedCalls(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		tools := &waitingTools{began: make(chan string, 3), specs: []tool.Spec{{Name: "wait", Schema: json.RawMessage(`{"type":"object"}`)}}}
		r := newRig(t, wire, llmtest.Script{}, turns(says("I wait.",
			call("wait", `{"quick":true}`), call("wait", `{"n":1}`), call("wait", `{"n":2}`), call("wait", `{"n":3}`),
		), says("I go on.")), func(a *agent.Agent) { a.Tools, a.Parallel = tools, 2 })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-tools.began
			cancel()
		}()
		c := r.begin()
		if out, err := r.try(ctx, c, "Wait."); !errors.Is(err, context.Canceled) || out.End != agent.Failed {
			t.Fatalf("%+v, %v", out, err)
		}
		results := 0
		for _, m := range r.resume(c.ID()).State().Messages {
			if m.Role == llm.Tool {
				results += len(m.Parts)
			}
		}
		if results != 4 {
			t.Fatalf("%d results are stored, of 4 calls", results)
		}
		if out := r.run(c, "Well?"); out.Text != "I go on." {
			t.Fatalf("%+v", out)
		}
		if r.in("the person interrupted") == 0 || r.in("quick\n") != 1 {
			t.Fatal(texts(r.sent()))
		}
	})
}

// The part of an interrupted answer that arrived is stored.
func TestInterruptedAnswer(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, turns(says(strings.Repeat("many words ", 50)), says("I go on.")), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.server.Fail(llmtest.Fault{PauseAfter: 5, Pause: 3600e9})
		c := r.begin()
		_, err := c.Run(ctx, []llm.Part{{Text: "Talk."}}, func(e agent.Event) {
			if e.Kind == agent.Piece && e.Piece.Kind == llm.TextDelta && e.Piece.Text != "" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := roles(c.State().Messages); got != "user assistant system" {
			t.Fatal(got)
		}
		c = r.resume(c.ID())
		if out := r.run(c, ""); out.Text != "I go on." {
			t.Fatalf("%+v", out)
		}
		if r.in("many words") == 0 || r.in("Your last answer was cut off") != 1 {
			t.Fatal(texts(r.sent()))
		}
		if out, err := c.Run(t.Context(), nil, nil); err != nil || out.Turns != 0 {
			t.Fatalf("nothing was left to do: %+v, %v", out, err)
		}
	})
}

// An answer that breaks off in its reasoning or in a call has no part that could be sent back. The same request is sent again, a
// few times, and the usage counts.
func TestAnswerBreaksOff(t *testing.T) {
	long := call("write_file", `{"path":"a.txt","content":"`+strings.Repeat("many words ", 50)+`"}`)
	for _, faults := range []int{1, 4} {
		overWires(t, func(t *testing.T, wire string) {
			r := newRig(t, wire, llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
				if strings.Contains(texts(req), "tool: ") {
					return say("Written.")
				}
				return say("", long)
			}, nil)
			for range faults {
				r.server.Fail(llmtest.Fault{CutAfter: 8})
			}
			c := r.begin()
			out, err := r.try(t.Context(), c, "Write.")
			if faults > 3 {
				if !errors.Is(err, llm.ErrBroken) || len(r.server.Requests()) != 4 {
					t.Fatalf("%d requests: %v", len(r.server.Requests()), err)
				}
				return
			}
			if err != nil || out.Text != "Written." || r.get("a.txt") == "" || len(r.server.Requests()) != 3 {
				t.Fatalf("%+v, %v", out, err)
			}
			if got := roles(c.State().Messages); got != "user assistant tool assistant" {
				t.Fatal(got)
			}
			if first := len(c.State().Paid) - 2; wire == "messages" && (first != 1 || out.Usage.Prompt() != c.Spent().Usage.Prompt()) {
				t.Fatalf("the answer that broke off is not paid: %+v", c.State().Paid)
			}
		})
	}
}

// The usage of an answer that a person interrupts during its thinking is counted.
func TestInterruptedThought(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{Turns: []llmtest.Turn{{Thinking: strings.Repeat("let me see ", 50), Text: "Yes."}}}, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.server.Fail(llmtest.Fault{PauseAfter: 5, Pause: 3600e9})
	c := r.begin()
	out, err := c.Run(ctx, []llm.Part{{Text: "Think."}}, func(e agent.Event) {
		if e.Kind == agent.Piece && e.Piece.Kind == llm.ThinkingDelta {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || out.Usage.Prompt() == 0 || c.Spent().Usage != out.Usage || r.resume(c.ID()).Spent().Usage != out.Usage {
		t.Fatalf("%v: the run used %+v, the conversation %+v", err, out.Usage, c.Spent().Usage)
	}
}

// A process ended between a call and its result. The call is not run again, and the model is told that it may have been
// done.
func TestOutcomeUnknown(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, says("I look."), nil)
		ses, err := session.Create(t.Context(), r.store, session.Opening{Dir: r.dir},
			session.Message{Role: llm.User, Parts: []llm.Part{{Text: "Write."}}},
			session.Message{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.ToolCall, CallID: "c1", Name: "write_file", Args: `{"path":"a.txt","content":"a"}`},
				{Kind: llm.ToolCall, CallID: "c2", Name: "write_file", Args: `{"path":"b.txt","content":"b"}`},
			}},
			session.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c1", Text: "written"}}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if out := r.run(r.resume(ses.ID()), ""); out.Text != "I look." {
			t.Fatalf("%+v", out)
		}
		if r.in("written") != 1 || r.in("Whether the call was done is not known") != 1 || r.get("b.txt") == "b" {
			t.Fatal(texts(r.sent()))
		}
	})
}

// A call is not run again after a person rewound to before its result, in this process, another process or a fork. The model is
// told why there is no result.
func TestRewoundResult(t *testing.T) {
	for _, way := range []string{"here", "resumed", "forked"} {
		t.Run(way, func(t *testing.T) {
			r := newRig(t, "messages", llmtest.Script{}, turns(
				says("I read.", call("read_file", `{"path":"a.txt"}`), call("read_file", `{"path":"b.txt"}`)), says("Read."), says("I look."),
			), nil)
			r.put("a.txt", "alpha\n")
			r.put("b.txt", "beta\n")
			c := r.begin()
			r.run(c, "Read.")
			st := c.State()
			at := st.Marks[2] // the first of the results
			switch way {
			case "forked":
				f, err := c.Fork(t.Context(), at)
				if err != nil {
					t.Fatal(err)
				}
				c = f
			default:
				if err := c.Rewind(t.Context(), at); err != nil {
					t.Fatal(err)
				}
				if way == "resumed" {
					c = r.resume(c.ID())
				}
			}
			r.run(c, "")
			if r.in("[no result: the person went back to before it was there.") != 1 || r.in("the program ended") != 0 {
				t.Fatal(texts(r.sent()))
			}
			if n := roles(c.State().Messages); n != "user assistant tool tool assistant" {
				t.Fatal(n)
			}
		})
	}
}

// When another process continues the session, this one stores nothing in it.
func TestContinuedElsewhere(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{}, says("Yes."), nil)
	a := r.begin()
	r.run(a, "One.")
	b := r.resume(a.ID())
	r.run(b, "Two.")
	_, err := r.try(t.Context(), a, "Three.")
	if !errors.Is(err, session.ErrStale) || !strings.Contains(err.Error(), "is open in another process (since ") ||
		!strings.Contains(err.Error(), "nothing was stored") || len(r.list()) != 1 {
		t.Fatalf("%v", err)
	}
	// A title does not count as a message.
	other, err := session.Resume(t.Context(), r.store, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Append(t.Context(), session.Title("numbers")); err != nil {
		t.Fatal(err)
	}
	r.run(b, "Four.")
	// The session is where the other conversation is, also after a rewind there.
	if err := b.Rewind(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if _, err := r.try(t.Context(), a, "Five."); !errors.Is(err, session.ErrStale) {
		t.Fatalf("%v", err)
	}
	r.run(a, "Six.")
	if got := roles(a.State().Messages); got != "user assistant user assistant" {
		t.Fatal(got)
	}
	b = r.resume(a.ID())
	if got := b.State(); got.Title != "numbers" || roles(got.Messages) != "user assistant user assistant" {
		t.Fatalf("%q: %s", got.Title, roles(got.Messages))
	}
}

// Another process compacts the session: this one is told, and continues with the newest session. Usage is counted once.
func TestCompactedElsewhere(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
		if asksForSummary(req) {
			return say("Numbers.")
		}
		return say(strings.Repeat("Yes, so it is. ", 50))
	}, nil)
	a := r.begin()
	r.run(a, "One.")
	b := r.resume(a.ID())
	if err := b.Compact(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.try(t.Context(), a, "Two."); !errors.Is(err, session.ErrStale) {
		t.Fatal(err)
	}
	r.events = nil
	r.run(a, "Two.")
	if moved := r.told(agent.Compacted); a.ID() != b.ID() || len(moved) != 1 || moved[0].To != b.ID() {
		t.Fatalf("%s goes on, not %s: %+v", b.ID(), a.ID(), moved)
	}
	if got, want := a.Spent(), r.resume(a.ID()).Spent(); got != want || len(r.list()) != 2 {
		t.Fatalf("%+v is spent, %+v by the store; %d sessions", got, want, len(r.list()))
	}
	if r.in("Numbers.") != 1 || r.in("One.") != 0 || r.in("Two.") != 1 {
		t.Fatal(texts(r.sent()))
	}
}

// When another process continues or compacts the session, this process's messages are kept in a fork.
func TestKeptInFork(t *testing.T) {
	for _, way := range []string{"says", "compacts"} {
		t.Run(way, func(t *testing.T) {
			var r *rig
			var c *agent.Conversation
			r = newRig(t, "messages", llmtest.Script{}, turns(says("Yes."), func(*llm.Request) (llm.Response, error) {
				other, err := session.Resume(context.Background(), r.store, c.ID())
				if err != nil {
					return llm.Response{}, err
				}
				words := session.Message{Role: llm.User, Parts: []llm.Part{{Text: "Something else."}}}
				if way == "compacts" {
					_, err = other.Compact(context.Background(), words)
				} else {
					err = other.Append(context.Background(), session.Title("other"), words)
				}
				if err != nil {
					return llm.Response{}, err
				}
				return say("I wrote a poem.")
			}), nil)
			c = r.begin()
			r.run(c, "One.")
			id := c.ID()
			_, err := r.try(t.Context(), c, "Two.")
			if !errors.Is(err, session.ErrStale) {
				t.Fatal(err)
			}
			forks, listed := r.store.List(t.Context(), session.Query{Parent: id})
			forks = slices.DeleteFunc(forks, func(i session.Info) bool { return i.From.Relation != session.Forked })
			if listed != nil || len(forks) != 1 || !strings.Contains(err.Error(), "is kept in session "+forks[0].ID) {
				t.Fatalf("%+v, %v", forks, err)
			}
			f := session.FoldEvents(forks[0].ID, r.stored(forks[0].ID))
			if got := roles(f.Messages); got != "user assistant user assistant" || f.Messages[3].Parts[0].Text != "I wrote a poem." {
				t.Fatal(got)
			}
		})
	}
}
