package web

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"
	_ "time/tzdata" // the rules of time zones, where the machine has none

	"github.com/stet-dev/stet/record"
)

// Savings has the usage of recorded requests, and what was left out of them.
type Savings struct {
	Total  Sums    `json:"total"`
	Times  []Point `json:"times"`  // by day or by hour, without gaps
	Hourly bool    `json:"hourly"` // Times are hours, because all requests are within two days
	Client []Group `json:"client"`
	Model  []Group `json:"model"`
	Policy []Group `json:"policy"`
	// Project has the directories that agents work in, as they name them.
	Project []Group `json:"project"`
}

// Sums are sums over requests.
type Sums struct {
	Requests  int     `json:"requests"`
	Failed    int     `json:"failed"`
	TokensOff int     `json:"tokens_off"` // estimated prompt tokens as the clients sent them
	Tokens    int     `json:"tokens"`     // the same as they were sent upstream
	Used      Tokens  `json:"used"`       // as the providers reported it
	USD       float64 `json:"usd"`
	Saved     float64 `json:"saved"`    // estimated cost in US dollars of the tokens left out: see saved
	Unpriced  int     `json:"unpriced"` // requests without a known cost, which are not in USD
}

// Point has the sums of a day or an hour.
type Point struct {
	Start time.Time `json:"start"`
	Sums
}

// Group has the sums of requests with a common property.
type Group struct {
	Name string `json:"name"`
	Sums
}

func (s *Sums) add(r record.Request, usd, saved float64, known bool) {
	s.Requests++
	if r.Status >= 400 {
		s.Failed++
	}
	s.TokensOff += r.TokensOff
	s.Tokens += r.Tokens
	s.Used = s.Used.plus(r.Usage)
	if known {
		s.USD += usd
		s.Saved += saved
	} else {
		s.Unpriced++
	}
}

func (h *Handler) savings(r *http.Request) (any, error) {
	rows, err := h.recorded(r, record.Query{Limit: maxRows})
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(r.URL.Query().Get("zone")) // the person's
	if err != nil {
		zone = time.UTC // a browser may know zones that this program does not
	}
	out := Savings{Times: []Point{}}
	client, model, policy, project := map[string]*Sums{}, map[string]*Sums{}, map[string]*Sums{}, map[string]*Sums{}
	if len(rows) > 0 {
		first, last := rows[0].Time.In(zone), rows[len(rows)-1].Time.In(zone)
		out.Hourly = last.Sub(first) <= 48*time.Hour
		out.Times = points(first, last, out.Hourly)
	}
	at := 0
	var chains record.Chains
	for i := range rows {
		row := &rows[i]
		if row.API == record.CountTokens {
			continue
		}
		usd, saved, known := h.cost(row, chains.Next(row))
		for at+1 < len(out.Times) && !row.Time.Before(out.Times[at+1].Start) {
			at++
		}
		how := row.Policy
		if row.Observe {
			how += ", observed"
		}
		for _, s := range []*Sums{
			&out.Total, &out.Times[at].Sums, named(client, cmp.Or(row.Client, "unknown")), named(model, row.Model), named(policy, how),
			named(project, cmp.Or(row.Project, "unknown")),
		} {
			s.add(*row, usd, saved, known)
		}
	}
	out.Client, out.Model, out.Policy, out.Project = groups(client), groups(model), groups(policy), groups(project)
	return out, nil
}

// cost returns the cost of a request, and what it would have cost more if nothing had been left out. last is what the request before it in
// its conversation has left, or nil. A failed request cost nothing.
func (h *Handler) cost(r *record.Request, last *record.Left) (usd, saved float64, known bool) {
	if h.Cost == nil {
		return 0, 0, false
	}
	return h.Cost(r.Model, r.Usage, r.Without(last))
}

// points returns the starts of the days or hours from first to last.
func points(first, last time.Time, hourly bool) (all []Point) {
	y, m, d := first.Date()
	start := func(n int) time.Time { return time.Date(y, m, d+n, 0, 0, 0, 0, first.Location()) } // a day has 23 to 25 hours
	if hourly {
		hour := first.Add(-time.Duration(first.Minute()) * time.Minute).Truncate(time.Minute)
		start = func(n int) time.Time { return hour.Add(time.Duration(n) * time.Hour) }
	}
	for n := 0; !start(n).After(last); n++ {
		all = append(all, Point{Start: start(n)})
	}
	return all
}

func named(all map[string]*Sums, name string) *Sums {
	if all[name] == nil {
		all[name] = &Sums{}
	}
	return all[name]
}

// groups returns the sums, those with the largest prompts first.
func groups(all map[string]*Sums) []Group {
	out := []Group{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, Group{name, *all[name]})
	}
	slices.SortStableFunc(out, func(a, b Group) int { return b.TokensOff - a.TokensOff })
	return out
}
