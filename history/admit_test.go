package history

import (
	"reflect"
	"strings"
	"testing"
)

func lossless(t testing.TB) *Engine { return newEngine(t, Config{Policy: Lossless}) }

// TRK-6, TRK-10: a repeat becomes one line that names where the lines stand;
// asked again at once, the answer is in full; and a third time it is one line.
func TestRepeatAndInsist(t *testing.T) {
	c := &conv{clock: noon}
	c.read("src/a.ts", 1, 100, 100)
	again := c.read("src/a.ts", 1, 100, 100)
	c.read("src/a.ts", 1, 100, 100) // insists
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

// TRK-9: what was shown decides, not the name.
func TestWhatWasShownDecides(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 50, 200)
	c.read("a.ts", 51, 100, 200)          // other lines
	inside := c.read("a.ts", 20, 80, 200) // all in view, in two pieces
	c.read("a.ts", 90, 130, 200)          // partly new
	c.read("b/a.ts", 1, 50, 200)          // another file
	other := c.read("a.ts", 85, 130, 200) // in view, not asked for before
	c.read("a.ts", 1, 50, 201)            // the file has grown: not the same version
	c.call("filesystem-read", `{"filePath":"a.ts"}`, strings.Replace(shown("a.ts", 1, 50, 201), "line 7 ", "LINE 7 ", 1))
	p := expectLeft(t, lossless(t), c, inside, other)
	if !strings.Contains(p.Edits[0].Text, "call_1 (lines 1-50), call_2 (lines 51-100)") {
		t.Errorf("%q should name both calls", p.Edits[0].Text)
	}
}

// "Asked again" is the next read that meets the shortened lines, at any
// distance, and any part of them.
func TestInsistLater(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 100, 200)
	again := c.read("a.ts", 1, 100, 200)
	for i := range 20 {
		c.read("other"+string(rune('a'+i))+".ts", 1, 30, 30)
	}
	c.read("a.ts", 40, 70, 200) // meets them: in full
	next := c.read("a.ts", 40, 70, 200)
	expectLeft(t, lossless(t), c, again, next)
}

// TRIM-3, TRIM-4: failures, other tools and short texts stay.
func TestWhatLosslessLeaves(t *testing.T) {
	c := &conv{clock: noon}
	for range 3 {
		c.call("filesystem-read", `{"filePath":"x.ts"}`, "Error: File not found: x.ts "+strings.Repeat("and on ", 50))
		c.call("terminal-execute", `{"command":"ls"}`, strings.Repeat("a.ts\n", 90))
		c.call("filesystem-edit", `{"filePath":"x.ts"}`, strings.Repeat("-a\n+b\n", 90))
		c.read("short.ts", 1, 2, 2)
	}
	expectLeft(t, lossless(t), c)
}

// A batch keeps what is new in it.
func TestRepeatInBatch(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	both := c.call("filesystem-read", `{"filePath":["a.ts","b.ts"]}`, shown("a.ts", 1, 60, 60)+"\n\n"+shown("b.ts", 1, 60, 60))
	p := expectLeft(t, lossless(t), c, both)
	if text := p.Edits[0].Text; strings.Contains(text, "line 9 of a.ts") || !strings.Contains(text, shown("b.ts", 1, 60, 60)) {
		t.Errorf("want one line for a.ts and b.ts whole:\n%s", text)
	}
}

// off leaves everything; adaptive and bold admit like lossless.
func TestPolicies(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	again := c.read("a.ts", 1, 60, 60)
	expectLeft(t, newEngine(t, Config{Policy: Off}), c)
	expectLeft(t, newEngine(t, Config{}), c, again)
	expectLeft(t, newEngine(t, Config{Policy: Bold}), c, again)
}

// The line may be met again: in a resumed session of an agent that stored it.
func TestOwnLinesAreRecognised(t *testing.T) {
	c := &conv{clock: noon}
	c.read("src/[id]/a.ts", 1, 100, 100)
	again := c.read("src/[id]/a.ts", 1, 100, 100)
	e := lossless(t)
	out, p := sent(t, e, c.messages)
	if got := stubs(out[again].Parts[0].Text); !reflect.DeepEqual(got, []stub{{"src/[id]/a.ts", 1, 100}}) {
		t.Fatalf("own line not recognised: %q gives %v", p.Edits[0].Text, got)
	}
	c2 := &conv{clock: noon, messages: out, n: c.n}
	c2.read("src/[id]/a.ts", 1, 100, 100) // insists
	expectLeft(t, e, c2)
}
