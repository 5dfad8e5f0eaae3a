package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// Summary has the totals of a run.
type Summary struct {
	proxy.Totals
	Policy  trim.Policy
	Observe bool // the omissions were only planned
	Forward bool // the agent was to use the forward proxy
	Warm    Warm // of the newest conversation; the zero value: not known
}

// Print writes the summary, a few lines that begin with "stet: ".
func (s Summary) Print(w io.Writer) {
	say := func(format string, args ...any) {
		fmt.Fprintln(w, invisible.Escape(fmt.Sprintf("stet: "+format, args...), nil))
	}
	if s.Refused > 0 {
		say("%s got no answer from a provider: %s", Count(s.Refused, "request"), s.Why)
	} else if s.Requests == 0 {
		say("%s", s.nothing())
	}
	if s.Requests == 0 {
		return
	}
	if s.Errors > 0 {
		say("%s failed; the agent has the reason", Count(s.Errors, "request"))
	}
	seen := fmt.Sprintf("%s, %s of files", Count(s.Requests, "request"), Count(s.Reads, "read"))
	left := leftOut(s.Shortened)
	switch {
	case left == "" && s.Policy == trim.Off:
		say("%s; policy off leaves nothing out", seen)
	case left == "" && s.Policy == trim.Finish:
		say("%s; policy finish leaves nothing new out", seen)
	case left == "":
		say("nothing to save: %s: %s", seen, s.why())
	default:
		verb := "left out"
		if s.Observe {
			verb = "would be left out (observe: nothing was)"
		}
		say("%s; %s %s", seen, left, verb)
		say("estimated from the length of the texts: %s prompt tokens without stet, %s with: %s",
			Grouped(s.TokensOff), Grouped(s.Tokens), Change(s.TokensOff, s.Tokens))
	}
	if prompt := s.Usage.Prompt(); prompt > 0 {
		say("the provider counted %s prompt tokens as sent (%s from its cache) and %s of output",
			Grouped(prompt), Grouped(s.Usage.CacheRead), Grouped(s.Usage.Output))
	}
	switch usd, saved := inDollars(s.USD), inDollars(s.Saved); {
	case s.USD > 0 && s.Unpriced > 0:
		say("charged %s, saved about %s; and ? for %s whose price is not known", usd, saved, Count(s.Unpriced, "request"))
	case s.USD > 0:
		say("charged %s, saved about %s", usd, saved)
	case s.Unpriced > 0:
		say("charged ?: the price of the model is not known (configuration key \"prices\")")
	}
	for _, text := range slices.Sorted(maps.Keys(s.Limits)) {
		say("%s", text)
	}
	if says := s.Warm.Says(time.Now()); says != "" {
		say("%s", says)
	}
	if len(s.Unknown) > 0 {
		say("the provider also counted what stet does not know, and no price has: %s", timesNamed(s.Unknown))
	}
	if s.Bound {
		say("a session was shortened, and the provider checks that it stays so: continue it with stet (--policy finish shortens nothing new)")
	}
	if passed := passedOn(s.Passed); passed != "" {
		say("passed on untouched: %s", passed)
	}
}

// why says why nothing was left out.
func (s Summary) why() string {
	switch {
	case s.Errors == s.Requests:
		return "no request succeeded"
	case s.Requests < 3:
		return "too few requests for anything to be sent again"
	case s.Reads == 0:
		return "no tool result that stet knows was long enough and came again"
	}
	return "no read or output came again while the conversation had it"
}

// timesNamed lists names with how often each came.
func timesNamed(all map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", name, Count(all[name], "request")))
	}
	return strings.Join(parts, ", ")
}

// nothing describes the requests if there was none to a model.
func (s Summary) nothing() string {
	var other []string
	n := 0
	for _, path := range slices.Sorted(maps.Keys(s.Through)) {
		n += s.Through[path]
		if len(other) < 3 {
			other = append(other, path)
		}
	}
	for _, counted := range s.ByAPI { // counting tokens is not a request to a model
		n += counted
	}
	switch {
	case n == 0 && s.Forward:
		return "no request for a model came through: does the agent use HTTPS_PROXY, and ask a host that docs/wrap.md lists and NO_PROXY does not?"
	case n == 0:
		return "no request came through: does the agent use ANTHROPIC_BASE_URL or OPENAI_BASE_URL?"
	case len(other) == 0:
		return fmt.Sprintf("no request to a model came through, but %s to count tokens", Count(n, "request"))
	case len(other) < len(s.Through):
		other = append(other, "…")
	}
	return fmt.Sprintf("no request to a model came through that stet knows, but %s to others: %s", Count(n, "request"), strings.Join(other, ", "))
}

// leftOut describes what was shortened: "3 repeats", "5 older reads and 1 older command output"; empty: nothing. It takes
// Totals.Shortened.
func leftOut(shortened map[string]int) string {
	var parts []string
	for reason, noun := range trim.Nouns {
		if n := shortened[string(reason)]; n > 0 {
			parts = append(parts, Count(n, noun))
		}
	}
	if n := len(parts) - 1; n > 1 {
		return strings.Join(parts[:n], ", ") + " and " + parts[n]
	}
	return strings.Join(parts, " and ")
}

// passedOn describes which requests were passed on untouched, and why; empty: none. It takes Totals.Passed.
func passedOn(passed map[string]int) string {
	words := map[string]string{
		"encoded": "with a compressed body", "large": "too large to look at",
		"chained": "of a conversation that the provider stores",
		"managed": "whose context the provider trims by itself",
	}
	sums := map[string]int{}
	for cause, n := range passed {
		if word, ok := words[cause]; ok {
			sums[word] += n
		} else {
			sums["not understood"] += n
		}
	}
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, Count(sums[word], "request")+" "+word)
	}
	return strings.Join(parts, ", ")
}
