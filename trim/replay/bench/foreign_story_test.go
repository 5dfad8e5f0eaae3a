package bench

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm/tokens"
)

// story is an invented session, before it is written in the format of an agent.
type story struct {
	model string // of the first answer
	beats []beat
	sides [][]beat // sub-agents

	windows bool // the project is on a drive of Windows
}

// beat is one of these: words of a user, an answer with calls and their results, or a summary after which the agent continues.
type beat struct {
	at      time.Time // zero: no time is recorded
	user    string
	thought string // the thinking of an answer
	words   string // the text of an answer
	acts    []act
	model   string // the model that answered
	used    int    // reported input tokens; 0: none are reported
	read    int    // those of them that were read from a cache
	summary string
}

func (b *beat) answers() bool { return b.user == "" && b.summary == "" }

// act is a call and its result.
type act struct {
	op       string // read, edit, write, run
	id, path string
	from     int // number of the first shown line; the first line of a file is 1
	whole    bool
	shown    []string // the lines that are shown or printed
	total    int      // lines of the file
	old, new string
	command  string
	failed   bool // the result is an error
	lost     bool // there is no result
	image    bool // there is an image beside the result
}

// shape says in what a story differs from an ordinary session.
type shape struct {
	steps                      int    // number of answers
	huge                       int    // number of lines in the output of a command
	mute                       bool   // the agent has no tools
	twice, lose, pictures      bool   // ids that are used again; missing results; images
	sides, compacts            bool   // sub-agents, summaries
	timeless, backward, silent bool   // no times, times that go back, no usage
	models                     int    // number of models that take turns; 0 means one
	model                      string // the name of the model
	gaps                       bool   // pauses that caches do not outlive
	spelled, windows           bool   // paths in several spellings; the same on Windows
	thinks                     bool   // answers begin with thinking; the models that take turns are of several kinds
}

// generator invents a story.
type generator struct {
	shape
	t     *rapid.T
	s     story
	files map[string][]string
	clock time.Time
	used  map[string]time.Time // by model: the latest time of its answers
	calls int
	file  string // that the last act was about
	size  int    // approximate number of tokens so far
}

// styles are forms of lines in files, and of thinking: code, text in other scripts, lines with numbers, lines of patches, lines like stet's
// own placeholders, lines that end in a carriage return, and texts whose tokens have few bytes or many (base64, signs, prose).
var styles = []string{
	"row %d of %s grows beans", "\tif row == %d { // %s", "第%d行在%s里", "%d\t%s", "+row %d of %s", "row %d of %s\r",
	"[stet: %d lines of %s, as the engine's own begin.", "q%dZx0Jk9vT2hQbW5RcXk3SGZ3T0pMaXhkU2Y4Zk1wYTd=%s",
	"{[(%d+=-*/)]};!=<>&&||::->%s", "internationalization considerations regarding %d throughout %s notwithstanding", "🫛🌱%d🥕🌿%s",
}

// generate invents a story of this shape.
func generate(t *rapid.T, s shape) *story {
	w := &generator{shape: s, t: t, files: make(map[string][]string), used: make(map[string]time.Time), clock: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), size: 15_000}
	if w.model == "" {
		w.model = "claude-sonnet-4-5"
	}
	w.s.model, w.s.windows = w.model, w.windows
	for _, name := range []string{"garden.go", "beds/beans.go", "beds/peas.md"} {
		blank := rapid.IntRange(0, 9).Draw(t, "blank") // one of five lines is blank, if this is below 5
		style := rapid.SampledFrom(styles).Draw(t, "style")
		alike := rapid.SampledFrom([]int{3, 40, 500}).Draw(t, "alike")
		for i := range rapid.IntRange(0, 120).Draw(t, "lines") {
			line := fmt.Sprintf(style, i%alike, name)
			if i%5 == blank {
				line = ""
			}
			w.files[name] = append(w.files[name], line)
		}
	}
	w.s.beats = w.work(w.steps)
	if w.sides {
		for range rapid.IntRange(1, 3).Draw(t, "sides") {
			w.s.sides = append(w.s.sides, w.work(rapid.IntRange(1, 8).Draw(t, "side")))
		}
	}
	return &w.s
}

