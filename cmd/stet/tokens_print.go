package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// print writes the count for people.
func (c *counted) print(w io.Writer) {
	switch c.Kind {
	case "text":
		fmt.Fprintf(w, "%s in %s%s\n", bold.Render(count(c.Tokens, "token")), count(c.Bytes, "byte"), c.by())
		return
	case "request":
		fmt.Fprintf(w, "%s in a request to the %s API%s\n\n", bold.Render(count(c.Tokens, "token")), c.API, c.by())
		c.printShares(w)
		return
	}
	for i := range c.Sessions {
		if i > 0 {
			fmt.Fprintln(w)
		}
		c.Sessions[i].print(w)
	}
}

// by says for which model, and how, was counted.
func (t *tally) by() string {
	how := t.Method
	if how == "estimate" {
		how = "estimated"
	}
	if t.Model == "" {
		return " (" + how + ")"
	}
	return fmt.Sprintf(", %s (%s)", t.Model, how)
}

func (t *tally) printShares(w io.Writer) {
	line := func(role, kind, parts string, n int) {
		fmt.Fprintf(w, "%-11s %-9s %7s %12s %7s\n", role, kind, parts, grouped(n), share(n, t.Tokens))
	}
	fmt.Fprintln(w, faint.Render(fmt.Sprintf("%-11s %-9s %7s %12s", "role", "kind", "parts", "tokens")))
	if t.Tools > 0 {
		line("tools", "", "", t.Tools)
	}
	for _, s := range t.Shares {
		line(string(s.Role), s.Kind, grouped(s.Parts), s.Tokens)
	}
}

// share writes n as a part of all.
func share(n, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(all))
}

func (s *sessionTally) print(w io.Writer) {
	fmt.Fprintf(w, "%s in session %s of %s%s\n\n", bold.Render(count(s.Tokens, "token")), s.ID, s.Format, s.by())
	s.printShares(w)
	if len(s.Requests) == 0 {
		return
	}
	sizes := slices.Clone(s.Requests)
	slices.SortFunc(sizes, func(a, b requestSize) int { return cmp.Compare(a.expected(), b.expected()) })
	fmt.Fprintf(w, "\n%s of %s tokens (median), the largest %s\n", count(len(sizes), "request"),
		grouped(sizes[len(sizes)/2].expected()), grouped(sizes[len(sizes)-1].expected()))
	if e := s.Error; e != nil {
		fmt.Fprintf(w, "expected from the size reported last: off by %.2f %% (median), %.2f %% (p90) of what was reported\n", 100*e.Median, 100*e.P90)
		fmt.Fprintf(w, "the provider takes %.2f tokens for one counted here, and %s for what the recording does not hold\n", e.Slope, grouped(e.Fixed))
	}
}

// expected is the size that was reported, else the expected one.
func (r requestSize) expected() int { return cmp.Or(r.Reported, r.Expected) }
