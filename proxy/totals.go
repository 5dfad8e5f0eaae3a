package proxy

import (
	"maps"

	"github.com/stet-dev/stet/record"
)

// maxThrough is how many paths Totals.Through tells apart.
const maxThrough = 20

// OtherPaths is the key of Totals.Through under which all paths count that came
// when there were too many already.
const OtherPaths = "other paths"

// Totals are sums over what a [Proxy] did since its start.
type Totals struct {
	Requests      int            // to models: without counting of tokens, and without what was passed through
	ByAPI         map[string]int // the same by record.Request.API, and those under record.CountTokens
	Conversations int            // in which Requests were
	Errors        int            // of Requests, with a status of 400 and above, or without an answer

	// Passed counts, of Requests, those that no plan was made for, by cause
	// (docs/proxy.md lists them). All but the "incomplete" went untouched.
	Passed map[string]int
	// Through counts requests that are to no API by their paths, without
	// query: the first 20 paths, and the rest under OtherPaths.
	Through map[string]int

	// TokensOff is the estimated size of all prompts as the clients sent them,
	// Tokens as they were planned. A plan that was only observed counts as if
	// it had been sent.
	TokensOff, Tokens int
	Usage             record.Usage // as the providers reported it

	// Reads are successful reads of files, each counted once: the most that
	// any request of a conversation had, summed over the conversations.
	Reads int
	// Shortened counts results that were shortened by reason (record.Trim.Reason),
	// each once, in however many requests it stood.
	Shortened map[string]int
	// Moments counts requests that were planned again because the provider's cache was assumed to be cold, by reason
	// (record.Cache.Moment). Alive counts those of them whose answer showed that it was warm.
	Moments map[string]int
	Alive   int
	// Bound: a conversation was shortened before thinking that the provider checks. It may be refused
	// when it is continued without stet.
	Bound bool
}

// add counts a request in, and the trims that are new with it.
func (t *Totals) add(row *record.Request, fresh []record.Trim) {
	increase(&t.ByAPI, row.API)
	for i := range fresh {
		increase(&t.Shortened, fresh[i].Reason)
	}
	if row.API == record.CountTokens {
		return
	}
	t.Requests++
	if row.Status == 0 || row.Status >= 400 {
		t.Errors++
	}
	if row.Passed != "" {
		increase(&t.Passed, row.Passed)
	}
	if row.Cache.Moment != "" {
		increase(&t.Moments, row.Cache.Moment)
	}
	if row.Cache.Alive {
		t.Alive++
	}
	t.TokensOff += row.TokensOff
	t.Tokens += row.Tokens
	t.Usage = t.Usage.Add(row.Usage)
}

// through counts a request to no API in.
func (t *Totals) through(path string) {
	if path = clip(path, 200); t.Through[path] == 0 && len(t.Through) >= maxThrough {
		path = OtherPaths
	}
	increase(&t.Through, path)
}

func (t *Totals) clone() Totals {
	out := *t
	out.ByAPI, out.Passed = maps.Clone(t.ByAPI), maps.Clone(t.Passed)
	out.Moments = maps.Clone(t.Moments)
	out.Through, out.Shortened = maps.Clone(t.Through), maps.Clone(t.Shortened)
	return out
}

func increase(m *map[string]int, key string) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key]++
}