// work returns so many answers, with words of the user between them.
func (w *generator) work(steps int) []beat {
	beats := []beat{{at: w.tick(0), user: "Please put the garden in order."}}
	for n := range steps {
		switch rapid.IntRange(0, 9).Draw(w.t, "between") {
		case 0:
			beats = append(beats, beat{at: w.tick(0), user: rapid.SampledFrom([]string{"And now the beans.", "Go on, please.", "Take that back."}).Draw(w.t, "said")})
		case 1:
			if w.compacts {
				beats = append(beats, beat{at: w.tick(0), summary: "So far the rows were counted. Go on with the beans."})
			}
		}
		beats = append(beats, w.answer(n))
	}
	return beats
}

func (w *generator) answer(n int) beat {
	b := beat{model: w.model}
	if w.models > 1 {
		b.model = fmt.Sprintf("%s-%d", w.model, n%w.models)
		if w.thinks {
			b.model = []string{"claude-opus-4-6", "claude-haiku-4-5", "claude-opus-5-5"}[n/3%w.models]
		}
	}
	if w.thinks && rapid.IntRange(0, 2).Draw(w.t, "thinks about it") > 0 {
		thought := fmt.Sprintf(rapid.SampledFrom(styles).Draw(w.t, "style of thought"), n, "the row")
		b.thought = strings.Repeat(thought+"? ", rapid.IntRange(1, 150).Draw(w.t, "thought"))
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(w.t, "calls") {
		if !w.mute {
			b.acts = append(b.acts, w.act())
		}
	}
	if len(b.acts) == 0 || rapid.Bool().Draw(w.t, "words") {
		b.words = fmt.Sprintf("The rows are as they should be, %d of them.", n)
	}
	b.at = w.tick(rapid.IntRange(0, 40).Draw(w.t, "thinks"))
	if !w.silent {
		b.used, b.read = w.size, w.size*rapid.IntRange(0, 10).Draw(w.t, "cached")/10
		if w.outlived(b.model) {
			b.read = 0
		}
	}
	for _, a := range b.acts {
		if w.size += billed(a.old+a.new) + 40; !a.failed && !a.lost {
			w.size += billed(strings.Join(a.shown, "\n"))
		}
		if a.image && !a.lost {
			w.size += billed(picture)
		}
	}
	w.size += billed(b.thought)
	return b
}

// billed is how many tokens a provider reports of a text. Its models count more than the estimate.
func billed(text string) int { return tokens.Estimate{}.Count(text) * 6 / 5 }

// outlived notes that a model answers, and reports whether no cache lives so long by the word of its provider.
func (w *generator) outlived(model string) bool {
	last, known := w.used[model]
	latest := w.clock
	for _, at := range w.used {
		if at.After(latest) {
			latest = at
		}
	}
	w.used[model] = latest
	longest := time.Hour
	if strings.HasPrefix(model, "claude") {
		longest = 5 * time.Minute
	}
	return known && latest.Sub(last) > longest
}

// tick advances the clock by some seconds, or by much more.
func (w *generator) tick(seconds int) time.Time {
	if w.timeless {
		return time.Time{}
	}
	pauses := []time.Duration{0}
	if w.gaps {
		pauses = append(pauses, 0, 0, 4*time.Minute, 6*time.Minute, 12*time.Minute, 50*time.Minute, 2*time.Hour)
	}
	if w.backward {
		pauses = append(pauses, -time.Minute, -time.Hour)
	}
	w.clock = w.clock.Add(time.Duration(seconds)*time.Second + rapid.SampledFrom(pauses).Draw(w.t, "pause"))
	return w.clock
}

func (w *generator) act() act {
	w.calls++
	a := act{id: fmt.Sprint("call_", w.calls), path: rapid.SampledFrom([]string{"garden.go", "beds/beans.go", "beds/peas.md"}).Draw(w.t, "file")}
	if stays := w.spelled || w.windows; stays && w.file != "" && rapid.IntRange(0, 30).Draw(w.t, "another file") > 0 {
		a.path = w.file // so that no other file is touched for long
	}
	w.file = a.path
	if w.twice && w.calls > 1 && rapid.IntRange(0, 3).Draw(w.t, "again") == 0 {
		a.id = fmt.Sprint("call_", rapid.IntRange(1, w.calls-1).Draw(w.t, "id"))
	}
	a.lost = w.lose && rapid.IntRange(0, 3).Draw(w.t, "lost") == 0
	a.image = w.pictures && rapid.IntRange(0, 2).Draw(w.t, "image") == 0
	a.failed = rapid.IntRange(0, 15).Draw(w.t, "fails") == 0
	switch rapid.IntRange(0, 9).Draw(w.t, "op") {
	case 0, 1:
		w.run(&a)
	case 2, 3:
		w.edit(&a)
	case 4:
		w.write(&a)
	default:
		w.read(&a)
	}
	if w.spelled || w.windows {
		spelled := w.spell(a.path, a.op == "run")
		a.command, a.path = strings.ReplaceAll(a.command, a.path, spelled), spelled
	}
	return a
}

// spell returns one of the spellings of a path.
func (w *generator) spell(path string, inShell bool) string {
	roots := []string{"", "./", "/home/me/project/", "~/project/", "/home/me/project/beds/../"}
	if w.windows {
		roots = []string{"", `C:\Users\me\project\`, `c:\Users\Me\project\`, "C:/Users/me/project/", "/c/Users/me/project/", "~/project/"}
	}
	path = rapid.SampledFrom(roots).Draw(w.t, "spelled") + path
	if w.windows && !inShell && strings.Contains(path, `\`) {
		path = strings.ReplaceAll(path, "/", `\`)
	} else if inShell {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	return path
}

func (w *generator) read(a *act) {
	lines := w.files[a.path]
	a.op, a.from, a.whole, a.total = "read", 1, true, len(lines)
	to := len(lines)
	if to > 0 && rapid.IntRange(0, 2).Draw(w.t, "ranged") == 0 {
		a.whole = false
		a.from = rapid.IntRange(1, to).Draw(w.t, "from")
		to = rapid.IntRange(a.from, to).Draw(w.t, "to")
	}
	a.shown = append([]string(nil), lines[a.from-1:to]...)
}

// run makes the act a command that prints a report, changes nothing, or shows a file.
func (w *generator) run(a *act) {
	a.op, a.command = "run", rapid.SampledFrom([]string{"make", "make test", "git status", "go test ./...", "", "ls beds"}).Draw(w.t, "command")
	if a.command == "" {
		a.command, a.shown = "cat "+a.path, append([]string(nil), w.files[a.path]...)
		return
	}
	n := rapid.IntRange(0, 60).Draw(w.t, "printed")
	if w.huge > 0 && rapid.IntRange(0, 3).Draw(w.t, "huge") == 0 {
		n = w.huge
	}
	of := rapid.SampledFrom([]int{1, 7, 1000}).Draw(w.t, "of")
	style := rapid.SampledFrom([]string{"bed %d of the garden is watered", "\x1b[32mok\x1b[0m bed %d", "  %d %%\r  100 %%", "@@ -%[1]d,3 +%[1]d,3 @@"}).Draw(w.t, "prints")
	for i := range n {
		a.shown = append(a.shown, fmt.Sprintf(style, i%of))
	}
}

func (w *generator) edit(a *act) {
	lines := w.files[a.path]
	if len(lines) == 0 {
		w.write(a)
		return
	}
	i := rapid.IntRange(0, len(lines)-1).Draw(w.t, "at")
	j := rapid.IntRange(i, min(i+4, len(lines)-1)).Draw(w.t, "till")
	var put []string
	for k := range rapid.IntRange(1, 4).Draw(w.t, "put") {
		put = append(put, fmt.Sprintf("edit %d planted leek %d", w.calls, k))
	}
	a.op, a.old, a.new = "edit", strings.Join(lines[i:j+1], "\n"), strings.Join(put, "\n")
	if n := len(lines[i]); i == j && n > 8 && rapid.Bool().Draw(w.t, "part") {
		from := n / 3
		for !utf8.RuneStart(lines[i][from]) {
			from++
		}
		a.old = lines[i][from:]
		put = []string{lines[i][:from] + put[0]}
		a.new = put[0][from:]
	}
	if !a.failed {
		w.files[a.path] = append(append(append([]string(nil), lines[:i]...), put...), lines[j+1:]...)
	}
}

func (w *generator) write(a *act) {
	var lines []string
	for i := range rapid.IntRange(1, 40).Draw(w.t, "size") {
		lines = append(lines, fmt.Sprintf("write %d sowed row %d", w.calls, i))
	}
	a.op, a.new = "write", strings.Join(lines, "\n")+"\n"
	if !a.failed {
		w.files[a.path] = lines
	}
}
