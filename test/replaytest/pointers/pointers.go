// Package pointers checks what pointers in requests say: the call that one names must be there, before it, and show the very lines, whole and one below the
// other, at the numbers that it names. It shares no code with package trim, which writes pointers. Tests of the replay use it, and the module bench.
package pointers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/replay/check"
)

// The forms of placeholders that say where a text is. Package trim writes them.
var (
	standingForm = regexp.MustCompile(`\[stet: ([^\n]*?) lines (\d+)-(\d+)(?: of \d+)? (?:unchanged|the same): ([^\n]*?)(?:\. Ask again for the full text\.)?\](?:\n|$)`)
	spanForm     = regexp.MustCompile(`^(\S+|an earlier read) \(lines (\d+)-(\d+)\)(?:, |$)`)
	pieceForm    = regexp.MustCompile(`^(?:(\d+)(?:-(\d+))? )?(shown above|written) by (an earlier (?:read|call)|\S+?)(?: \(lines (\d+)(?:-\d+)?(?: there| of [^\n]*?)\)| in [^\n]*?)?(?:, |$)`)
	hunkForm     = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@`)
)

// outputName is in place of the name of the file where the lines are an output's.
const outputName = "output"

// pointers checks the pointers of one session.
type pointers struct {
	index   *check.Index
	counted map[int]*excerpts // by part; made when they are first asked for
}

// Of returns the check for a session: replay.Config.Pointers.
func Of(x *check.Index) check.PointerCheck {
	return (&pointers{x, make(map[int]*excerpts)}).isTrue
}

// isTrue reports whether the pointers in a placeholder, in place of a result, say what is so in the request.
func (p *pointers) isTrue(v *check.View, part int, placeholder string) bool {
	for _, shown := range check.Decoded(placeholder) {
		for _, m := range standingForm.FindAllStringSubmatch(shown, -1) {
			if strings.Contains(p.index.Recording().Parts[part].Text, m[0]) {
				continue // it was recorded so
			}
			first, last := number(m[2]), number(m[3])
			claims, ok := claimsOf(m[4], first, last)
			if !ok || !slices.ContainsFunc(p.leftOut(part, m[1], first, last), func(want []string) bool {
				return p.allStand(v, part, want, first, claims)
			}) {
				return false
			}
		}
	}
	return true
}

// claim says that lines of a text that was left out are elsewhere.
type claim struct {
	first, last int    // lines, as the text numbers them
	call        string // that shows or writes them; "": an earlier one
	written     bool   // the call writes them
	there       int    // the number of the first line there; 0: none is named
	overlaps    bool   // other claims may name the same lines
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// named reports whether the name in a placeholder means the call with this id. Long
// ids are shortened there, and end before a bar: what follows it no model sees.
func named(name, id string) bool {
	begin, short := strings.CutSuffix(name, "…")
	public, _, _ := strings.Cut(id, "|")
	return name == id || name == public || short && strings.HasPrefix(id, begin)
}

// claimsOf reads what a placeholder says of where the lines first to last are.
// It is false where some line has no claim.
func claimsOf(body string, first, last int) ([]claim, bool) {
	if rest, ok := strings.CutPrefix(body, "shown above by "); ok {
		if claims, ok := spansOf(rest, first, last); ok {
			return claims, true
		}
	}
	var out []claim
	next := first
	for body != "" {
		m := pieceForm.FindStringSubmatch(body)
		if m == nil {
			return nil, false
		}
		body = body[len(m[0]):]
		c := claim{first: first, last: last, call: m[4], written: m[3] == "written", there: number(m[5])}
		if m[1] != "" {
			c.first = number(m[1])
			c.last = max(c.first, number(m[2]))
		}
		if strings.HasPrefix(c.call, "an earlier ") {
			c.call = ""
		}
		if c.first != next {
			return nil, false
		}
		next = c.last + 1
		if c.there == 0 && !c.written && !strings.Contains(m[0], " in ") {
			c.there = c.first
		}
		out = append(out, c)
	}
	return out, next == last+1
}

// spansOf reads a list of calls, each with all the lines that it shows under the
// same numbers.
func spansOf(body string, first, last int) ([]claim, bool) {
	var out []claim
	for body != "" {
		m := spanForm.FindStringSubmatch(body)
		if m == nil {
			return nil, false
		}
		body = body[len(m[0]):]
		c := claim{first: max(first, number(m[2])), last: min(last, number(m[3])), call: m[1], overlaps: true}
		c.there = c.first
		if strings.HasPrefix(c.call, "an earlier ") {
			c.call = ""
		}
		out = append(out, c)
	}
	return out, true
}

// leftOut returns the lines first to last of a recorded result, once for each way to
// count them.
func (p *pointers) leftOut(part int, name string, first, last int) [][]string {
	var out [][]string
	add := func(all []excerpt) {
		for _, e := range all {
			if e.first <= first && last < e.first+len(e.lines) {
				out = append(out, e.lines[first-e.first:last-e.first+1])
			}
		}
	}
	counted := p.excerptsOf(part)
	if name != outputName {
		add(counted.sections)
	}
	add(counted.output)
	return out
}

func cleaned(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = check.Clean(line)
	}
	return out
}

// countings returns the lines of an output as they are and, where lines repeat,
// also with one line and a count in place of each run; and where a search printed paths, with each path once.
func countings(text string) [][]string {
	lines := cleaned(slices.Collect(strings.Lines(text)))
	out := [][]string{lines}
	var short []string
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		const worthCounting = 4
		if n < worthCounting {
			short = append(short, lines[i:i+n]...)
		} else {
			short = append(short, lines[i], "[stet: the line above, "+strconv.Itoa(n)+" times in all]")
		}
		i += n
	}
	if len(short) < len(lines) {
		out = append(out, short)
	}
	if found := grouped(text); !slices.Equal(found, lines) {
		out = append(out, found)
	}
	return out
}

// allStand reports whether the lines want stand where the claims say. The first of
// them has the number first. A line with two claims need be at one of them only.
func (p *pointers) allStand(v *check.View, part int, want []string, first int, claims []claim) bool {
	told := make([]bool, len(want))
	for _, c := range claims {
		size := c.last - c.first + 1
		if c.overlaps {
			size = 1 // at its number, and so one below the other
		}
		for n := c.first; n <= c.last; n += size {
			d := c
			if c.there > 0 {
				d.there += n - c.first
			}
			if from := n - first; p.stands(v, part, want[from:from+size], d) {
				for i := range size {
					told[from+i] = true
				}
			}
		}
	}
	return !slices.Contains(told, false)
}

// stands reports whether a call before a part shows, or writes, the lines.
func (p *pointers) stands(v *check.View, part int, want []string, c claim) bool {
	kind := llm.ToolResult
	if c.written {
		kind = llm.ToolCall
	}
	for at := part - 1; at >= v.Begin(); at-- {
		part := p.index.Recording().Parts[at]
		if part.Kind == kind && (c.call == "" || named(c.call, part.CallID)) && p.holdsAt(v, at, want, c.there) {
			return true
		}
	}
	return false
}

// holdsAt reports whether a part shows the lines, whole and one below the other, the
// first of them as line there; 0 is anywhere. In a call they may be anywhere, and
// so may lines without numbers in a result that is itself replaced.
func (p *pointers) holdsAt(v *check.View, part int, want []string, there int) bool {
	placeholder, replaced := v.Placeholder(part)
	if p.index.Recording().Parts[part].Kind == llm.ToolCall {
		there = 0
	}
	if replaced || there == 0 {
		shown := p.index.Texts(part)
		if replaced {
			shown = v.ShownAs(part, placeholder)
		}
		return slices.ContainsFunc(shown, func(text string) bool {
			patch := check.IsPatch(text)
			return slices.ContainsFunc(countings(text), func(have []string) bool {
				return wholeAt(have, want, there, patch) || patch && wholeAt(withoutRemoved(have), want, there, patch)
			})
		})
	}
	at := func(e excerpt) bool {
		i := there - e.first
		return i >= 0 && i+len(want) <= len(e.lines) && slices.Equal(e.lines[i:i+len(want)], want)
	}
	counted := p.excerptsOf(part)
	return slices.ContainsFunc(counted.sections, at) || slices.ContainsFunc(counted.hunks, at) || slices.ContainsFunc(counted.output, at)
}

// excerpt is some lines that are one below the other, as they are compared, and the number of
// the first one.
type excerpt struct {
	first int
	lines []string
}

// excerpts are the ways in which the lines of a recorded result can be counted.
type excerpts struct {
	sections []excerpt // of files
	hunks    []excerpt // of the new file in a patch
	output   []excerpt // of the text itself
}

// excerptsOf returns the excerpts of a part.
func (p *pointers) excerptsOf(part int) *excerpts {
	if e, ok := p.counted[part]; ok {
		return e
	}
	text := p.index.Recording().Parts[part].Text
	e := &excerpts{hunks: hunks(text)}
	for _, s := range p.index.Sections(part) {
		e.sections = append(e.sections, excerpt{max(1, s.First), cleaned(s.Lines)})
	}
	for _, lines := range countings(text) {
		e.output = append(e.output, excerpt{1, lines})
	}
	p.counted[part] = e
	return e
}

// hunks returns the hunks of a unified diff in a text: the lines of the new file that they show.
func hunks(text string) []excerpt {
	var out []excerpt
	if !check.IsPatch(text) {
		return nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := hunkForm.FindStringSubmatch(line); m != nil {
			out = append(out, excerpt{first: number(m[1])})
		} else if n := len(out); n > 0 && (line == "" || line[0] == ' ' || line[0] == '+') {
			out[n-1].lines = append(out[n-1].lines, check.Clean(line[min(1, len(line)):]))
		}
	}
	return out
}

// wholeAt reports whether the lines have hold those of want one below the other. If
// they have numbers, the first must have the number there, unless that is 0. A line
// that is equal to the wanted one counts as one without a number.
func wholeAt(have, want []string, there int, patch bool) bool {
	for i := 0; i+len(want) <= len(have); i++ {
		if there > 0 && have[i] != want[0] && !numberedAs(have[i], there) {
			continue
		}
		n := 0
		for n < len(want) && isForm(have[i+n], want[n], patch) {
			n++
		}
		if n == len(want) {
			return true
		}
	}
	return false
}

// withoutRemoved returns the lines of a patch without those that it removes.
func withoutRemoved(patch []string) []string {
	var out []string
	for _, line := range patch {
		if !strings.HasPrefix(line, "-") {
			out = append(out, line)
		}
	}
	return out
}

// numberedAs reports whether a line has this number, or none.
func numberedAs(line string, n int) bool {
	if _, ok := check.BehindNumber(line); !ok {
		return true
	}
	s := strings.TrimLeft(line, " ")
	return strings.HasPrefix(s, strconv.Itoa(n)) && (len(s) == len(strconv.Itoa(n)) || s[len(strconv.Itoa(n))] < '0' || s[len(strconv.Itoa(n))] > '9')
}

// isForm reports whether a line shows the line want. A blank line may show its number,
// or the mark of a patch, alone.
func isForm(line, want string, patch bool) bool {
	rest, numbered := check.BehindNumber(line)
	found := line == want || numbered && rest == want ||
		want == "" && (patch && line == "+" || strings.Trim(line, " 0123456789") == "")
	check.Forms(line, patch, func(form string) { found = found || form == want })
	return found
}

// grouped returns the lines of a search with the path of a file once, above its lines.
func grouped(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	var out []string
	at, inGroup := 0, false
	add := func(line string, ends bool) {
		if inGroup && ends {
			out = append(out, "")
		}
		out, inGroup = append(out, check.Clean(line)), false
	}
	for _, rows := range append(dialect.SearchRows(lines), dialect.FoundRows{From: len(lines)}) {
		for ; at < rows.From; at++ {
			if at < len(lines)-1 || lines[at] != "" {
				add(lines[at], strings.TrimSpace(lines[at]) != "" && lines[at] != dialect.Parted)
			}
		}
		if rows.Starts != nil {
			add(rows.Path, true)
		}
		for _, start := range rows.Starts {
			out, inGroup = append(out, check.Clean(lines[at][start:])), true
			at++
		}
	}
	return out
}
