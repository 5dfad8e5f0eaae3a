package report

import (
	"fmt"
	"io"
	"time"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
)

// Live is the output of `stet savings --live --json`: what the proxy has recorded of one's own traffic.
type Live struct {
	First         time.Time `json:"first,omitzero"`
	Last          time.Time `json:"last,omitzero"`
	Conversations int       `json:"conversations"`
	Requests      int       `json:"requests"` // that were answered with usage
	Unpriced      int       `json:"unpriced"` // Requests whose price is not known; they are not in the sums
	Output        int       `json:"output"`   // tokens of the priced ones
	// NoUsage are the answers in which the provider reported no usage, as in streams that were cancelled. It may charge them; they are in no sum.
	NoUsage int     `json:"no_usage"`
	Cut     int     `json:"cut"` // those of Requests whose answer ended early: output that came after the last count is not in the sums
	USD     float64 `json:"usd"`
	// Without is what the same requests would have cost if nothing had been left out of them.
	Without float64 `json:"without"`

	Holdout *Holdout       `json:"holdout,omitempty"` // nil: no conversation was part of one
	Meters  []record.Meter `json:"meters,omitempty"`
	Caps    []record.Cap   `json:"caps,omitempty"`
}

// Holdout compares the conversations in which stet leaves text out with those in which it does not.
type Holdout struct {
	Treated     Group        `json:"treated"`
	HeldOut     Group        `json:"held_out"`
	Outside     int          `json:"outside"` // conversations with usage that are in no group
	Differences []Difference `json:"differences"`
}

// Group has the sums of a group of conversations. Sub-agents and forks are in the conversation that they belong to.
type Group struct {
	Conversations int     `json:"conversations"`
	Requests      int     `json:"requests"`
	Unpriced      int     `json:"unpriced"`
	Output        int     `json:"output"`
	USD           float64 `json:"usd"`
	Errors        int     `json:"errors"` // requests with a status of 400 and above, or without an answer
}

// LiveSums adds up recorded requests.
type LiveSums struct {
	live    Live
	prices  *prices.Catalog
	chains  record.Chains
	trees   map[uint64]bool // the conversations that have usage; true: it is in a group of the holdout
	treated units
	held    units
}

// NewLive returns sums of nothing.
func NewLive(c *prices.Catalog) *LiveSums { return &LiveSums{prices: c, trees: map[uint64]bool{}} }

// Add adds a request. Requests come in the order of time.
func (l *LiveSums) Add(r *record.Request) {
	if r.API == record.CountTokens {
		return
	}
	now, tree, out := sums{requests: 1, output: r.Usage.Output}, hashed(r.Tree()), &l.live
	if r.Status == 0 || r.Status >= 400 {
		now.errors = 1
	}
	m, _ := l.prices.Lookup(r.Model)
	usd, saved, known := m.Bill(r.Usage, r.Without(l.chains.Next(r)))
	if r.Usage.Prompt() > 0 {
		out.Requests++
		if known {
			now.usd, now.priced = usd, 1
			out.USD, out.Without, out.Output = out.USD+usd, out.Without+usd+saved, out.Output+r.Usage.Output
		} else {
			out.Unpriced++
			now.unpriced = 1
		}
		if out.First.IsZero() {
			out.First = r.Time
		}
		out.Last = r.Time
		l.trees[tree] = r.Holdout != ""
		if r.Cut {
			out.Cut++
		}
	} else if r.Status >= 200 && r.Status < 300 {
		out.NoUsage++
	}
	switch r.Holdout {
	case record.Treated:
		l.treated.add(tree, now)
	case record.HeldOut:
		l.held.add(tree, now)
	}
}

// Live returns the sums, with the meters and caps that are shown with them.
func (l *LiveSums) Live(meters []record.Meter, caps []record.Cap) Live {
	out := l.live
	out.Conversations = len(l.trees)
	if treated, held := l.treated.all(), l.held.all(); len(treated)+len(held) > 0 {
		out.Holdout = &Holdout{groupOf(treated), groupOf(held), 0, differences(treated, held)}
		for _, grouped := range l.trees {
			if !grouped {
				out.Holdout.Outside++
			}
		}
	}
	out.Meters, out.Caps = meters, caps
	return out
}

func groupOf(all []sums) Group {
	var s sums
	for i := range all {
		s.add(all[i])
	}
	return Group{s.conversations, s.requests, s.unpriced, s.output, s.usd, s.errors}
}

