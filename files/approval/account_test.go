package approval_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// A token's calls and questions are counted over all its sessions. (FILE-10)
func TestTokenLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t)
		h.file("a.txt", "one\n", 0o644)
		let := func(account string) (n int) {
			for session := range 40 {
				for range 30 {
					c := call(fmt.Sprint(account, session), "get", "a.txt", "")
					c.Account = account
					if res := h.run(c); !res.Failed() {
						n++
					} else if res.Code != tool.RateLimited {
						t.Fatalf("%+v", res)
					}
				}
			}
			return n
		}
		if n := let("one"); n != 100*limits.TokenSessions {
			t.Errorf("%d calls", n)
		}
		if n := let(""); n != 1200 {
			t.Errorf("%d calls without a token", n)
		}
		var asked []*pending
		for session := range 40 {
			for n := range 12 {
				c := call(fmt.Sprint("other", session), "put", fmt.Sprint(session, "-", n), "x")
				c.Account = "other"
				asked = append(asked, h.start(t.Context(), c))
			}
		}
		synctest.Wait()
		open := h.queue.Open()
		if len(open) != limits.TokenQuestions {
			t.Errorf("%d questions are open", len(open))
		}
		for _, q := range open {
			h.answer(q, approval.Answer{Verdict: approval.Reject})
		}
		limited := 0
		for _, p := range asked {
			if h.wait(p).Code == tool.RateLimited {
				limited++
			}
		}
		if limited != 480-limits.TokenQuestions {
			t.Errorf("%d were refused", limited)
		}
		c := call("other", "put", "last", "x")
		c.Account = "other"
		p := h.start(t.Context(), c)
		synctest.Wait()
		if len(h.queue.Open()) != 1 {
			t.Error("there is no room again")
		}
		h.answer(h.queue.Open()[0], approval.Answer{Verdict: approval.Reject})
		h.wait(p)
	})
}
