package replay

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

// anyCuts cuts other results at every request, as the numbers say.
type anyCuts struct {
	trail
	numbers []int
	planned int
}

func (a *anyCuts) Plan() Plan {
	var out []Cut
	for i := range a.results {
		a.planned++
		texts := []string{"", "[cut]", "     3→the text of line 3, some words long\n", `{"text":"the text of line 5, some words long"}`}
		if n := a.numbers[a.planned%len(a.numbers)]; n < len(texts) {
			out = append(out, Cut{llm.Edit{Message: a.results[i].message, Part: a.results[i].part, Text: texts[n]}, n == 1})
		}
	}
	return Plan{Cuts: out}
}

// The view and the prompt that are kept up from request to request are those
// of the request made anew, whatever is cut and taken back.
func TestViewIsThatOfTheRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t)
		numbers := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(t, "cuts")
		c := Config{Counter: bytes{}, Overhead: -1}
		r := newRecording(s, &c)
		r.prepare()
		l := &lane{rec: r, view: newView(r.texts), from: -1, dangling: make(map[int]bool), policy: &Policy{
			Begin: func(s Setting) Planner { return &anyCuts{trail: newTrail(s), numbers: numbers} },
		}}
		for i := range r.requests {
			q := &r.requests[i]
			if q.from != l.from {
				l.begin(q)
			}
			l.request(q, nil)

			count := make([]int32, len(r.texts.ids))
			texts := make(map[int]string)
			for n := range l.cuts {
				texts[l.at(&l.cuts[n])] = l.cuts[n].Text
			}
			size := 0
			for at := r.first[q.from]; at < r.first[q.to]; at++ {
				part := *r.parts[at].part
				if text, ok := texts[at]; ok {
					part = edited(&part, text)
				}
				size += partTokens(&part, bytes{})
				for _, id := range r.texts.known(visible(&part)) {
					count[id]++
				}
			}
			if size != l.prompt.size() || !slices.Equal(count, l.view.count) || !maps.Equal(texts, l.view.edited) {
				t.Fatalf("request %d: %d tokens, want %d; lines %v, want %v", i, l.prompt.size(), size, l.view.count, count)
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, text := range []string{"a\nb", "  12→x\r\n", "@@ -1 +1 @@\n-a\n+b", `{"a":"b\nc"}`, "\x1b[31mred\x1b[", "10%\r20%", "1.", "7:", "\x1b"} {
		f.Add(text, "b")
	}
	f.Fuzz(func(t *testing.T, text, want string) {
		for _, shown := range visible(&llm.Part{Kind: llm.ToolResult, Text: text}) {
			eachLine(shown, func(line string) {
				if line == "" || strings.Contains(line, "\n") {
					t.Errorf("%q is no line of %q", line, shown)
				}
			})
		}
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, clean(line))
		}
		if len(lines) > 1 && !inOnePiece(text, lines) {
			t.Errorf("%q does not hold its own lines", text)
		}
		if inOnePiece(text, []string{want}) != strings.Contains(text, want) {
			t.Errorf("%q in %q", want, text)
		}
	})
}
