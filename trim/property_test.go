package trim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// world is a random history with the true content of each result: which file and lines it showed. It does not depend on dialect.
type world struct {
	conv
	files   map[string][]string
	edits   int
	truth   map[int][]exposure // by message
	written map[int]exposure   // by message of the call: the new text of an edit or a write
	asked   map[int]int        // by message of a result: the message of its call, if that is not the one before
	needs   []need

	searches map[int]bool // by message of the result
}

// exposure says what a result shows of one file, or what a call writes to it.
type exposure struct {
	path  string
	first int // the number of the first line; unnumbered: a call writes the text
	lines []string
	form  string // a key of forms; "": filesystem-read
}

const unnumbered = -1 << 30

// need is an edit: the message of its call, and the lines of its old text.
type need struct {
	message int
	path    string
	old     []string
}

func drawWorld(t *rapid.T) *world { return drawLongWorld(t, 25, "") }

// drawLongWorld draws a history of at most so many steps. The lines of its files end with more.
func drawLongWorld(t *rapid.T, steps int, more string) *world {
	w := &world{files: make(map[string][]string), truth: make(map[int][]exposure), written: make(map[int]exposure), asked: make(map[int]int), searches: make(map[int]bool)}
	if rapid.Bool().Draw(t, "times") {
		w.clock = noon
	}
	for _, name := range []string{"a.go", "b.go"} {
		for i := range rapid.IntRange(0, 60).Draw(t, "lines") {
			w.files[name] = append(w.files[name], fmt.Sprintf("text %d of the file %s", i%rapid.SampledFrom([]int{7, 100}).Draw(t, "alike"), name)+more)
		}
	}
	w.user("go on")
	for range rapid.IntRange(1, steps).Draw(t, "steps") {
		name := rapid.SampledFrom([]string{"a.go", "b.go"}).Draw(t, "file")
		switch rapid.IntRange(0, 13).Draw(t, "step") {
		case 0, 1:
			w.edit(t, name)
		case 2:
			w.call("filesystem-read", map[string]any{"filePath": name}, "Error: it did not work")
		case 3:
			w.run(t)
		case 4:
			w.several(t)
		case 5:
			w.user("and now?")
		case 6:
			w.write(t, name)
		case 7:
			w.lookAll(t, name, name, rapid.SampledFrom([]string{"a.go", "b.go"}).Draw(t, "third"))
		case 8:
			w.search(t)
		default:
			w.look(t, name)
		}
	}
	return w
}

// search adds a search that finds some lines of the files, and in some cases the lines around them.
func (w *world) search(t *rapid.T) {
	var b strings.Builder
	around := rapid.Bool().Draw(t, "around")
	for _, name := range []string{"a.go", "b.go"} {
		for i := rapid.IntRange(0, 9).Draw(t, "from"); i < len(w.files[name]); i += rapid.IntRange(1, 3).Draw(t, "next") {
			mark := ":"
			if around && i%3 > 0 {
				mark = "-"
			}
			fmt.Fprintf(&b, "./%s%s%d%s%s\n", name, mark, i+1, mark, w.files[name][i])
		}
	}
	command := map[string]any{"command": rapid.SampledFrom([]string{"rg -n text .", "grep -rn -C1 text ."}).Draw(t, "command")}
	w.searches[w.call("terminal-execute", command, b.String())] = true
}

// run adds a command. Its output repeats parts of what commands printed before.
func (w *world) run(t *rapid.T) {
	var b strings.Builder
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		from := rapid.IntRange(0, 30).Draw(t, "from")
		if rapid.Bool().Draw(t, "prints") {
			for _, line := range w.files[rapid.SampledFrom([]string{"a.go", "b.go"}).Draw(t, "printed")][min(from, len(w.files["a.go"]), len(w.files["b.go"])):] {
				b.WriteString(line + "\n")
			}
			continue
		}
		for i := range rapid.IntRange(0, 20).Draw(t, "printed") {
			fmt.Fprintf(&b, "the test of package number %d has passed\n", from+i)
		}
	}
	at := w.call("terminal-execute", map[string]any{"command": rapid.SampledFrom([]string{"make", "make test"}).Draw(t, "command")}, b.String())
	w.truth[at] = []exposure{{path: outputName, first: 1, lines: splitLines(b.String())}}
}

