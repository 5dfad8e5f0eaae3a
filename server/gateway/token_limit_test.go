package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// answerAll lets the host answer every call at once.
func answerAll(t *testing.T, h *Hub) {
	host := rawHost(t, h)
	go func() {
		for {
			b, err := host.c.read()
			if err != nil {
				return
			}
			if f, err := wire.Decode(b); err == nil && wire.CallOf(f) != "" {
				host.result(wire.CallOf(f), `{}`)
			}
		}
	}()
}

// By default a session makes 100 calls in a minute, and no more. (FILE-10)
func TestUsualRate(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		answerAll(t, h)
		call := func(code tool.Code, says string) {
			t.Helper()
			begin(ctx, h.Caller("w"), tool.Call{Session: "a", Name: "read_file"}).wait(t, code, says)
		}
		for range 100 {
			call("", "{}")
		}
		call(tool.RateLimited, "Try again in 60.0 s.")
		time.Sleep(time.Minute)
		call("", "{}")
	})
}

// The calls of a token are counted over all its sessions. (FILE-10)
func TestRateOfToken(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		answerAll(t, h)
		let := func(account string) (n int) {
			for session := range 40 {
				for range 30 {
					f := begin(ctx, h.Caller("w"), tool.Call{Session: fmt.Sprint(account, session), Account: account, Name: "read_file"})
					if <-f.done; f.res.Code == "" {
						n++
					} else if f.res.Code != tool.RateLimited {
						t.Fatalf("%+v", f.res)
					}
				}
			}
			return n
		}
		if n := let("one"); n != 100*limits.TokenSessions {
			t.Errorf("%d calls", n)
		}
		if n := let("other"); n != 100*limits.TokenSessions {
			t.Errorf("%d calls of another token", n)
		}
		if n := let(""); n != 1200 {
			t.Errorf("%d calls of this process", n)
		}
	})
}

// The questions of a token are counted over all its sessions. Questions above the limit are withdrawn, and their calls end.
// (FILE-10)
func TestQuestionsOfToken(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanCancel)
		ask := func(n int) (*future, string) {
			f := begin(ctx, h.Caller("w"), tool.Call{Session: fmt.Sprint("s", n), Account: "one", Name: "write_file"})
			id := want[*wire.ToolCall](host).CallID
			host.send(&wire.ToolResult{CallID: id, NeedsConfirmation: true})
			return f, id
		}
		var open []*future
		var ids []string
		for n := range limits.TokenQuestions {
			f, id := ask(n)
			open, ids = append(open, f), append(ids, id)
		}
		over, id := ask(1000)
		if c := want[*wire.Cancel](host); c.CallID != id {
			t.Errorf("%+v", c)
		}
		host.send(&wire.ToolResult{CallID: id, Error: "cancelled"})
		over.wait(t, tool.RateLimited, "wait for a person already")
		host.result(ids[0], `{}`) // there is room for one question again
		open[0].wait(t, "", "{}")
		last, id := ask(1001)
		synctest.Wait()
		host.result(id, `{}`)
		last.wait(t, "", "{}")
		for i, f := range open[1:] {
			host.result(ids[i+1], `{}`)
			f.wait(t, "", "{}")
		}
		for range limits.TokenQuestions {
			if _, ok := h.config.Tokens.Ask("one"); !ok {
				t.Fatal("ended questions are still counted")
			}
		}
	})
}

// If a token has as many open questions as it may have, a further one is not shown to any person, neither at the host nor at a
// gateway. (FILE-10)
func TestQuestionsOfTokenAreNotShown(t *testing.T) {
	for _, own := range []bool{false, true} {
		bus, queue := new(Local), new(approval.Queue)
		bubble(t, Config{Queue: queue, Bus: bus, Limits: Limits{Rate: -1}}, func(t *testing.T, h *Hub, _ *logged) {
			there, _ := newHub(t, Config{Queue: new(approval.Queue), Bus: bus, Limits: Limits{Rate: -1}})
			relay := Relay{}
			if own {
				queue = new(approval.Queue)
				relay.Next = queue
			}
			b := newBench(t, relay, policy.Policy{})
			defer board(t, h, "host-a").host(b.handler)()
			time.Sleep(2 * beatEvery)
			sub := queue.Subscribe()
			defer sub.Close()
			var all []*future
			for n := range limits.TokenQuestions + 10 {
				args := json.RawMessage(fmt.Sprintf(`{"path":"%d.txt","content":"x"}`, n))
				all = append(all, begin(ctx, there.Caller("w"), tool.Call{Session: fmt.Sprint("s", n), Account: "one", Name: "write_file", Arguments: args}))
				synctest.Wait()
			}
			if n := len(queue.Open()); n != limits.TokenQuestions {
				t.Errorf("own %v: %d are open", own, n)
			}
			for _, q := range queue.Open() {
				if err := queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}); err != nil {
					t.Error(err)
				}
			}
			for n, f := range all {
				if n < limits.TokenQuestions {
					f.wait(t, "", `"success":true`)
				} else {
					f.wait(t, tool.RateLimited, "wait for a person already")
				}
			}
			shown := 0
			for {
				short, done := context.WithTimeout(ctx, time.Second)
				e, err := sub.Next(short)
				done()
				if err != nil {
					break
				}
				if e.Opened != nil {
					shown++
				}
			}
			if shown != limits.TokenQuestions {
				t.Errorf("own %v: %d were shown", own, shown)
			}
		})
	}
}
