package approval

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// TokenQuestions is the limit of a token's questions that wait for a person at once, over all its client sessions. (FILE-10)
const TokenQuestions = 64

// ManyQuestions is the message for a call whose question would exceed the limit.
var ManyQuestions = fmt.Sprintf("%d calls with this token wait for a person already. Wait for their answers.", TokenQuestions)

// checkRate counts a call against the limits of its session and its token. Of consecutive refused calls only the first is recorded;
// the next accepted call records their number. So refused calls do not fill the trail. (FILE-10)
func (r *run) checkRate(now time.Time) error {
	r.h.counting.Do(func() { r.h.rates.PerMinute = cmp.Or(r.h.Rate, 100) })
	wait, before := r.h.rates.Take(r.s.name, r.c.Account, now)
	switch {
	case wait > 0:
		return &refused{
			decision: "refused", by: "rate limit", code: tool.RateLimited, unrecorded: before > 0,
			message: limits.TooMany(wait),
		}
	case before > 1:
		r.flags = append(r.flags, fmt.Sprintf("after %d over the rate limit", before))
	}
	return nil
}

// beginAsking counts an open question of a token, and reports whether it may be asked. The caller calls done when the question
// ends.
func (h *Handler) beginAsking(token string) (done func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if token != "" && h.asking[token] >= TokenQuestions {
		return nil, false
	}
	if h.asking == nil {
		h.asking = map[string]int{}
	}
	h.asking[token]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.asking[token]--; h.asking[token] == 0 {
			delete(h.asking, token)
		}
	}, true
}
