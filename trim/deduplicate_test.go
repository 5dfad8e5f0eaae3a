package trim

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

func lossless(t testing.TB) *Engine { return newEngine(t, Config{Policy: Lossless}) }

// TRK-10 (TRK-6 has the words of stet's own tools): a repeat becomes one line that names where the lines stand. If the agent asks
// again at once, the answer is in full. A third time it is one line again.
func TestRepeatAndAskAgain(t *testing.T) {
	c := &conv{clock: noon}
	c.read("src/a.ts", 1, 100, 100)
	again := c.read("src/a.ts", 1, 100, 100)
	c.read("src/a.ts", 1, 100, 100) // asks again
	third := c.read("./src/a.ts", 1, 100, 100)
	p := expectLeft(t, lossless(t), c, again, third)
	if p.Reads != 4 || p.Repeats != 2 || p.Dangling != 0 {
		t.Errorf("stats %+v", p.Stats)
	}
	if text := p.Edits[0].Text; text != "[stet: src/a.ts lines 1-100 unchanged: shown above by call_1 (lines 1-100). Ask again for the full text.]" {
		t.Errorf("%q", text)
	}
	if text := p.Edits[1].Text; !strings.Contains(text, "by call_3 ") {
		t.Errorf("%q should point at the newest whole text, call_3", text)
	}
}

// TRK-9: the shown lines decide whether a read is a repeat. The file's name does not.
func TestWhatWasShownDecides(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 50, 200)
	c.read("a.ts", 51, 100, 200)          // other lines
	inside := c.read("a.ts", 20, 80, 200) // all shown before, in two pieces
	c.read("a.ts", 97, 130, 200)          // mostly new
	c.read("b.ts", 1, 50, 200)            // another file
	other := c.read("a.ts", 85, 130, 200) // shown before, and not asked for before
	c.call("filesystem-read", `{"filePath":"a.ts"}`, strings.Replace(shown("a.ts", 1, 50, 201), "line 7 ", "LINE 7 ", 1))
	p := expectLeft(t, lossless(t), c, inside, other)
	if !strings.Contains(p.Edits[0].Text, "call_1 (lines 20-50), call_2 (lines 51-80)") {
		t.Errorf("%q should name both calls, each with its lines", p.Edits[0].Text)
	}
}

// A read is "asked again" if it shows any of the shortened lines again, at any distance.
func TestAskAgainLater(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 100, 200)
	again := c.read("a.ts", 1, 100, 200)
	for i := range 20 {
		c.read("other"+string(rune('a'+i))+".ts", 1, 30, 30)
	}
	c.read("a.ts", 40, 70, 200) // it shows some of them again, so it is in full
	next := c.read("a.ts", 40, 70, 200)
	expectLeft(t, lossless(t), c, again, next)
}

// TRIM-3, TRIM-4: failures, results of other tools and short texts stay.
func TestWhatLosslessLeaves(t *testing.T) {
	c := &conv{clock: noon}
	for range 3 {
		c.call("filesystem-read", `{"filePath":"x.ts"}`, "Error: File not found: x.ts "+strings.Repeat("and on ", 50))
		c.call("terminal-execute", `{"command":"ls"}`, "a.ts\nb.ts\nc.ts\n")
		c.call("filesystem-edit", `{"filePath":"x.ts"}`, strings.Repeat("-a\n+b\n", 90))
		c.read("short.ts", 1, 2, 2)
	}
	expectLeft(t, lossless(t), c)
}

// Of a batch, the new parts stay.
func TestRepeatInBatch(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	both := c.call("filesystem-read", `{"filePath":["a.ts","b.ts"]}`, shown("a.ts", 1, 60, 60)+"\n\n"+shown("b.ts", 1, 60, 60))
	p := expectLeft(t, lossless(t), c, both)
	if text := p.Edits[0].Text; strings.Contains(text, "line 9 of a.ts") || !strings.Contains(text, shown("b.ts", 1, 60, 60)) {
		t.Errorf("want one line for a.ts and b.ts whole:\n%s", text)
	}
}

// TRIM-18: off leaves out nothing; adaptive and bold deduplicate like lossless.
func TestPolicies(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	again := c.read("a.ts", 1, 60, 60)
	expectLeft(t, newEngine(t, Config{Policy: Off}), c)
	expectLeft(t, newEngine(t, Config{}), c, again)
	expectLeft(t, newEngine(t, Config{Policy: Bold}), c, again)
}

// stet's own placeholders may come back, in a resumed session of an agent that stored them.
func TestOwnLinesAreRecognised(t *testing.T) {
	c := &conv{clock: noon}
	c.read("src/[id]/a.ts", 1, 100, 100)
	again := c.read("src/[id]/a.ts", 1, 100, 100)
	e := lossless(t)
	out, p := sent(t, e, c.messages)
	if got := findPointers(out[again].Parts[0].Text); len(got) != 1 || got[0].name != "src/[id]/a.ts" || got[0].lines.first != 1 || got[0].lines.last != 100 {
		t.Fatalf("own line not recognised: %q gives %v", p.Edits[0].Text, got)
	}
	c2 := &conv{clock: noon, messages: out, n: c.n}
	c2.read("src/[id]/a.ts", 1, 100, 100) // asks again
	expectLeft(t, e, c2)
}

