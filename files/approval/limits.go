package approval

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// limits sets the limits of calls and questions, once.
func (h *Handler) limits() (*limits.Rates, *limits.Tokens) {
	h.counting.Do(func() {
		if h.tokens = h.Tokens; h.tokens == nil {
			h.tokens = new(limits.Tokens)
		}
		h.rates.PerMinute, h.rates.Tokens = cmp.Or(h.Rate, 100), h.tokens
	})
	return &h.rates, h.tokens
}

// checkRate counts a call against the limits of its session and its token. Of consecutive refused calls only the first is recorded;
// the next accepted call records their number. So refused calls do not fill the trail.
func (r *run) checkRate(now time.Time) error {
	rates, _ := r.h.limits()
	wait, before := rates.Take(r.s.name, r.c.Account, now)
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
