package proxy

import (
	"maps"

	"github.com/stet-dev/stet/record"
)

// maxThrough is the largest number of paths that Totals.Through counts separately.
const maxThrough = 20

// OtherPaths is the key of Totals.Through for all paths beyond maxThrough.
const OtherPaths = "other paths"

// Totals are sums over the work of a [Proxy] since its start.
type Totals struct {
	Requests      int            // requests to models, without token counting and without requests passed through
	ByAPI         map[string]int // the same by record.Request.API, and also record.CountTokens
	Conversations int            // conversations of these Requests
	Errors        int            // Requests with a status of 400 and above, or without an answer

	// Passed counts the Requests without a plan, by cause (docs/proxy.md lists them). All but the "incomplete" went untouched.
	Passed map[string]int
	// Through counts requests to no known API by path, without the query: the first 20 paths, and the rest under OtherPaths.
	Through map[string]int

	// TokensOff is the estimated size of all prompts as the clients sent them, and Tokens as planned. With Config.Observe, plans count
	// as if they had been sent.
	TokensOff, Tokens int
	Usage             record.Usage // as the providers reported it
	// USD is what these requests cost, and Saved what they would have cost more with all that was left out; not those of Unpriced requests,
	// whose price is not known.
	USD, Saved float64
	Unpriced   int
	// Unknown counts requests with members of usage that stet does not know, by their names: at most maxThrough of them.
	Unknown map[string]int

	// Reads are successful reads of files, each counted once. Each conversation adds the largest number that one of its requests had.
	Reads int
	// Shortened counts shortened results by reason (record.Trim.Reason). Each result counts once, however many requests contain it.
	Shortened map[string]int
	// Moments counts requests that were planned again because the provider's cache was assumed to be cold, by reason
	// (record.Cache.Moment). Alive counts those whose answer showed that the cache was warm.
	Moments map[string]int
	Alive   int
	// Newest is the newest request of an agent itself, not of a sub-agent, that has usage; the zero value: there is none.
	Newest record.Request
	// Bound: a conversation was shortened before thinking that the provider checks. The provider may refuse it
	// when it is continued without stet.
	Bound bool
}

// add counts a request and its new trims.
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
	if row.Agent == "" && row.Usage.Prompt() > 0 && row.Time.After(t.Newest.Time) {
		t.Newest = *row
	}
}

// answered counts what a request cost, and the members of its usage that are not known.
func (t *Totals) answered(b bill, names []string) {
	t.USD += b.usd
	t.Saved += b.saved
	if !b.known {
		t.Unpriced++
	}
	for _, name := range names {
		if t.Unknown[name] > 0 || len(t.Unknown) < maxThrough {
			increase(&t.Unknown, name)
		}
	}
}

// through counts a request to no known API.
func (t *Totals) through(path string) {
	if path = clip(path, 200); t.Through[path] == 0 && len(t.Through) >= maxThrough {
		path = OtherPaths
	}
	increase(&t.Through, path)
}

// Add returns the sums of t and of the totals of another proxy.
func (t Totals) Add(more Totals) Totals {
	out := t.clone()
	for _, m := range []struct{ to, from *map[string]int }{
		{&out.ByAPI, &more.ByAPI}, {&out.Passed, &more.Passed}, {&out.Through, &more.Through}, {&out.Unknown, &more.Unknown},
		{&out.Shortened, &more.Shortened}, {&out.Moments, &more.Moments},
	} {
		for key, n := range *m.from {
			if *m.to == nil {
				*m.to = map[string]int{}
			}
			(*m.to)[key] += n
		}
	}
	out.Requests += more.Requests
	out.Conversations += more.Conversations
	out.Errors += more.Errors
	out.TokensOff += more.TokensOff
	out.Tokens += more.Tokens
	out.Usage = out.Usage.Add(more.Usage)
	out.USD += more.USD
	out.Saved += more.Saved
	out.Unpriced += more.Unpriced
	out.Reads += more.Reads
	out.Alive += more.Alive
	out.Bound = out.Bound || more.Bound
	if more.Newest.Time.After(out.Newest.Time) {
		out.Newest = more.Newest
	}
	return out
}

func (t *Totals) clone() Totals {
	out := *t
	out.ByAPI, out.Passed = maps.Clone(t.ByAPI), maps.Clone(t.Passed)
	out.Moments, out.Unknown = maps.Clone(t.Moments), maps.Clone(t.Unknown)
	out.Through, out.Shortened = maps.Clone(t.Through), maps.Clone(t.Shortened)
	return out
}

func increase(m *map[string]int, key string) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key]++
}