// TRK-9: what a result says beside the lines of the file stays, although the lines become a pointer.
func TestTextBesideTheLines(t *testing.T) {
	file := shown("a.ts", 1, 40, 40)
	raw := ""
	for n := range 40 {
		raw += fmt.Sprintf("a line of text, number %d of the file\n", n)
	}
	half := raw[:strings.Index(raw, "a line of text, number 20 ")]
	numbered := ""
	for n := range 9 {
		numbered += fmt.Sprintf("%d\tone line of the text of this file, which is long enough to be worth it\n", n+1)
	}
	for name, tt := range map[string]struct{ tool, args, first, second, news string }{
		"grown":     {"filesystem-read", `{"filePath":"a.ts","startLine":1,"endLine":40}`, file, strings.Replace(file, "/40)", "/60)", 1), "/60)"},
		"notebook":  {"filesystem-read", `{"filePath":"a.ts"}`, file, file + "\n\n📓 Notebook: do not deploy this file", "do not deploy"},
		"reminder":  {"Read", `{"file_path":"/p/a.ts"}`, numbered, numbered + "\n\n<system-reminder>\nThe user changed the plan.\n</system-reminder>", "changed the plan"},
		"final end": {"exec_command", `{"cmd":"cat a.ts"}`, "Wall time: 1 s\nProcess exited with code 0\nOutput:\n" + strings.TrimSuffix(raw, "\n"), "Wall time: 1 s\nProcess exited with code 0\nOutput:\n" + raw, "]\n"},
		"line ends": {"bash", `{"command":"cat a.ts"}`, "OBSERVATION:\n" + strings.ReplaceAll(raw, "\n", "\r\n"), "OBSERVATION:\n" + raw, raw},
		"shrunk":    {"exec_command", `{"cmd":"cat a.ts"}`, "Wall time: 1 s\nProcess exited with code 0\nOutput:\n" + raw, "Wall time: 1 s\nProcess exited with code 0\nOutput:\n" + half, "lines 1-20 of 20 unchanged"},
	} {
		c := &conv{clock: noon}
		c.call(tt.tool, tt.args, tt.first)
		second := c.call(tt.tool, tt.args, tt.second)
		out, p := sent(t, lossless(t), c.messages)
		if text := out[second].Parts[0].Text; p.Reads != 2 || !strings.Contains(text, tt.news) {
			t.Errorf("%s: %d reads, the news is gone: %q", name, p.Reads, text)
		}
	}
}

// TRK-10, invariant 7: stet has shortened a result, and the agent refuses to repeat it. Then the text takes the place of the
// agent's stub.
func TestAgentsStubAfterPointer(t *testing.T) {
	c := &conv{clock: noon}
	text := func(a, b int) string {
		var s strings.Builder
		for n := a; n <= b; n++ {
			fmt.Fprintf(&s, "%d\tthe text of line %d of the file\n", n, n)
		}
		return strings.TrimSuffix(s.String(), "\n")
	}
	args := func(a, n int) map[string]any {
		return map[string]any{"file_path": "/p/a.ts", "offset": a, "limit": n}
	}
	c.call("Read", args(1, 60), text(1, 60))
	short := c.call("Read", args(20, 20), text(20, 39))
	stub := c.call("Read", args(20, 20), "Wasted call — file unchanged since your last Read. Use what you have.")
	later := c.call("Read", args(20, 20), "Wasted call — file unchanged since your last Read. Use what you have.")
	out, p := sent(t, lossless(t), c.messages)
	if got := left(c.messages, out); !reflect.DeepEqual(got, []int{short, stub}) {
		t.Fatalf("changed %v, want %v and not %d", got, []int{short, stub}, later)
	}
	if out[stub].Parts[0].Text != text(20, 39) || p.Omissions[1].Reason != Restored {
		t.Errorf("the stub should have given way to the text: %q", out[stub].Parts[0].Text)
	}
	if again := lossless(t).Plan(out); len(again.Edits) != 0 {
		t.Errorf("planned again it changes %+v", again.Omissions)
	}
	c.messages[short].Parts[0].Text = out[short].Parts[0].Text // the text that was left out is not known here
	expectLeft(t, lossless(t), c)
}

