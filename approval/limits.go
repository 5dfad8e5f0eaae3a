package approval

import (
	"fmt"
	"time"

	"github.com/stet-dev/stet/internal/ratelimit"
	"github.com/stet-dev/stet/tool"
)

// What a token may use up in all of its client sessions together. A client chooses
// its sessions' names, so that a limit for a session alone stops no caller. (FILE-10)
const (
	TokenSessions  = 10 // times the calls a minute of one session
	TokenQuestions = 64 // that wait for a person at once
)

// ManyQuestions is what a call is told that would be one question too many.
var ManyQuestions = fmt.Sprintf("%d calls with this token wait for a person already. Wait for their answers.", TokenQuestions)

// perMinute is how many calls a session may make; below 0: any number.
func (h *Handler) perMinute() int {
	if h.Rate == 0 {
		return 100
	}
	return h.Rate
}

// account is what the client sessions of one token have used up together.
type account struct {
	limiter *ratelimit.Limiter
	asking  int // questions that are open; guarded by Handler.mu
}

// account is that of a token. A caller without a token has one of its own, without
// limits.
func (h *Handler) account(token string) *account {
	if token == "" {
		return &account{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.accounts[token]
	if a == nil {
		a = &account{limiter: ratelimit.New(h.perMinute() * TokenSessions)}
		if h.accounts == nil {
			h.accounts = map[string]*account{}
		}
		h.accounts[token] = a
	}
	return a
}

// checkRate counts a call against the limits of its session and of its token. Of
// calls in a row that come too soon only the first is recorded, and the call after
// them says how many there were: what is refused must not fill the trail. (FILE-10)
func (r *run) checkRate(now time.Time) error {
	wait, before := r.s.limiter.Take(now)
	if wait == 0 {
		var others int
		wait, others = r.h.account(r.c.Account).limiter.Take(now)
		before = max(before, others)
	}
	switch {
	case wait > 0:
		return &refused{
			decision: "refused", by: "rate limit", code: tool.RateLimited, unrecorded: before > 0,
			message: fmt.Sprintf("Too many calls in a minute. Try again in %.1f s.", wait.Seconds()),
		}
	case before > 1:
		r.flags = append(r.flags, fmt.Sprintf("after %d over the rate limit", before))
	}
	return nil
}

// beginAsking counts an open question of a token, and reports whether it may be
// asked. The question is over with done.
func (h *Handler) beginAsking(token string) (done func(), ok bool) {
	a := h.account(token)
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.asking >= TokenQuestions {
		return nil, false
	}
	a.asking++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		a.asking--
	}, true
}
