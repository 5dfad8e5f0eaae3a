package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/record"
)

// summary says what came of a run: its totals, and how many results were
// shortened, each counted once.
type summary struct {
	record.Totals
	Shortened int
}

// print writes the summary, a few lines that begin with "stet: ".
func (s summary) print(w io.Writer) {
	if s.Requests == 0 {
		fmt.Fprintln(w, "stet: no request came through: does the agent use ANTHROPIC_BASE_URL or OPENAI_BASE_URL?")
		return
	}
	seen := fmt.Sprintf("%s, %s of files", count(s.Requests, "request"), count(s.Reads, "read"))
	verb := "left out"
	if s.Observed == s.Requests {
		verb = "would be left out (observe: nothing was)"
	}
	if s.Shortened == 0 {
		fmt.Fprintf(w, "stet: nothing to save: %s, no repeats\n", seen)
	} else {
		fmt.Fprintf(w, "stet: %s; %s %s\n", seen, count(s.Shortened, "repeat"), verb)
		fmt.Fprintf(w, "stet: estimated prompt tokens %s without stet, %s with: %s\n",
			grouped(s.TokensOff), grouped(s.Tokens), change(s.TokensOff, s.Tokens))
	}
	if prompt := s.Usage.Prompt(); prompt > 0 {
		fmt.Fprintf(w, "stet: the provider counted %s prompt tokens (%s from its cache) and %s of output\n",
			grouped(prompt), grouped(s.Usage.CacheRead), grouped(s.Usage.Output))
	}
	if s.Errors > 0 {
		fmt.Fprintf(w, "stet: %s failed\n", count(s.Errors, "request"))
	}
	if s.Passed > 0 {
		fmt.Fprintf(w, "stet: %s not understood and passed on untouched\n", count(s.Passed, "request"))
	}
}

// count is a number and its noun: "1 read", "2 reads".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes n with commas: 1,234,567.
func grouped[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// change writes how b differs from a, in per cent.
func change[N int | int64 | float64](a, b N) string {
	if a == 0 || a == b {
		return "0 %"
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(b)-float64(a))/float64(a))
}