// write adds a write of a whole file.
func (w *world) write(t *rapid.T, name string) {
	w.edits++
	var lines []string
	for i := range rapid.IntRange(1, 20).Draw(t, "size") {
		lines = append(lines, fmt.Sprintf("line %d of what write %d made of it", i, w.edits))
	}
	w.files[name] = lines
	at := w.call("filesystem-create", map[string]any{"filePath": name, "content": strings.Join(lines, "\n") + "\n"}, "Written.")
	w.written[at-1] = exposure{path: name, first: unnumbered, lines: lines}
}

func (w *world) expose(t *rapid.T, name string) (exposure, string) {
	lines := w.files[name]
	first, last := 1, len(lines)
	if len(lines) > 0 && rapid.Bool().Draw(t, "ranged") {
		first = rapid.IntRange(1, len(lines)).Draw(t, "first")
		last = rapid.IntRange(first, len(lines)).Draw(t, "last")
	}
	spelt := rapid.SampledFrom([]string{"", "./"}).Draw(t, "spelling") + name
	var b strings.Builder
	fmt.Fprintf(&b, "📄 %s (lines %d-%d/%d)", spelt, first, last, len(lines))
	for n := first; n <= last; n++ {
		fmt.Fprintf(&b, "\n%d→%s", n, lines[n-1])
	}
	return exposure{path: name, first: first, lines: append([]string(nil), lines[first-1:last]...)}, b.String()
}

// several adds one call that reads both files.
func (w *world) several(t *rapid.T) {
	x, a := w.expose(t, "a.go")
	y, b := w.expose(t, "b.go")
	at := w.call("filesystem-read", map[string]any{"filePath": []string{"a.go", "b.go"}}, a+"\n\n"+b)
	w.truth[at] = []exposure{x, y}
}

func (w *world) edit(t *rapid.T, name string) {
	lines := w.files[name]
	if len(lines) == 0 {
		return
	}
	w.edits++
	i := rapid.IntRange(0, len(lines)-1).Draw(t, "at")
	j := rapid.IntRange(i, min(i+3, len(lines)-1)).Draw(t, "to")
	old := append([]string(nil), lines[i:j+1]...)
	var put []string
	for k := range rapid.IntRange(0, 4).Draw(t, "put") {
		put = append(put, fmt.Sprintf("written by edit %d, line %d", w.edits, k))
	}
	if rapid.IntRange(0, 4).Draw(t, "refused") == 0 {
		w.call("filesystem-edit", map[string]any{"filePath": name, "searchContent": "nowhere", "replaceContent": strings.Join(put, "\n")}, "Error: not found")
		return
	}
	next := append([]string(nil), lines[:i]...)
	next = append(append(next, put...), lines[j+1:]...)
	w.files[name] = next
	at := w.call("filesystem-edit", map[string]any{"filePath": name, "searchContent": strings.Join(old, "\n"), "replaceContent": strings.Join(put, "\n")}, "Edited.")
	w.needs = append(w.needs, need{at - 1, name, old})
	w.written[at-1] = exposure{path: name, first: unnumbered, lines: put}
}

// standing returns what the first n sent messages show.
func (w *world) standing(sent []llm.Message, n int) []exposure {
	var out []exposure
	for i := 0; i < n; i++ {
		if x, ok := w.written[i]; ok && sent[i].Parts[0].Args == w.messages[i].Parts[0].Args {
			out = append(out, x)
		}
		for _, x := range w.truth[i] {
			for k := range x.lines {
				if visible(sent[i], x, k) {
					out = append(out, exposure{path: x.path, first: x.first + k, lines: x.lines[k : k+1]})
				}
			}
		}
	}
	return out
}

// shows reports whether one of the exposures has the text as line n of the file.
func shows(in []exposure, path string, n int, text string) bool {
	for _, x := range in {
		if i := n - x.first; x.path == path && i >= 0 && i < len(x.lines) && x.lines[i] == text {
			return true
		}
	}
	return false
}

