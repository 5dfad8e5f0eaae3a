package invisible

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"
)

func angle(s string) string { return "<" + s + ">" }

// hazards: escape sequences, newlines, bidirectional controls and other characters without a glyph are marked, on the screen and as
// a caution.
var texts = []struct {
	text, shown string
	has         bool
}{
	{"plain text\twith tab", "plain text\twith tab", false},
	{"日本語 ä é ∑ 👍", "日本語 ä é ∑ 👍", false},
	{"e\u0301 decomposed", "e\u0301 decomposed", false},
	{"\x1b[2J\x1b]0;title\a", `<\x1b>[2J<\x1b>]0;title<\x07>`, true},
	{"a\r\n", `a<\r><\n>`, false},
	{"a\rb", `a<\r>b`, true},
	{"page\f", `page<\x0c>`, false},
	{"access\u202e\u2066// check\u2069", `access<\u202e><\u2066>// check<\u2069>`, true},
	{"zero\u200bwidth\ufeff\u00ad", `zero<\u200b>width<\ufeff><\u00ad>`, true},
	{"no-break\u00a0space\u3000", `no-break<\u00a0>space<\u3000>`, false},
	{"private\ue000", `private<\ue000>`, false},
	{"variation\ufe0f", `variation<\ufe0f>`, true},
	{"ideograph 葛\U000e0100", `ideograph 葛<\U000e0100>`, true},
	{"mongolian\u180b\u180f", `mongolian<\u180b><\u180f>`, true},
	{"tag\U000e0041", `tag<\U000e0041>`, true},
	{"hangul\u3164\u115f\u1160\uffa0", `hangul<\u3164><\u115f><\u1160><\uffa0>`, true},
	{"grapheme\u034fjoiner", `grapheme<\u034f>joiner`, true},
	{"braille\u2800", `braille<\u2800>`, true},
	{"khmer\u17b4\u17b5", `khmer<\u17b4><\u17b5>`, true},
	{"note\U0001d159 filler\U00016fe4", `note<\U0001d159> filler<\U00016fe4>`, true},
	{"reserved\u2065\ufff0\U000e0fff", `reserved<\u2065><\ufff0><\U000e0fff>`, true},
	{"bad\xff\xc3utf8", `bad<\xff><\xc3>utf8`, true},
	{"c1\u009b31m\x7f\u0085", `c1<\u009b>31m<\x7f><\u0085>`, true},
	{"line\u2028sep\u2029", `line<\u2028>sep<\u2029>`, true},

	// An emoji or a script needs these.
	{"❤️ ✔︎ ⚠️ ‼️ 1️⃣ #️⃣", "❤️ ✔︎ ⚠️ ‼️ 1️⃣ #️⃣", false},
	{"👩‍👩‍👧 👩🏽‍💻 ❤️‍🔥 🏳️‍🌈", "👩‍👩‍👧 👩🏽‍💻 ❤️‍🔥 🏳️‍🌈", false},
	{"می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष", false},
	// These could carry information.
	{"❤\ufe0f\ufe0f", `❤` + "\ufe0f" + `<\ufe0f>`, true},
	{"❤\ufe00", `❤<\ufe00>`, true},
	{"1\ufe0f", `1<\ufe0f>`, true},
	{"a\u200db x\u200cy", `a<\u200d>b x<\u200c>y`, true},
	{"👩\u200d", `👩<\u200d>`, true},
	{"👩\u200d\u200d👧", `👩<\u200d><\u200d>👧`, true},
	{"\u2800\ufe0f", `<\u2800><\ufe0f>`, true},
	{"🏴\U000e0067\U000e007f", `🏴<\U000e0067><\U000e007f>`, true},
}

func TestTexts(t *testing.T) {
	for _, test := range texts {
		if got := Escape(test.text, angle); got != test.shown {
			t.Errorf("%+q: %s, want %s", test.text, got, test.shown)
		}
		if got := Has(test.text); got != test.has {
			t.Errorf("%+q: hides something: %v", test.text, got)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.txt": `"a/b.txt"`, "new\nline": `"new\nline"`, "filler\u3164": `"filler\u3164"`, "sel\ufe0f": `"sel\ufe0f"`, "❤️": `"❤️"`, "a\u00a0b": `"a\u00a0b"`,
	} {
		if got := Quote(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if hides := strings.ContainsAny(name, "\n\u3164") || name == "sel\ufe0f"; HasName(name) != hides {
			t.Errorf("%+q hides something: %v", name, !hides)
		}
	}
}

// The kinds agree with Unicode's derivation of Default_Ignorable_Code_Point. The standard library does not have that table.
func TestDefaultIgnorable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		ignorable := unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
			!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) && !(r >= 0xfff9 && r <= 0xfffb) && !(r >= 0x13430 && r <= 0x13440)
		if k := of(r); ignorable && k != hidden || k == plain && !unicode.IsPrint(r) {
			t.Errorf("%U is %d", r, k)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the table for the page")

// The page has the same table: its tests read this file.
func TestPage(t *testing.T) {
	const file = "../../server/web/ui/src/lib/invisible.json"
	var want struct {
		Hidden [][2]rune   `json:"hidden"`
		Shown  [][2]string `json:"shown"`
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		n := len(want.Hidden)
		switch {
		case of(r) != hidden:
		case n > 0 && want.Hidden[n-1][1] == r-1:
			want.Hidden[n-1][1] = r
		default:
			want.Hidden = append(want.Hidden, [2]rune{r, r})
		}
	}
	for _, test := range texts {
		if utf8.ValidString(test.text) {
			want.Shown = append(want.Shown, [2]string{test.text, Escape(test.text, nil)})
		}
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != string(data) {
		t.Errorf("%s is not the table of now (%v): run this test with -update", file, err)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[0m\u202e\xff")
	f.Add("👩\u200d👧\ufe0f")
	f.Fuzz(func(t *testing.T, s string) {
		out := Escape(s, angle)
		if !utf8.ValidString(out) {
			t.Fatalf("%q: not UTF-8", out)
		}
		for i, r := range out {
			if r != '\t' && of(r) != plain && !needed(out[:i], r, out[i+utf8.RuneLen(r):]) {
				t.Fatalf("%q shows %q", s, r)
			}
			if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q shows the control %q", s, r)
			}
		}
		if !strings.ContainsAny(out, "<") && out != s {
			t.Fatalf("%q became %q", s, out)
		}
		if HasName(s) && !strings.ContainsAny(out, "<\t") {
			t.Fatalf("%q hides something, and shows as %q", s, out)
		}
	})
}

// One byte-order mark is skipped, and nothing else, also where it comes byte by byte.
func TestSkipMark(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\ufeff": "", "\ufeffa": "a", "\ufeff\ufeffa": "\ufeffa", "a\ufeff": "a\ufeff", "\xef\xbb": "\xef\xbb", "\xef\xbb\xbe": "\xef\xbb\xbe", "ab": "ab",
	} {
		if got := SkipMark(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
		got, err := io.ReadAll(SkipMarkIn(iotest.OneByteReader(strings.NewReader(text))))
		if err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}
