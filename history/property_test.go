package history

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// world is a random history with its truth: which file and lines each result
// showed, independent of what dialect makes of it.
type world struct {
	conv
	files map[string][]string
	edits int
	truth map[int][]exposure // by message
	needs []need
}

// exposure is what a result shows of one file.
type exposure struct {
	path  string
	first int
	lines []string
}

// need is an edit: the lines of its old text, and the message of its call.
type need struct {
	message int
	path    string
	old     []string
}

func drawWorld(t *rapid.T) *world {
	w := &world{files: make(map[string][]string), truth: make(map[int][]exposure)}
	if rapid.Bool().Draw(t, "times") {
		w.clock = noon
	}
	for _, name := range []string{"a.go", "b.go"} {
		for i := range rapid.IntRange(0, 40).Draw(t, "lines") {
			w.files[name] = append(w.files[name], fmt.Sprintf("text %d of the file %s", i%7, name))
		}
	}
	w.user("go on")
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		name := rapid.SampledFrom([]string{"a.go", "b.go"}).Draw(t, "file")
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			w.edit(t, name)
		case 1:
			w.call("filesystem-read", map[string]any{"filePath": name}, "Error: it did not work")
		case 2:
			w.call("terminal-execute", map[string]any{"command": "make"}, strings.Repeat("make: nothing to do\n", 9))
		case 3:
			w.batch(t)
		case 4:
			w.user("and now?")
		default:
			w.look(t, name)
		}
	}
	return w
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
	return exposure{name, first, append([]string(nil), lines[first-1:last]...)}, b.String()
}

func (w *world) look(t *rapid.T, name string) {
	x, text := w.expose(t, name)
	at := w.call("filesystem-read", map[string]any{"filePath": name, "startLine": x.first, "endLine": x.first + len(x.lines) - 1}, text)
	w.truth[at] = []exposure{x}
}

func (w *world) batch(t *rapid.T) {
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
	put := []string{fmt.Sprintf("written by edit %d", w.edits)}[:rapid.IntRange(0, 1).Draw(t, "put")]
	next := append([]string(nil), lines[:i]...)
	next = append(append(next, put...), lines[j+1:]...)
	w.files[name] = next
	at := w.call("filesystem-edit", map[string]any{"filePath": name, "searchContent": strings.Join(old, "\n"), "replaceContent": strings.Join(put, "\n")}, "Edited.")
	w.needs = append(w.needs, need{at - 1, name, old})
}

// standing tells what stands whole in the messages before n that were sent.
func (w *world) standing(sent []llm.Message, n int) []exposure {
	var out []exposure
	for i := 0; i < n; i++ {
		for _, x := range w.truth[i] {
			var b strings.Builder
			for k, l := range x.lines {
				fmt.Fprintf(&b, "\n%d→%s", x.first+k, l)
			}
			if strings.Contains(sent[i].Parts[0].Text, b.String()) {
				out = append(out, x)
			}
		}
	}
	return out
}

// shows reports whether line n of a file stands in one of the exposures.
func shows(in []exposure, path string, n int, text string) bool {
	for _, x := range in {
		if i := n - x.first; x.path == path && i >= 0 && i < len(x.lines) && x.lines[i] == text {
			return true
		}
	}
	return false
}

// The invariants of the engine under lossless, over random histories.
func TestInvariantsLossless(t *testing.T) {
	e := lossless(t)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		p := e.Plan(w.messages)
		out := llm.Apply(w.messages, p.Edits)

		// 1 (TRIM-16): every line that was left out stands whole above.
		for i, xs := range w.truth {
			for _, x := range xs {
				if shownWhole(out[i], x) {
					continue
				}
				above := w.standing(out, i)
				for k, l := range x.lines {
					if !shows(above, x.path, x.first+k, l) {
						t.Fatalf("message %d: line %d of %s was left out and stands nowhere above", i, x.first+k, x.path)
					}
				}
			}
		}
		if p.Dangling != 0 {
			t.Fatalf("%d dangling", p.Dangling)
		}
		// 2: every call keeps its result and its id, in the same order.
		checkShape(t, w.messages, out)
		// 4: planning a plan changes nothing, and the plan of a prefix is a
		// prefix of the plan.
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
		// 6: what an edit needs and could see, it sees.
		for _, nd := range w.needs {
			with, without := w.standing(out, nd.message), w.standing(w.messages, nd.message)
			for _, l := range nd.old {
				if holds(without, nd.path, l) && !holds(with, nd.path, l) {
					t.Fatalf("the edit in message %d lost %q", nd.message, l)
				}
			}
		}
		// 7: asked again, the answer is in full.
		checkInsisting(t, w, out)
	})
}

func shownWhole(m llm.Message, x exposure) bool {
	var b strings.Builder
	for k, l := range x.lines {
		fmt.Fprintf(&b, "\n%d→%s", x.first+k, l)
	}
	return strings.Contains(m.Parts[0].Text, b.String())
}

func holds(in []exposure, path, text string) bool {
	for _, x := range in {
		for _, l := range x.lines {
			if x.path == path && l == text {
				return true
			}
		}
	}
	return false
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

// checkInsisting: two reads of one file of which the first was answered with
// one line and the second meets its lines with none between are never both
// short.
func checkInsisting(t *rapid.T, w *world, out []llm.Message) {
	short := make(map[string]*exposure)
	for i := range w.messages {
		for k := range w.truth[i] {
			x := &w.truth[i][k]
			if len(x.lines) == 0 {
				continue
			}
			s, whole := short[x.path], shownWhole(out[i], *x)
			meets := s != nil && s.first < x.first+len(x.lines) && x.first < s.first+len(s.lines)
			if meets && !whole {
				t.Fatalf("message %d: lines of %s asked again were answered with one line", i, x.path)
			}
			if !whole {
				short[x.path] = x
			} else if meets {
				delete(short, x.path)
			}
		}
	}
}

// TRIM-16 under keep-latest: what dangles is counted, all of it and no more.
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
				if len(x.lines) == 0 || shownWhole(out[i], x) {
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
