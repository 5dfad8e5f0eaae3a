package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/record"
)

// Conversation has the proxy's record of a conversation.
type Conversation struct {
	ID        string    `json:"id"`
	Client    string    `json:"client,omitempty"`
	Model     string    `json:"model"` // of its newest request
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Requests  int       `json:"requests"`
	TokensOff int       `json:"tokens_off"` // estimated prompt tokens of all requests as the client sent them
	Tokens    int       `json:"tokens"`     // the same as they were sent upstream
}

// Request is a request of a conversation, and what was left out of it.
type Request struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Agent     string    `json:"agent,omitempty"` // a sub-agent's name
	Model     string    `json:"model"`
	Status    int       `json:"status"`
	Policy    string    `json:"policy"`
	Observe   bool      `json:"observe,omitempty"` // only planned; everything was sent
	Passed    string    `json:"passed,omitempty"`  // why there was no plan
	BytesIn   int64     `json:"bytes_in"`
	BytesOut  int64     `json:"bytes_out"`
	TokensOff int       `json:"tokens_off"`
	Tokens    int       `json:"tokens"`
	Used      Tokens    `json:"used"`
	USD       *float64  `json:"usd,omitempty"`
	Added     int64     `json:"added"`           // stet's own time, in microseconds
	Cold      string    `json:"cold,omitempty"`  // why the provider's cache was assumed to be cold
	Broke     string    `json:"broke,omitempty"` // where the prompt differed from the one before
	Limit     int       `json:"limit,omitempty"` // the model's window in tokens
	Trims     []Trim    `json:"trims"`
	Next      *Next     `json:"next,omitempty"` // of the agent's own newest request
}

// Next says until when the provider's cache has a conversation, and what its next request costs in US dollars until then and after.
type Next struct {
	Until  time.Time `json:"until"`
	Within float64   `json:"within"`
	After  float64   `json:"after"`
}

// Trim is a text that is left out from this request on.
type Trim struct {
	Call   string   `json:"call"`
	Paths  []string `json:"paths,omitempty"`
	Reason string   `json:"reason"` // see package trim
	Before int      `json:"before"` // bytes
	After  int      `json:"after"`
}

// recorded returns the requests that a page asks for, of a limited number of days.
func (h *Handler) recorded(r *http.Request, q record.Query) ([]record.Request, error) {
	days, err := number(r, "days", 30)
	if err != nil {
		return nil, err
	}
	if days > 0 {
		q.From = time.Now().AddDate(0, 0, -days)
	}
	return h.Records.Requests(r.Context(), q)
}

func (h *Handler) conversations(r *http.Request) (any, error) {
	rows, err := h.recorded(r, record.Query{Limit: maxRows})
	if err != nil {
		return nil, err
	}
	by := map[string]*Conversation{}
	all := []*Conversation{}
	for _, row := range rows {
		if row.API == record.CountTokens {
			continue
		}
		c := by[row.Conversation]
		if c == nil {
			c = &Conversation{ID: row.Conversation, First: row.Time}
			by[row.Conversation], all = c, append(all, c)
		}
		c.Client = cmp.Or(c.Client, row.Client)
		c.Model, c.Last = row.Model, row.Time
		c.Requests++
		c.TokensOff += row.TokensOff
		c.Tokens += row.Tokens
	}
	slices.SortStableFunc(all, func(a, b *Conversation) int { return b.Last.Compare(a.Last) })
	return all, nil
}

// maxRows is the limit of newest requests that are read for an answer.
const maxRows = 100_000

func (h *Handler) requests(r *http.Request) (any, error) {
	q := record.Query{Conversation: r.URL.Query().Get("conversation"), Limit: 2000}
	if q.Conversation == "" {
		return nil, invalid("conversation: want a name")
	}
	rows, err := h.recorded(r, q)
	if err != nil {
		return nil, err
	}
	q.Limit = maxRows
	trims, err := h.Records.Trims(r.Context(), q)
	if err != nil {
		return nil, err
	}
	of := map[string][]Trim{}
	for _, t := range trims {
		of[t.Request] = append(of[t.Request], Trim{t.CallID, t.Paths, t.Reason, t.Before, t.After})
	}
	all := make([]Request, len(rows))
	for i, row := range rows {
		all[i] = h.request(row, of[row.ID])
	}
	for _, newest := range record.Newest(rows) { // at most one: the rows are of one conversation
		if h.Next == nil {
			break
		}
		if until, within, after, known := h.Next(*newest); known {
			i := slices.IndexFunc(rows, func(r record.Request) bool { return r.ID == newest.ID })
			all[i].Next = &Next{until, within, after}
		}
	}
	return all, nil
}

func (h *Handler) request(r record.Request, trims []Trim) Request {
	out := Request{
		ID: r.ID, Time: r.Time, Agent: r.Agent, Model: r.Model, Status: r.Status, Policy: r.Policy, Observe: r.Observe, Passed: r.Passed,
		BytesIn: r.BytesIn, BytesOut: r.BytesOut, TokensOff: r.TokensOff, Tokens: r.Tokens, Used: Tokens{}.plus(r.Usage),
		Added: r.Added.Microseconds(), Cold: r.Cache.Moment, Broke: r.Cache.Broke, Trims: trims,
	}
	if trims == nil {
		out.Trims = []Trim{}
	}
	if usd, _, known := h.cost(&r, nil); known {
		out.USD = &usd
	}
	if h.Window != nil {
		out.Limit = h.Window(r.Model)
	}
	return out
}
