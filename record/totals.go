package record

import "time"

// Totals are sums over requests.
type Totals struct {
	Requests      int // without CountTokens
	Conversations int
	Observed      int // of Requests, those that went out untouched under observe
	Errors        int // of Requests, with a status of 400 and above, or none
	Passed        int // of Requests, those for which no plan was made
	Cut           int

	BytesIn, BytesOut int64
	TokensOff, Tokens int // Tokens counts a plan that was only observed as if it had been sent
	Usage             Usage
	Reads, Repeats    int
	Dangling, Trimmed int // per request: a result shortened in ten requests counts ten times
	Added             time.Duration
}

// Add counts r in. Conversations is the caller's to count.
func (t *Totals) Add(r Request) {
	if r.API == CountTokens {
		return
	}
	t.Requests++
	t.Observed += count(r.Observe)
	t.Errors += count(r.Status == 0 || r.Status >= 400)
	t.Passed += count(r.Passed != "")
	t.Cut += count(r.Cut)
	t.BytesIn += r.BytesIn
	t.BytesOut += r.BytesOut
	t.TokensOff += r.TokensOff
	t.Tokens += r.Tokens
	t.Usage = t.Usage.Add(r.Usage)
	t.Reads += r.Reads
	t.Repeats += r.Repeats
	t.Dangling += r.Dangling
	t.Trimmed += r.Trimmed
	t.Added += r.Added
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Conversation sums up one conversation. Of a row that changes between its
// requests (model, client, …) it has the newest.
type Conversation struct {
	ID                 string
	Client, API, Model string
	Upstream, Policy   string
	First, Last        time.Time
	Totals             // Conversations is 1
}

// Add counts r, a request of this conversation, in. Requests are added in the
// order of their time.
func (c *Conversation) Add(r Request) {
	if c.First.IsZero() || r.Time.Before(c.First) {
		c.First = r.Time
	}
	if !r.Time.Before(c.Last) {
		c.Last = r.Time
	}
	c.Totals.Conversations = 1
	if r.API == CountTokens {
		return
	}
	c.ID, c.Client, c.API, c.Model = r.Conversation, r.Client, r.API, r.Model
	c.Upstream, c.Policy = r.Upstream, r.Policy
	c.Totals.Add(r)
}
