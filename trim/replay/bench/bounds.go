package bench

import (
	"cmp"
	"context"
	"slices"

	"github.com/stet-dev/stet/trim/replay"
)

// Release says that a request, and those after it, do without some tokens of a part. By releases a bound is told: a cost that no
// policy of its kind can go below. What is released is free from then on, breaks no cache, and needs no placeholder.
type Release struct{ Request, Part, Tokens int }

// Bounded bills the session without what is released.
func Bounded(ctx context.Context, r *replay.Replay, releases []Release, rules []replay.Rule, exact bool) (replay.Outcome, error) {
	slices.SortStableFunc(releases, func(a, b Release) int { return cmp.Compare(a.Request, b.Request) })
	var caches []replay.Cache
	for _, rule := range rules {
		caches = append(caches, replay.Cache{Rule: rule.Rule, Exact: exact && !rule.Recorded, Recorded: rule.Recorded})
	}
	sender := r.NewSender(caches...)
	sender.Free = make([]int, len(r.Parts))
	out := replay.Outcome{Cost: make(map[string]float64)}
	for i := range r.Requests {
		if err := ctx.Err(); err != nil {
			return replay.Outcome{}, err
		}
		for ; len(releases) > 0 && releases[0].Request <= i; releases = releases[1:] {
			sender.Free[releases[0].Part] += releases[0].Tokens
		}
		out.Add(sender.Send(i, nil), rules)
	}
	out.Edits.Supported = r.Index().EditCount()
	return out, nil
}