// Print writes the figures for people.
func (l Live) Print(w io.Writer, now time.Time) {
	fmt.Fprintf(w, "%s, %s through stet, %s to %s\n\n", Count(l.Conversations, "conversation"), Count(l.Requests, "request"),
		l.First.Local().Format(time.DateOnly), l.Last.Local().Format(time.DateOnly))
	saved := l.Without - l.USD
	fmt.Fprintln(w, Bold("What was left out, priced request by request"))
	fmt.Fprintf(w, "saved %s: %s were charged, %s without stet\n", inDollars(saved), inDollars(l.USD), inDollars(l.Without))
	if l.Output > 0 {
		per := 1000 / float64(l.Output)
		fmt.Fprintf(w, "for 1,000 tokens of output: saved %s, charged %s\n", inDollars(saved*per), inDollars(l.USD*per))
	}
	if l.Unpriced > 0 {
		fmt.Fprintf(w, "not in it: %s of a model whose price is not known\n", Count(l.Unpriced, "request"))
	}
	if l.NoUsage > 0 {
		fmt.Fprintf(w, "not in it: %s without usage, which the provider may charge: most ended early\n", Count(l.NoUsage, "answer"))
	}
	if l.Cut > 0 {
		fmt.Fprintf(w, "%s ended early: what the provider wrote after its last count is not in it\n", Count(l.Cut, "answer"))
	}
	fmt.Fprintln(w, Faint("The provider's counts fix the scale. That an agent would have worked otherwise is not in it."))
	fmt.Fprintln(w)
	l.Holdout.print(w)
	PrintMeters(w, l.Meters, now)
	for i := range l.Caps {
		fmt.Fprintln(w, capSays(&l.Caps[i]))
	}
}

func (h *Holdout) print(w io.Writer) {
	fmt.Fprintln(w, Bold("Does stet change how your agents work?"))
	if h == nil {
		fmt.Fprintln(w, "not measured: with holdout = 5 in your configuration one of five conversations goes without stet, and both are compared")
		return
	}
	t, o := h.Treated.Conversations, h.HeldOut.Conversations
	fmt.Fprintf(w, "%-34s %12s %12s\n", Count(t+o, "conversation"), "with stet", "held out")
	fmt.Fprintf(w, "%-34s %12s %12s\n", "conversations", Grouped(t), Grouped(o))
	for _, d := range h.Differences {
		said := d.says(min(t, o) >= fewest)
		fmt.Fprintf(w, "%-34s %12s %12s  %s\n", d.What, d.shown(d.Treated), d.shown(d.HeldOut), said)
	}
	if min(t, o) < fewest {
		fmt.Fprintf(w, "too few conversations to compare: both groups need %d\n", fewest)
	}
	if h.Outside > 0 {
		fmt.Fprintf(w, "in no group: %s that the agent does not name, or that began without a holdout\n", Count(h.Outside, "conversation"))
	}
	if n := h.Treated.Unpriced + h.HeldOut.Unpriced; n > 0 {
		fmt.Fprintf(w, "not in the cost: %s without a known price\n", Count(n, "request"))
	}
	fmt.Fprintln(w, Faint("Intervals of 95 %, by a bootstrap over conversations. A difference of 10 % in cost needs 11,000 to 20,000 of them."))
}

func (d *Difference) shown(v float64) string {
	if d.What == "cost of a request" {
		return inDollars(v)
	}
	return fmt.Sprintf("%.1f", v)
}

// says gives the difference with its interval. A difference alone is never said.
func (d *Difference) says(enough bool) string {
	interval := fmt.Sprintf("[%+.1f %%, %+.1f %%]", 100*d.Low, 100*d.High)
	point := fmt.Sprintf("%+.1f %%", 100*d.Change)
	if d.What == theErrors {
		interval, point = fmt.Sprintf("[%+.2f, %+.2f]", d.Low, d.High), fmt.Sprintf("%+.2f", d.Change)
	}
	switch {
	case !enough:
		return ""
	case !d.Distinguishable:
		return "not yet distinguishable " + interval
	}
	return point + " " + interval
}

// PrintMeters writes how much of a subscription is used.
func PrintMeters(w io.Writer, all []record.Meter, now time.Time) {
	for _, m := range all {
		reset := ""
		if at := m.Reset.Local().Format("2006-01-02 15:04"); m.Reset.After(now) {
			reset = ", until " + at
		} else if !m.Reset.IsZero() {
			reset = ", but it began anew at " + at
		}
		fmt.Fprintf(w, "subscription, %s, limit %s: %.0f %% used by the whole account%s\n", m.Provider, OneLine(m.Limit), 100*m.Used, reset)
	}
}

// capSays is a sentence on a person's limit.
func capSays(c *record.Cap) string {
	said := fmt.Sprintf("limit of %s for %s: %s spent", c.Limit, c.Of(), c.Spent)
	if c.Scope != "day" {
		said += " by " + c.Conversation
	}
	if c.Over != "" {
		said += ", " + c.Over + " of it by a loop of tools after the limit was reached"
	}
	if c.Refused > 0 {
		said += ", " + Count(c.Refused, "request") + " refused"
	}
	return said
}
