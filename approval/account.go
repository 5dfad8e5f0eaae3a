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

// account is what the client sessions of one token have used up together.
type account struct {
	limiter *ratelimit.Limiter
	asking  int // questions that are open
}

// account is that of a call; nil if its caller has no token. The caller holds mu.
func (h *Handler) account(name string) *account {
	if name == "" {
		return nil
	}
	a := h.accounts[name]
	if a == nil {
		a = &account{limiter: ratelimit.New(perMinute(h.Rate) * TokenSessions)}
		if h.accounts == nil {
			h.accounts = map[string]*account{}
		}
		h.accounts[name] = a
	}
	return a
}

// perMinute is how many calls a session may make; 0: any number.
func perMinute(n int) int {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return 100
	}
	return n
}

// admit counts a call of a token, and returns how long to wait where it is over the
// limit.
func (h *Handler) admit(c tool.Call, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.account(c.Account)
	if a == nil {
		return 0
	}
	wait, _ := a.limiter.Take(now)
	return wait
}

// admit counts a call against the limits of its session and its token, and returns
// how long to wait where it is over one of them. (FILE-10)
func (r *run) admit(now time.Time) time.Duration {
	if wait := r.s.admit(perMinute(r.h.Rate), now, r); wait > 0 {
		return wait
	}
	return r.h.admit(r.c, now)
}

// beginAsking counts a question of a token, and reports whether it may be asked. It
// is over with done.
func (h *Handler) beginAsking(c tool.Call) (done func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.account(c.Account)
	if a == nil {
		return func() {}, true
	}
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
