package filetools

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// Every tool refuses arguments that it does not know, and never panics. A model may send any arguments.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{"path":"a","limit":3}`, `{"path":"a","start_line":1.0}`, `{"path":"\ud83d\ude00"}`, `{"path":"a","edits":[{"old_text":"x","new_text":"y"}]}`,
		`{"path":"a","edits":[{"old_text":"x","new_text":"y","all":true}],"encoding":"latin1"}`, `{"pattern":"[a-","glob":"{a,b}"}`,
		`{"path":"a","content":"\ud800"}`, `[]`, `null`, ``, `{"a":1`, "{\"\xff\":1}", `{"write":1,"from":1e400}`, `{"path":null}`, `{"limit":-0}`,
		`{"path":"a","content":"x","create_dirs":true,"backup":null}`, `{"pattern":"x","regexp":true,"context":20}`,
	} {
		f.Add(s)
	}
	b := newBench(f, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	b.put("a", "x\ny\n")
	f.Fuzz(func(t *testing.T, arguments string) {
		for _, x := range b.tools.All() {
			name := x.Spec().Name
			p, err := x.Plan(t.Context(), tool.Call{Session: "s", Name: name, Arguments: json.RawMessage(arguments)})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if p.Done == nil {
				if p.Apply == nil || p.Replan == nil || p.Path == "" {
					t.Errorf("%s: %+v", name, p)
				}
				continue
			}
			r := p.Result()
			if !json.Valid([]byte(r.Text)) || !utf8.ValidString(r.Text) || r.Code != p.Done.Code {
				t.Errorf("%s: %q", name, r.Text)
			}
			if strings.Contains(r.Text, `"success":true`) == r.Failed() && name != "Read" {
				t.Errorf("%s: %q %s", name, r.Text, r.Code)
			}
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*.go", "**/a/*.{b,c}", "[!a-z]?", `\*`, "{a,{b,c}}", "[]a]", "[^]]", "a/**", "é*"} {
		f.Add(s, "a/b/c.go")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := compileGlob(pattern)
		if err == nil {
			g.Match(name)
		}
	})
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "a.go", true}, {"*.go", "x/y/a.go", true}, {"*.go", "a.goo", false}, {"/*.go", "x/a.go", false},
		{"x/*.go", "x/a.go", true}, {"x/*.go", "x/y/a.go", false}, {"x/**", "x/y/a.go", true}, {"**/a.go", "a.go", true},
		{"x/**/a.go", "x/a.go", true}, {"x/**/a.go", "x/y/z/a.go", true}, {"x/**/a.go", "xy/a.go", false},
		{"a?c", "abc", true}, {"a?c", "a/c", false}, {"a?c", "aéc", true}, {"[ab]c", "bc", true}, {"[!ab]c", "bc", false}, {"[!ab]c", "/c", false},
		{"[a-c]*", "b.txt", true}, {"[]x]", "]", true}, {"{a,b}.c", "b.c", true}, {"{a,b}.c", "ab.c", false}, {"{x/a,y/{b,c}}", "y/c", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {"a.b", "axb", false}, {"(a)", "(a)", true}, {"a,b", "a,b", true}, {"日*", "日本", true},
		{"./x/a", "x/a", true}, {"*", "a\nb", true},
	} {
		g, err := compileGlob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if g.Match(c.name) != c.want {
			t.Errorf("%s %s: want %v", c.pattern, c.name, c.want)
		}
	}
	for _, p := range []string{"", "[", "[]", "[!]", "{", "}", `\`, "[z-a]", strings.Repeat("*", 1001)} {
		if _, err := compileGlob(p); err == nil {
			t.Errorf("%q is accepted", p)
		}
	}
}

// hazards: characters that a reader does not see, in the new text or in a file's name, are noted in the plan.
func TestHiddenCharacters(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for text, want := range map[string]bool{
		"plain\ttext\r\n": false, "日本語 é 👩‍👩‍👧 ❤️\n": false, "a\rb\n": true, "\x1b[0m": true, "a\u202eb": true, "a\u200bb": true,
		"\u2028": true, "\x7f": true, "\u0085": true, "a\U000e0041": true, "soft\u00adhyphen": true, "\u2066x": true,
		"a\ufe0f": true, "a\U000e0100": true, "a\u3164": true, "a\u115f": true, "a\u034f": true, "a\u2800": true,
	} {
		if p := b.plan("write_file", args("path", "new", "content", text)); p.Has(tool.Hidden) != want {
			t.Errorf("%+q: want %v", text, want)
		}
		if name := "n" + strings.TrimRight(text, "\r\n\t") + "x"; !strings.ContainsFunc(name, unicode.IsControl) {
			if p := b.plan("write_file", args("path", name, "content", "x\n")); p.Has(tool.Hidden) != want {
				t.Errorf("%+q as a name: want %v", name, want)
			}
		}
	}
}

// Names and contents with invisible characters are shown with escapes. (hazards)
func TestQuotedInSentences(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	odd := "a\x1b[31m\nb\u202e"
	b.put(odd, "x\n")
	for _, c := range [][2]string{
		{"list_files", `{}`}, {"find_files", `{"pattern":"*"}`}, {"search_text", `{"pattern":"x"}`},
		{"read_file", args("path", odd+"2")}, {"write_file", args("path", odd+"2/x", "content", "x")}, {"write_file", args("path", odd+"/x", "content", "x")},
	} {
		o := b.op(c[0], c[1])
		if s := o.text() + o.Error; strings.ContainsAny(s, "\x1b\u202e") || !strings.Contains(s, `a\x1b[31m\nb\u202e`) && o.code != tool.FileNotFound {
			t.Errorf("%s: %q", c[0], s)
		}
	}
	if p := b.plan("write_file", args("path", odd, "content", "y\n")); strings.ContainsAny(p.Diff.Text(), "\x1b\u202e") {
		t.Errorf("%q", p.Diff.Text())
	}
}
