package replay

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/trim/transcript"
)

// Group has the sums of the answers that have a name in common.
type Group struct {
	Name     string   `json:"name"`
	Requests int      `json:"requests"`
	Unpriced int      `json:"unpriced,omitempty"` // requests that are not in USD: their price is not known
	USD      *Dollars `json:"usd"`                // null: no price is known
	Used     Used     `json:"used"`
}

// Used are tokens by kind, as the recordings report them.
type Used struct {
	Input      int `json:"input"` // not cached
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
}

// The ways to group. Days and months are those of the machine's own time zone; a project is the working directory of the agent.
const (
	ByDay     = "day"
	ByMonth   = "month"
	ByProject = "project"
	ByModel   = "model"
	ByAgent   = "agent"
)

// Groupings returns the ways to group, in the order in which reports show them.
func Groupings() []string { return []string{ByDay, ByMonth, ByProject, ByModel, ByAgent} }

// By groups all answers. Days and months are in their order; the others begin with the dearest.
func (rep *Report) By(how string) []Group {
	all := map[string]*Group{}
	for i := range rep.Sessions {
		r := &rep.Sessions[i]
		for j := range r.Answers {
			name := r.nameIn(how, &r.Answers[j])
			if all[name] == nil {
				all[name] = &Group{Name: name}
			}
			all[name].add(&r.Answers[j], r.ThroughStet)
		}
	}
	out := []Group{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	if how != ByDay && how != ByMonth {
		slices.SortStableFunc(out, func(a, b Group) int { return cmp.Compare(b.without(), a.without()) })
	}
	return out
}

func (r *Row) nameIn(how string, b *Billed) string {
	at := b.Time
	if at.IsZero() {
		at = r.Started
	}
	switch {
	case how == ByModel:
		return cmp.Or(b.Model, "unknown")
	case how == ByAgent:
		return r.Agent
	case how == ByProject:
		return cmp.Or(b.Dir, "unknown")
	case at.IsZero():
		return "date unknown"
	case how == ByMonth:
		return at.Local().Format("2006-01")
	}
	return at.Local().Format(time.DateOnly)
}

func (g *Group) add(b *Billed, throughStet bool) {
	g.Requests++
	u := b.Usage
	g.Used.Input += u.Input
	g.Used.CacheRead += u.CacheRead
	g.Used.CacheWrite += u.CacheWrite
	g.Used.Output += u.Output
	if !b.Priced {
		g.Unpriced++
		return
	}
	var one Dollars
	one.total([]Billed{*b}, throughStet)
	if g.USD == nil {
		g.USD = new(Dollars)
	}
	g.USD.add(one)
}

func (g *Group) without() float64 {
	if g.USD == nil {
		return 0
	}
	return g.USD.Without
}

// Project is the last part of the working directory in which most of a session was; empty: unknown.
func (r *Row) Project() string {
	for _, b := range r.Answers {
		if b.Dir != "" {
			return filepath.Base(strings.ReplaceAll(b.Dir, `\`, "/"))
		}
	}
	return ""
}

// within removes the answers that are not of the time asked for, and reports whether there are others. An answer without a time stays only if
// none is asked for.
func (c *Config) within(s *transcript.Session) bool {
	if c.Since.IsZero() && c.Until.IsZero() || len(s.Answers) == 0 {
		return true
	}
	s.Answers = slices.DeleteFunc(s.Answers, func(a transcript.Answer) bool {
		return a.Time.IsZero() || a.Time.Before(c.Since) || !c.Until.IsZero() && !a.Time.Before(c.Until)
	})
	return len(s.Answers) > 0
}
