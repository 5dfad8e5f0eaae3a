package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Tokens is the output of `stet tokens --json`.
type Tokens struct {
	File     string         `json:"file"`
	Kind     string         `json:"kind"` // text, request, session
	*tally                  // of a text or a request
	Sessions []sessionTally `json:"sessions,omitempty"`
}

// tally is a count of tokens with its shares.
type tally struct {
	Model  string `json:"model,omitempty"`
	Method string `json:"method"` // how the text is counted: the exact vocabulary's name, or estimate
	// Estimated: the count is not exact. That of a request never is: what is around its texts is not public.
	Estimated bool         `json:"estimated"`
	API       string       `json:"api,omitempty"` // of a request: messages, chat, responses
	Bytes     int          `json:"bytes,omitempty"`
	Tokens    int          `json:"tokens"`
	Tools     int          `json:"tools,omitempty"` // tokens of the descriptions of tools
	Shares    []tokenShare `json:"shares,omitempty"`
	Blocks    *blocks      `json:"blocks,omitempty"` // of a request
}

type tokenShare struct {
	Role   llm.Role `json:"role"`
	Kind   string   `json:"kind"`
	Parts  int      `json:"parts"`
	Tokens int      `json:"tokens"`
}

// Print writes the count for people.
func (c *Tokens) Print(w io.Writer) {
	switch c.Kind {
	case "text":
		fmt.Fprintf(w, "%s in %s%s\n", Bold(Count(c.Tokens, "token")), Count(c.Bytes, "byte"), c.by())
		return
	case "request":
		fmt.Fprintf(w, "%s in a request to the %s API%s\n\n", Bold(Count(c.Tokens, "token")), c.API, c.by())
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

// by returns the model for which the tokens were counted, and the method.
func (t *tally) by() string {
	how := t.Method
	if how == "estimate" {
		how = "estimated"
	} else if t.Estimated {
		how = "estimated; its text by " + how
	}
	if t.Model == "" {
		return " (" + how + ")"
	}
	return fmt.Sprintf(", %s (%s)", t.Model, how)
}

func (t *tally) printShares(w io.Writer) {
	line := func(role, kind, parts string, n int) {
		fmt.Fprintf(w, "%-11s %-9s %7s %12s %7s\n", role, kind, parts, Grouped(n), share(n, t.Tokens))
	}
	fmt.Fprintln(w, Faint(fmt.Sprintf("%-11s %-9s %7s %12s", "role", "kind", "parts", "tokens")))
	if t.Tools > 0 {
		line("tools", "", "", t.Tools)
	}
	for _, s := range t.Shares {
		line(string(s.Role), s.Kind, Grouped(s.Parts), s.Tokens)
	}
	if t.Blocks != nil {
		line("not text", "", Grouped(t.Blocks.Number), t.Blocks.Tokens)
	}
}

func (s *sessionTally) print(w io.Writer) {
	fmt.Fprintf(w, "%s in session %s of %s%s\n\n", Bold(Count(s.Tokens, "token")), s.ID, s.Format, s.by())
	s.printShares(w)
	if len(s.Requests) == 0 {
		return
	}
	sizes := slices.Clone(s.Requests)
	slices.SortFunc(sizes, func(a, b requestSize) int { return cmp.Compare(a.expected(), b.expected()) })
	fmt.Fprintf(w, "\n%s of %s tokens (median), the largest %s\n", Count(len(sizes), "request"),
		Grouped(sizes[len(sizes)/2].expected()), Grouped(sizes[len(sizes)-1].expected()))
	if e := s.Error; e != nil {
		fmt.Fprintf(w, "expected from the size reported last: off by %.2f %% (median), %.2f %% (p90) of what was reported\n", 100*e.Median, 100*e.P90)
		fmt.Fprintf(w, "the provider counts %.2f tokens for one counted here, and %s for what the recording does not have\n", e.Slope, Grouped(e.Fixed))
	}
}

// expected returns the reported size, or else the expected one.
func (r requestSize) expected() int { return cmp.Or(r.Reported, r.Expected) }
