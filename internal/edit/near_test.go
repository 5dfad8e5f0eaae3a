package edit

import (
	"errors"
	"strings"
	"testing"
)

const sample = `package main

func main() {
	name := "world"
	fmt.Println("hello", name)
	if name == "" {
		return
	}
}

// It’s the end – nearly.
func last() error { return nil }
`

func TestNear(t *testing.T) {
	tests := []struct {
		name, data, old string
		line            int
		why             string
	}{
		{"spaces for a tab", sample, "    name := \"world\"", 4, "tabs or spaces"},
		{"spaces for a tab, several lines", sample, "func main() {\n    name := \"world\"\n    fmt", 4, "tabs or spaces"},
		{"trailing space", sample, "if name == \"\" { \n", 6, "trailing space"},
		{"trailing space in the file", "a := 1 \nb := 2\n", "a := 1\nb := 2", 1, "trailing space"},
		{"quotes", sample, "// It's the end – nearly.", 11, "quotes"},
		{"dashes", sample, "// It’s the end - nearly.", 11, "dashes"},
		{"wide", sample, "ｆunc last() error", 12, "wide or other forms of characters"},
		{"Cyrillic", sample, "func lаst() error", 12, "letters of another alphabet that look the same"},
		{"letter case", sample, "FMT.Println(", 5, "letter case"},
		{"spaces inside", sample, "return\n}", 8, "tabs or spaces"},
		{"space missing", sample, "func last()error {", 12, "spaces"},
		{"another word", sample, "func main() {\n\tname := \"word\"\n\tfmt.Println(\"hello\", name)\n", 4, "other text"},
		{"almost a line", sample, "fmt.Printline(\"hello\", names)", 5, "other text"},
		{"line numbers", sample, "   4 | \tname := \"world\"\n   5 | \tfmt.Println(", 4, "the old text has line numbers"},
		{"escapes", sample, `func main() {\n\tname := \"world\"`, 3, `the old text has \n, \t or \" as two characters`},
		{"blank lines", sample, "\n\n\nfunc main() {\n\n", 3, "the old text has line ends around it"},
		{"CRLF", sample, "func main() {\r\n", 3, "the old text has CRLF line ends, the file LF"},
		{"invisible", sample, "func\u200b last() error", 12, "invisible characters"},
		{"past the end", "first line\nsecond line", "second line\nthird", 2, "the file ends here"},
		{"no final newline", "first line\nsecond line", "first line\nsecond line\n", 1, "the old text has line ends around it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Apply([]byte(tt.data), []Edit{{Old: tt.old, New: "x"}})
			var e *Error
			if !errors.As(err, &e) || e.Reason != NotFound || len(e.Near) == 0 {
				t.Fatalf("%v", err)
			}
			if n := e.Near[0]; n.Line != tt.line || n.Why != tt.why {
				t.Errorf("%v; want line %d, %s", err, tt.line, tt.why)
			}
		})
	}
}

// Names and content are always quoted in the message.
func TestNearQuoted(t *testing.T) {
	_, err := Apply([]byte("alert \x1b[31m red\u202e line\n"), []Edit{{Old: "alert  \x1b[31m red\u202e line", New: "x"}})
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") || !strings.Contains(err.Error(), `\x1b`) {
		t.Errorf("%v", err)
	}
}

func TestNearIsShort(t *testing.T) {
	data := strings.Repeat(strings.Repeat("é", 5000)+" a\n", 20)
	_, err := Apply([]byte(data), []Edit{{Old: strings.Repeat("é", 5000) + "  a\n", New: "x"}})
	var e *Error
	if !errors.As(err, &e) || len(e.Near) != maxNear || len(err.Error()) > 3000 {
		t.Fatalf("%d bytes", len(err.Error()))
	}
	if n := e.Near[0]; len(n.Text) > maxShown || strings.ContainsRune(n.Text, '\ufffd') {
		t.Errorf("shown %q", n.Text)
	}
}

func FuzzNear(f *testing.F) {
	f.Add(sample, "x\n1: y")
	f.Add("é\xff\u200b“", "\"\\n")
	f.Fuzz(func(t *testing.T, data, old string) {
		file := newFile([]byte(data))
		lines := strings.Count(data, "\n") + 1
		for _, n := range file.near(old) {
			if n.Line < 1 || n.Line > lines || n.Why == "" || len(n.Text) > maxShown || len(n.Want) > maxShown {
				t.Fatalf("%+v", n)
			}
		}
	})
}

// Two texts that look alike are quoted so that the difference is seen.
func TestLookAlike(t *testing.T) {
	_, err := Apply([]byte("a caf\u00e9 here\n"), []Edit{{Old: "a cafe\u0301 here", New: "x"}})
	if err == nil || !strings.Contains(err.Error(), `"a caf\u00e9 here", not "a cafe\u0301 here"`) {
		t.Errorf("%v", err)
	}
}