// A result that contains a pointer is not planned again. Its other lines count as shown.
func TestOwnPointerInABatch(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	c.read("b.ts", 1, 60, 60)
	ours := "[stet: a.ts lines 1-60 unchanged: shown above by call_1 (lines 1-60). Ask again for the full text.]"
	c.call("filesystem-read", `{"filePath":["a.ts","b.ts"]}`, ours+"\n\n"+shown("b.ts", 1, 60, 60))
	c.call("filesystem-read", `{"filePath":["a.ts","c.ts"]}`, ours+"\n\n"+shown("c.ts", 1, 60, 60))
	again := c.read("c.ts", 1, 60, 60)
	expectLeft(t, lossless(t), c, again)
}

// Cases that lossless must not treat as a repeat, and results without lines of a file.
func TestNoRepeat(t *testing.T) {
	long := strings.Repeat("x", 2100)
	cut := "1\tshort\n2\t" + long[:2000] + "... [truncated]\n3\tend"
	t.Run("cut by the tool", func(t *testing.T) {
		c := &conv{clock: noon}
		c.call("Read", `{"file_path":"/p/a.ts"}`, cut)
		c.call("Read", `{"file_path":"/p/a.ts"}`, strings.ReplaceAll(cut, "... [truncated]", "xxx"))
		expectLeft(t, lossless(t), c) // a clipped line is a different line
	})
	t.Run("directories", func(t *testing.T) {
		c := &conv{clock: noon}
		for range 2 {
			c.call("filesystem-read", `{"filePath":"src"}`, "📁 src\n"+strings.Repeat("Button.tsx\n", 50))
		}
		expectLeft(t, lossless(t), c)
	})
	t.Run("local messages bear nothing", func(t *testing.T) {
		c := &conv{clock: noon}
		c.read("a.ts", 1, 60, 60)
		for i := range c.messages {
			c.messages[i].Local = true
		}
		c.read("a.ts", 1, 60, 60)
		expectLeft(t, lossless(t), c)
	})
	t.Run("twice in one result", func(t *testing.T) {
		c := &conv{clock: noon}
		c.call("filesystem-read", `{"filePath":["a.ts","a.ts"]}`, shown("a.ts", 1, 60, 60)+"\n\n"+shown("a.ts", 1, 60, 60))
		expectLeft(t, lossless(t), c)
	})
	t.Run("a line not worth it", func(t *testing.T) {
		// A placeholder would take more than half of the bytes.
		for n := 1; n <= 9; n++ {
			c := &conv{clock: noon}
			c.read("a.ts", 1, n, 100)
			again := c.read("a.ts", 1, n, 100)
			for _, e := range lossless(t).Plan(c.messages).Edits {
				if in := c.messages[again].Parts[0].Text; 2*len(e.Text) > len(in) {
					t.Errorf("%d bytes gave way to %d", len(in), len(e.Text))
				}
			}
		}
	})
	t.Run("in seven pieces", func(t *testing.T) {
		c := &conv{clock: noon}
		for i := range 7 {
			c.read("a.ts", i*20+1, i*20+20, 140)
		}
		six := c.read("a.ts", 1, 120, 140)
		expectLeft(t, lossless(t), c, six)
		c.messages = c.messages[:14]
		seven := c.read("a.ts", 1, 140, 140)
		p := expectLeft(t, lossless(t), c, seven)
		if text := p.Edits[0].Text; p.Omissions[0].Reason != Partial || !strings.Contains(text, "3→the text of line 3 of") || strings.Contains(text, "44→") {
			t.Errorf("one of the pieces should be there:\n%s", text)
		}
	})
	t.Run("parts that cannot be edited in place", func(t *testing.T) {
		c := &conv{clock: noon}
		c.read("a.ts", 1, 60, 60)
		again := c.read("a.ts", 1, 60, 60)
		third := c.read("a.ts", 1, 60, 60)
		e := newEngine(t, Config{Policy: Lossless, InPlace: true})
		expectLeft(t, e, c)
		c.messages[third].Parts[0].Span = llm.Span{Start: 1, End: 9}
		expectLeft(t, e, c, third) // the one before was sent in full, so no request was refused
		c.messages[again].Parts[0].Span = llm.Span{Start: 1, End: 9}
		expectLeft(t, e, c, again)
	})
}

// A batch may show one file, a second one, and then the first one again.
func TestRepeatInBatchOutOfOrder(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 100, 100)
	c.read("b.ts", 1, 50, 50)
	aba := c.call("filesystem-read", `{"filePath":["a.ts","b.ts","a.ts"]}`,
		shown("a.ts", 1, 50, 100)+"\n\n"+shown("b.ts", 1, 50, 50)+"\n\n"+shown("a.ts", 51, 100, 100))
	p := expectLeft(t, lossless(t), c, aba)
	if got := strings.Count(p.Edits[0].Text, mark); got != 3 {
		t.Errorf("%d lines, want 3:\n%s", got, p.Edits[0].Text)
	}
}

// High line numbers take no memory.
func TestFarLines(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 40_000_000, 40_000_050, 50_000_000)
	again := c.read("a.ts", 40_000_000, 40_000_050, 50_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	expectLeft(t, lossless(t), c, again)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes for 100 lines", grown)
	}
}
