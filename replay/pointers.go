package replay

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// What a line left in place says is held against the request, by the forms that
// lines have (see package history) and by the recorded text, without the engine:
// the call that it names must be there, before or behind it as it says, and show
// the very lines, whole and where it says that they are.

// The forms of lines that say that a text stands elsewhere.
var (
	standingForm = regexp.MustCompile(`\[stet: ([^\n]*?) lines (\d+)-(\d+)(?: of \d+)? (?:unchanged|the same): ([^\n]*?)(?:\. Ask again for the full text\.)?\](?:\n|$)`)
	spanForm     = regexp.MustCompile(`^(\S+|an earlier read) \(lines (\d+)-(\d+)\)(?:, |$)`)
	pieceForm    = regexp.MustCompile(`^(?:(\d+)(?:-(\d+))? )?(shown above|written) by (an earlier (?:read|call)|\S+?)(?: \(lines (\d+)(?:-\d+)?(?: there| of [^\n]*?)\)| in [^\n]*?)?(?:, |$)`)
	hunkForm     = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@`)
	relistedForm = regexp.MustCompile(`: an older listing, left out: listed again below by (a later call|\S+)\.\]$`)
)

const (
	replacedMark = "[stet: left out: the text that this edit replaced.]"
	planMark     = "[stet: left out: an older plan; a newer one follows.]"
	leftOutMark  = "left out" // in the line for a whole result
	outputMark   = "output"   // what a line calls the lines of an output
)

// claim says that lines of a text that was left out stand elsewhere.
type claim struct {
	first, last int    // as the text numbers them
	call        string // that shows or writes them; "": an earlier one
	written     bool
	there       int  // the number of the first of them there; 0: none is told
	spans       bool // other claims may be of some of the lines too
}

// honest reports whether what text says, in place of block at, is so in the
// request of the blocks from l.base to end.
func (l *lane) honest(at int, text string, end int) bool {
	p := l.rec.parts[at].part
	if p.Kind == llm.ToolCall {
		switch {
		case strings.Contains(text, replacedMark):
			return l.standReplaced(at, text)
		case strings.Contains(text, planMark):
			return l.follows(at, end, func(q *llm.Part) bool { return q.Name == p.Name })
		}
		return true
	}
	if m := relistedForm.FindStringSubmatch(text); m != nil {
		asked := l.rec.callOf(at)
		return asked != nil && l.follows(at, end, func(q *llm.Part) bool {
			return q.Name == asked.Name && q.Args == asked.Args && (m[1] == "a later call" || named(m[1], q.CallID))
		})
	}
	for _, shown := range decoded(text) {
		for _, m := range standingForm.FindAllStringSubmatch(shown, -1) {
			if strings.Contains(p.Text, m[0]) {
				continue // it was recorded so
			}
			first, last := number(m[2]), number(m[3])
			claims, ok := claimsOf(m[4], first, last)
			if !ok || !slices.ContainsFunc(l.rec.leftOut(at, m[1], first, last), func(want []string) bool {
				return l.allStand(at, want, first, claims)
			}) {
				return false
			}
		}
	}
	return true
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// named reports whether a line that says name means the call: lines cut long ids
// short, and leave away what follows a bar, which no model sees.
func named(name, id string) bool {
	begin, short := strings.CutSuffix(name, "…")
	public, _, _ := strings.Cut(id, "|")
	return name == id || name == public || short && strings.HasPrefix(id, begin)
}

// claimsOf reads what a line says of where the lines first to last stand; false
// where it does not say it of all of them.
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

// spansOf reads calls that show the lines under the same numbers, with all that
// each of them shows.
func spansOf(body string, first, last int) ([]claim, bool) {
	var out []claim
	for body != "" {
		m := spanForm.FindStringSubmatch(body)
		if m == nil {
			return nil, false
		}
		body = body[len(m[0]):]
		c := claim{first: max(first, number(m[2])), last: min(last, number(m[3])), call: m[1], spans: true}
		c.there = c.first
		if strings.HasPrefix(c.call, "an earlier ") {
			c.call = ""
		}
		out = append(out, c)
	}
	return out, true
}

// leftOut returns the lines first to last of a recorded result, in each way in
// which they may be counted.
func (r *recording) leftOut(at int, name string, first, last int) [][]string {
	var out [][]string
	add := func(lines []string, from int) {
		if from <= first && last < from+len(lines) {
			out = append(out, lines[first-from:last-from+1])
		}
	}
	if name != outputMark {
		for _, s := range r.sections(at) {
			add(cleaned(s.Lines), max(1, s.First))
		}
	}
	for _, lines := range settled(r.parts[at].part.Text) {
		add(lines, 1)
	}
	return out
}

// sections returns what a recorded result shows of files.
func (r *recording) sections(at int) []dialect.Section {
	c, p := r.callOf(at), r.parts[at].part
	if c == nil {
		return nil
	}
	table := dialect.Default()
	return table.Result(table.Action(c.Name, c.Args), p.Text, p.IsError).Sections
}

func cleaned(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = clean(line)
	}
	return out
}

// settled returns the lines of an output as they stand, and with one of each
// run of identical lines, and a count, in its place.
func settled(text string) [][]string {
	lines := cleaned(slices.Collect(strings.Lines(text)))
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
	if len(short) == len(lines) {
		return [][]string{lines}
	}
	return [][]string{lines, short}
}

// allStand reports whether want, the first of which has the number first, stands
// where the claims say. What two of them say they show need stand in one.
func (l *lane) allStand(at int, want []string, first int, claims []claim) bool {
	told := make([]bool, len(want))
	for _, c := range claims {
		size := c.last - c.first + 1
		if c.spans {
			size = 1 // at its number, and so one below the other
		}
		for n := c.first; n <= c.last; n += size {
			d := c
			if c.there > 0 {
				d.there += n - c.first
			}
			if from := n - first; l.stands(at, want[from:from+size], d) {
				for i := range size {
					told[from+i] = true
				}
			}
		}
	}
	return !slices.Contains(told, false)
}

// stands reports whether a call before block at shows, or writes, the lines.
func (l *lane) stands(at int, want []string, c claim) bool {
	kind := llm.ToolResult
	if c.written {
		kind = llm.ToolCall
	}
	for b := at - 1; b >= l.base; b-- {
		p := l.rec.parts[b].part
		if p.Kind == kind && (c.call == "" || named(c.call, p.CallID)) && l.holdsAt(b, want, c.there) {
			return true
		}
	}
	return false
}

// holdsAt reports whether a block shows the lines, whole and one below the other,
// the first of them as line there; anywhere, if that is 0. Where the block was
// cut, lines that have no numbers may stand anywhere in it; so may those of a call.
func (l *lane) holdsAt(b int, want []string, there int) bool {
	p := l.rec.parts[b].part
	text, cut := l.view.edited[b]
	if p.Kind == llm.ToolCall {
		there = 0
	}
	if cut || there == 0 {
		shown := l.rec.texts.shown[b]
		if cut {
			shown = visible(textPart(p.Kind, text))
		}
		return slices.ContainsFunc(shown, func(text string) bool {
			patch := isPatch(text)
			return slices.ContainsFunc(settled(text), func(have []string) bool {
				return wholeAt(have, want, there, patch) || patch && wholeAt(withoutOld(have), want, there, patch)
			})
		})
	}
	from := func(have []string, first int) bool {
		i := there - first
		return i >= 0 && i+len(want) <= len(have) && slices.Equal(have[i:i+len(want)], want)
	}
	return slices.ContainsFunc(l.rec.sections(b), func(s dialect.Section) bool { return from(cleaned(s.Lines), max(1, s.First)) }) ||
		slices.ContainsFunc(hunks(p.Text), func(h hunk) bool { return from(h.lines, h.first) }) ||
		slices.ContainsFunc(settled(p.Text), func(have []string) bool { return from(have, 1) })
}

// hunk is what a diff shows of a file as it is now.
type hunk struct {
	first int
	lines []string
}

// hunks returns those of a diff in the unified form.
func hunks(text string) []hunk {
	var out []hunk
	if !isPatch(text) {
		return nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := hunkForm.FindStringSubmatch(line); m != nil {
			out = append(out, hunk{first: number(m[1])})
		} else if n := len(out); n > 0 && (line == "" || line[0] == ' ' || line[0] == '+') {
			out[n-1].lines = append(out[n-1].lines, clean(line[min(1, len(line)):]))
		}
	}
	return out
}

// wholeAt reports whether lines hold those of want one behind the other. If
// they have numbers, the first of them must be there, unless that is 0; a line
// that is the very one has none, whatever it begins with.
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

// withoutOld returns the lines of a patch without those that it takes away.
func withoutOld(patch []string) []string {
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
	if _, ok := behindNumber(line); !ok {
		return true
	}
	s := strings.TrimLeft(line, " ")
	return strings.HasPrefix(s, strconv.Itoa(n)) && (len(s) == len(strconv.Itoa(n)) || s[len(strconv.Itoa(n))] < '0' || s[len(strconv.Itoa(n))] > '9')
}

// isForm reports whether a line may be meant for want. Of a blank line only the
// number, or the mark of a patch, is left.
func isForm(line, want string, patch bool) bool {
	rest, numbered := behindNumber(line)
	found := line == want || numbered && rest == want ||
		want == "" && (patch && line == "+" || strings.Trim(line, " 0123456789") == "")
	forms(line, patch, func(form string) { found = found || form == want })
	return found
}

// follows reports whether a call behind block at, and its result, were not left
// out.
func (l *lane) follows(at, end int, is func(*llm.Part) bool) bool {
	for b := at + 1; b < end; b++ {
		if p := l.rec.parts[b].part; p.Kind == llm.ToolCall && is(p) &&
			!strings.Contains(l.view.edited[b], leftOutMark) && !strings.Contains(l.view.edited[l.rec.answer(b, end)], leftOutMark) {
			return true
		}
	}
	return false
}

// standReplaced reports whether each line of the texts that left a call's
// arguments stands in the request. The first and the last of a text may be parts
// of lines there.
func (l *lane) standReplaced(at int, args string) bool {
	left := visible(textPart(llm.ToolCall, args))
	for _, text := range l.rec.texts.shown[at] {
		if slices.Contains(left, text) {
			continue
		}
		lines := cleaned(slices.Collect(strings.Lines(text)))
		for i, line := range lines {
			if line == "" || l.view.shows(l.rec.texts.known([]string{line})) {
				continue
			}
			if i > 0 && i < len(lines)-1 || !l.showsPart(line) {
				return false
			}
		}
	}
	return true
}

// showsPart reports whether any block shows a text that holds a part of a line.
func (l *lane) showsPart(part string) bool {
	return slices.ContainsFunc(l.rec.holding(part, l.base, l.base+l.shown), func(b int32) bool { return l.view.uncut([]int32{b}) }) ||
		l.view.cutHolds(l.rec, func(texts []string) bool { return anyHolds(texts, part) })
}
