package trim

// A fold: a long output of a command that reports something leaves lines out when it is
// sent for the first time. The agent sees them with the command that a line in their place
// names.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/stet-dev/stet/trim/dialect"
)

// How much of an output stays, in bytes of whole lines. Twice and half as much brought about
// the same in recorded sessions.
const (
	foldFrom  = 3000 // shorter outputs stay whole
	foldHead  = 700  // at the beginning
	foldTail  = 1300 // at the end
	foldTold  = 1500 // lines between that warn, or sum up
	foldFound = 1500 // the first line that a search found in each file
	foldGap   = 400  // fewer are not left out in one place
)

// foldLooked is how many bytes what a search found has at least to be folded, and a page of the web.
// In recorded sessions one of the next four answers used half of such folds, mostly by a name or by the
// number of a line, and of those of reports none: so it takes more to fold them.
const foldLooked = 12_000

// minFiles is in how many files a search must have found lines that is folded. The lines of
// a few files may be what an edit is made from.
const minFiles = 4

// showCommand is the command that shows lines which a fold left out.
const showCommand = "stet show"

// Fold is the text of an output that was folded.
type Fold struct {
	ID   string // 16 hexadecimal digits, a hash of Text
	Text string
}

// FoldID names the text of an output.
func FoldID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// asksForFold reports whether a call asks for lines that a fold left out. Its output stays
// whole.
func asksForFold(a *dialect.Action) bool {
	return a.Op == dialect.Shell && strings.Contains(a.Command, showCommand+" ")
}

// folded is an output as it is sent once it is folded.
type folded struct {
	text string
	gaps []span // half-open ranges of indexes of its lines
}

// foldOf returns an output as it is folded, nil if it is not. That is decided once, when it
// arrives.
func (st *State) foldOf(res *toolResult, text string, lines []string) *folded {
	if !res.sent {
		res.folded = st.fold(res, text, lines)
	}
	return res.folded
}

func (st *State) fold(res *toolResult, text string, lines []string) *folded {
	kind := st.foldable(res, text)
	if kind == dialect.NoReport {
		return nil
	}
	rows := plainRows(text, 0, len(text), len(lines)+2)
	if len(rows) != len(lines)+1 {
		return nil
	}
	f := folding{lines: lines, rows: rows, stays: make([]bool, len(lines)), under: make([]int, len(lines))}
	if kind == dialect.Found {
		f.under = pathsAbove(lines)
	}
	f.keepEnds()
	if !f.stays[0] && !f.stays[len(lines)-1] { // they are too long
		return nil
	}
	switch kind {
	case dialect.Told:
		f.keepTelling()
	case dialect.Page:
		f.keepAsked(res.call.args)
	case dialect.Found:
		files, kept := f.keepFound()
		if files < minFiles || kept == 0 {
			return nil
		}
	}
	for i, line := range lines {
		f.stays[i] = f.stays[i] || st.namesWork(line) || f.under[i] > 0 && st.namesWork(f.pathOf(i))
	}
	for i := range lines {
		if f.stays[i] && f.under[i] > 0 {
			f.stays[i-f.under[i]] = true
		}
	}
	return f.cut(text)
}

// foldable returns what kind of report an output is that may be folded. What was looked for, in files or on the
// web, is folded only where thinking is checked and the provider clears nothing: elsewhere it leaves later, when the agent has
// used it.
func (st *State) foldable(res *toolResult, text string) dialect.Report {
	c := &st.engine.config
	a := &res.call.action
	if !c.Fold || c.Policy != Bold || !st.shell || res.marked || a.Once || len(text) < foldFrom {
		return dialect.NoReport
	}
	kind := a.Reports(text)
	if kind == dialect.Told && failure.MatchString(text) || kind != dialect.Told && (!c.staysSent() || len(text) < foldLooked) {
		return dialect.NoReport
	}
	return kind
}

// staysSent reports whether nothing leaves any more that was sent.
func (c *Config) staysSent() bool {
	return c.ChecksThinking && !c.Clears
}

// failure is what a report has that tells of a failure, whether or not the exit code says so. Such a
// report stays whole: the details of a failure stand in the middle of it.
var failure = regexp.MustCompile(`(?m)` + strings.Join([]string{
	`(?i:\b(?:exit|exited)(?: with)?(?: code| status)?:? +[1-9])`,
	`(?i:\b[1-9]\d* (?:failed|failing|failures?|errors?)\b)`,
	`(?i:\b(?:failed|failures?|errors?)[:=] *[1-9])`,
	`(?i:\berror(?::| [A-Z]*\d|\[))`,
	`\b(?:FAIL|FAILED|ERROR|FATAL|ERR!|ELIFECYCLE|Traceback)\b`,
	`^[^\w\n]*(?i:error|fatal|panic|failed|failure|exception)\b`,
	`^[^\w\n]*[✗✘✖×●]`,
	`^[^\s:]+:\d+(?::\d+)?: `, // what a compiler says of a line
}, "|"))