// TestInvariantsLossless checks the invariants of the engine under lossless, over random histories.
func TestInvariantsLossless(t *testing.T) {
	e := lossless(t)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		p := e.Plan(w.messages)
		out := llm.Apply(w.messages, p.Edits)

		// 1 (TRIM-16): every line that was left out stands in an earlier message, where its placeholder says.
		for i, xs := range w.truth {
			for _, x := range xs {
				checkPointers(t, w, out, i, x)
			}
		}
		for i := range w.searches {
			checkSearch(t, w.messages, out, i)
		}
		if p.Dangling != 0 {
			t.Fatalf("%d dangling", p.Dangling)
		}
		// 2: every call keeps its result and its id, in the same order.
		checkShape(t, w.messages, out)
		// 4: planning a planned request changes nothing, and the plan of the first n messages is the beginning of the plan of
		// all.
		if again := e.Plan(out); len(again.Edits) != 0 {
			t.Fatalf("planned again, it changes message %d to %q", again.Edits[0].Message, again.Edits[0].Text)
		}
		n := rapid.IntRange(0, len(w.messages)).Draw(t, "prefix")
		part := e.Plan(w.messages[:n])
		for i := range p.Edits {
			if p.Edits[i].Message >= n {
				break
			}
			if i >= len(part.Edits) || part.Edits[i] != p.Edits[i] {
				t.Fatalf("the plan of %d messages is no prefix of the plan of %d", n, len(w.messages))
			}
		}
		// 6: the text that an edit replaces stands in the request, if the agent could see it.
		for _, nd := range w.needs {
			for _, l := range nd.old {
				if hasLine(w.messages[:nd.message], l) && !hasLine(out[:nd.message], l) {
					t.Fatalf("the edit in message %d lost %q", nd.message, l)
				}
			}
		}
		// 7: if a read is asked again, the answer is in full.
		checkAskedAgain(t, w, out)
	})
}

// callOf returns the message of the call that the result in message i answers.
func (w *world) callOf(i int) int {
	if at, ok := w.asked[i]; ok {
		return at
	}
	return i - 1
}

func shownWhole(m llm.Message, x exposure) bool {
	for k := range x.lines {
		if !visible(m, x, k) {
			return false
		}
	}
	return true
}

func checkShape(t *rapid.T, in, out []llm.Message) {
	if len(in) != len(out) {
		t.Fatalf("%d messages became %d", len(in), len(out))
	}
	for i := range in {
		a, b := in[i], out[i]
		a.Parts, b.Parts = append([]llm.Part(nil), a.Parts...), append([]llm.Part(nil), b.Parts...)
		for j := range a.Parts {
			if a.Parts[j].Kind == llm.ToolResult {
				a.Parts[j].Text, b.Parts[j].Text = "", ""
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("message %d changed in more than its result", i)
		}
	}
}

// checkAskedAgain looks at two reads of one file without a change of the file between them. The first was shortened, the second
// shows lines that were left out, and no read between them does. If the second call was made after the first result, the second
// result must be in full.
func checkAskedAgain(t *rapid.T, w *world, out []llm.Message) {
	short := make(map[string]map[int]int) // by file and line: the message of the shortened result
	for i := range w.messages {
		if x, ok := w.written[i]; ok {
			delete(short, x.path)
		}
		if len(w.truth[i]) > 0 && w.truth[i][0].path == outputName {
			continue // see TestOutputAskedAgain
		}
		for _, x := range w.truth[i] {
			meets := false
			for k := range x.lines {
				at, left := short[x.path][x.first+k]
				meets = meets || left && at < w.callOf(i)
			}
			if meets && !shownWhole(out[i], x) {
				t.Fatalf("message %d: lines of %s asked again were not answered in full", i, x.path)
			}
			if meets {
				delete(short, x.path)
			}
			for k := range x.lines {
				if !visible(out[i], x, k) {
					if short[x.path] == nil {
						short[x.path] = make(map[int]int)
					}
					short[x.path][x.first+k] = i
				}
			}
		}
	}
}

// TRIM-16 under keep-latest: exactly the dangling stubs are counted.
func TestDanglingIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 3).Draw(t, "K")
		e, err := New(Config{Policy: KeepLatest, KeepReads: k})
		if err != nil {
			t.Fatal(err)
		}
		w := drawWorld(t)
		p := e.Plan(w.messages)
		out := llm.Apply(w.messages, p.Edits)
		checkShape(t, w.messages, out)
		standing, want := w.standing(out, len(out)), 0
		for i, xs := range w.truth {
			for _, x := range xs {
				if len(x.lines) == 0 || x.path == outputName || shownWhole(out[i], x) {
					continue
				}
				for n, l := range x.lines {
					if !shows(standing, x.path, x.first+n, l) {
						want++
						break
					}
				}
			}
		}
		if p.Dangling != want {
			t.Fatalf("dangling %d, want %d", p.Dangling, want)
		}
	})
}
