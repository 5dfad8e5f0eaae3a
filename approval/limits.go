package approval

import (
	"fmt"
	"time"

	"github.com/stet-dev/stet/internal/ratelimit"
	"github.com/stet-dev/stet/tool"
)

// Limits of a token over all its client sessions. A client chooses the names of its sessions, so a limit of one session does not
// limit a client. (FILE-10)
const (
	TokenSessions  = 10 // calls in a minute, as a multiple of one session's limit
	TokenQuestions = 64 // questions that wait for a person at once
)

// ManyQuestions is the message for a call whose question would exceed the limit.
var ManyQuestions = fmt.Sprintf("%d calls with this token wait for a person already. Wait for their answers.", TokenQuestions)

// perMinute returns the limit of a session's calls in a minute; below 0: no limit.
func (h *Handler) perMinute() int {
	if h.Rate == 0 {
		return 100
	}
	return h.Rate
}

// account counts the calls and questions of a token over all its client sessions.
type account struct {
	limiter *ratelimit.Limiter
	asking  int // open questions; guarded by Handler.mu
}

// account returns the account of a token. A caller without a token has an account without limits.
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

// checkRate counts a call against the limits of its session and its token. Of consecutive refused calls only the first is recorded;
// the next accepted call records their number. So refused calls do not fill the trail. (FILE-10)
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

// beginAsking counts an open question of a token, and reports whether it may be asked. The caller calls done when the question
// ends.
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