// folding chooses which lines of an output stay.
type folding struct {
	lines []string
	rows  []int // where they begin in the text, and where it ends
	stays []bool
	under []int // how many lines above it the path of a line stands that a search found; 0: it has none there
}

// pathOf returns the path of a line that has it above.
func (f *folding) pathOf(i int) string { return f.lines[i-f.under[i]] }

// keep keeps a line if that is within a budget, and returns what is left of it.
func (f *folding) keep(i, budget int) int {
	if size := f.rows[i+1] - f.rows[i]; !f.stays[i] && size <= budget {
		f.stays[i] = true
		return budget - size
	}
	return budget
}

// keepEnds keeps the first and the last lines.
func (f *folding) keepEnds() {
	budget := foldHead
	for i := 0; i < len(f.lines) && f.rows[i+1]-f.rows[i] <= budget; i++ {
		budget = f.keep(i, budget)
	}
	budget = foldTail
	for i := len(f.lines) - 1; i >= 0 && f.rows[i+1]-f.rows[i] <= budget; i-- {
		budget = f.keep(i, budget)
	}
}

// keepTelling keeps lines that warn, or sum up.
func (f *folding) keepTelling() {
	budget := foldTold
	for i, line := range f.lines {
		if !f.stays[i] && tells(line) {
			budget = f.keep(i, budget)
		}
	}
}

// telling are the words of lines that warn, or sum up.
var telling = []string{
	"error", "fail", "warn", "exception", "denied", "not found", "cannot", "deprecated", "passed", "summary", "vulnerabilit",
}

func tells(line string) bool {
	line = strings.ToLower(line)
	for _, word := range telling {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// askedWord is a word of a call that may tell what a page was fetched for.
var askedWord = regexp.MustCompile(`[\pL\pN_]{4,}`)

// foldCommon is in how many lines of a page a word may stand that tells what the page was fetched for.
const foldCommon = 12

// keepAsked keeps lines that have a word of the call that fetched them, unless it stands in many, and the line below each.
func (f *folding) keepAsked(args string) {
	budget := foldTold
	for _, word := range askedWord.FindAllString(strings.ToLower(args), -1) {
		var in []int
		for i, line := range f.lines {
			if strings.Contains(strings.ToLower(line), word) {
				in = append(in, i)
			}
		}
		if len(in) > foldCommon {
			continue
		}
		for _, i := range in {
			if budget = f.keep(i, budget); i+1 < len(f.lines) {
				budget = f.keep(i+1, budget)
			}
		}
	}
}

// keepFound keeps the first line that was found in each file. It returns in how many files some were found, and how many
// of these lines stay.
func (f *folding) keepFound() (files, stay int) {
	known := make(map[string]bool)
	budget := foldFound
	for i, line := range f.lines {
		name, _, ok := strings.Cut(line, ":")
		if f.under[i] > 0 {
			name, ok = f.pathOf(i), true
		}
		if !ok || name == "" || known[name] {
			continue
		}
		known[name] = true
		if budget = f.keep(i, budget); f.stays[i] {
			if strings.ContainsAny(name, "/.") && !strings.Contains(name, " ") { // "Output:" names no file
				stay++
			}
			budget = f.keep(i-f.under[i], budget)
		}
	}
	return len(known), stay
}

// cut leaves the lines out that do not stay. It returns nil where that is not worth it.
func (f *folding) cut(text string) *folded {
	var out folded
	var b strings.Builder
	id := FoldID(text)
	for i, j := 0, 0; i < len(f.lines); i = j {
		for j = i; j < len(f.lines) && f.stays[j] == f.stays[i]; j++ {
		}
		if f.stays[i] || f.rows[j]-f.rows[i] < foldGap {
			b.WriteString(text[f.rows[i]:f.rows[j]])
			continue
		}
		b.WriteString(foldPlaceholder(id, span{i + 1, j}, len(f.lines)))
		b.WriteByte('\n')
		out.gaps = append(out.gaps, span{i, j})
	}
	if 2*b.Len() > len(text) {
		return nil
	}
	out.text = b.String()
	return &out
}

const foldRun = ` lines left out; run "` + showCommand + " "

// foldPlaceholder stands for lines of an output.
func foldPlaceholder(id string, lines span, of int) string {
	return mark + thousands(lines.last-lines.first+1) + " of " + thousands(of) + foldRun + id + " " + lines.String() + `" to see them]`
}

// isFolded reports whether an output came folded.
func isFolded(text string) bool { return strings.Contains(text, foldRun) }

// thousands writes a number with a comma between its thousands.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// minName is how many bytes the name of a file has at least that lines are searched for.
const minName = 4

// atWork notes the name of a file that a call is about.
func (st *State) atWork(name string) {
	if base := path.Base(strings.ReplaceAll(name, `\`, "/")); len(base) >= minName {
		st.working[base] = true
	}
}

// namesWork reports whether a line names a file that a call was about, with or without
// its directory.
func (st *State) namesWork(line string) bool {
	for name := range strings.FieldsFuncSeq(line, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	}) {
		if len(name) >= minName && st.working[name] {
			return true
		}
	}
	return false
}
