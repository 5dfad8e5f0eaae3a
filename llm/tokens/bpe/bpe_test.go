package bpe

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// ranks returns the tokens of text.
func (v *Vocabulary) ranks(text string) (all []uint32) {
	v.once.Do(v.load)
	var m merger
	for i := 0; i < len(text); {
		end := v.split(v.classes, text, i)
		if r, ok := v.find(text, i, end); ok {
			all = append(all, r)
		} else {
			all = append(all, v.merge(&m, text, i, end)...)
		}
		i = end
	}
	return all
}

// The vocabularies' patterns, without the last two, which need lookahead.
var patterns = map[*Vocabulary]*regexp.Regexp{
	&o200k:  regexp.MustCompile(`^(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^` + white + `\p{L}\p{N}]+[\r\n/]*|[` + white + `]*[\r\n]+)`),
	&cl100k: regexp.MustCompile(`^(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^` + white + `\p{L}\p{N}]+[\r\n]*|[` + white + `]*[\r\n]+)`),
}

const white = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

var blanks = regexp.MustCompile(`^[` + white + `]+`)

// piece splits by the pattern itself.
func piece(v *Vocabulary, s string) string {
	if m := patterns[v].FindString(s); m != "" {
		return m
	}
	m := blanks.FindString(s)
	_, last := utf8.DecodeLastRuneInString(m)
	if len(m) == len(s) || len(m) == last {
		return m
	}
	return m[:len(m)-last]
}

// plain is byte-pair encoding as defined: of all neighbours that form a token, those of the lowest rank are merged first, the
// leftmost first.
func plain(v *Vocabulary, s string) (all []uint32) {
	var parts []string
	for i := range len(s) {
		parts = append(parts, s[i:i+1])
	}
	for {
		best, at := uint32(1<<31), -1
		for i := range len(parts) - 1 {
			both := parts[i] + parts[i+1]
			if r, ok := v.find(both, 0, len(both)); ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	for _, p := range parts {
		r, _ := v.find(p, 0, len(p))
		all = append(all, r)
	}
	return all
}

// check compares with the definition. For invalid UTF-8 only the merges can be compared.
func check(t *testing.T, s string) {
	for _, v := range []*Vocabulary{O200k(), CL100k()} {
		got := v.ranks(s)
		if n := v.Count(s); n != len(got) {
			t.Fatalf("%q: Count is %d, of %d tokens", s, n, len(got))
		}
		var text strings.Builder
		for _, r := range got {
			text.WriteString(v.text(r))
		}
		if text.String() != s {
			t.Fatalf("%q: the tokens are of %q", s, text.String())
		}
		var want []uint32
		for rest := s; rest != ""; {
			var p string
			if utf8.ValidString(s) {
				p = piece(v, rest)
			} else {
				p = rest[:v.split(v.classes, rest, 0)]
			}
			if r, ok := v.find(p, 0, len(p)); ok {
				want = append(want, r)
			} else {
				want = append(want, plain(v, p)...)
			}
			rest = rest[len(p):]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
	}
}

// CTX-1: the tokens match the definition, for strings that are likely to show a difference.
func TestDefinition(t *testing.T) {
	for _, s := range adversarial(O200k(), 500) {
		check(t, inUnicode15.ReplaceAllString(s, ""))
	}
	for _, s := range snippets {
		check(t, s)
		check(t, s[:len(s)-1]+"\xff"+s)
	}
}

// inUnicode15 matches characters that Go's regular expressions treat differently from the vocabularies: they are not assigned in
// Go's Unicode version.
var inUnicode15 = regexp.MustCompile(`[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}]`)

func FuzzCount(f *testing.F) {
	for _, s := range snippets {
		f.Add(s+s, "x")
	}
	f.Add("  \n  \n x", "Foo's\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) < 2000 {
			check(t, inUnicode15.ReplaceAllString(a+b, ""))
		}
	})
}

// Count may be called concurrently, also the first time.
func TestConcurrent(t *testing.T) {
	v := Vocabulary{data: cl100kData, split: splitPlain}
	text := strings.Repeat("a quite unremarkable sentence; wörter 123\n", 50)
	counts := make(chan int)
	for range 4 {
		go func() { counts <- v.Count(text) }()
	}
	want := CL100k().Count(text)
	for range 4 {
		if n := <-counts; n != want {
			t.Errorf("%d tokens, want %d", n, want)
		}
	}
}

// Counting allocates only its buffers, once.
func TestAllocations(t *testing.T) {
	text := strings.Repeat("func unusualIdentifier() { return 日本語の文章, приветствие }\n", 30)
	v, m := O200k(), new(merger)
	v.Count(text)
	if n := testing.AllocsPerRun(20, func() { v.count(m, text) }); n != 0 { // after a warm-up run
		t.Errorf("%v allocations", n)
	}
}

// Small texts of each kind, and texts that are difficult for tokenizers. The bench module measures more, and compares with others.
func BenchmarkCount(b *testing.B) {
	const size = 1 << 20
	rng := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, size)
	for i := range letters {
		letters[i] = byte('a' + rng.IntN(26))
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"code":  fill("	for i, line := range lines {\n		if line == \"\" {\n			continue\n		}\n		total += countOf(line, i+1) // one more\n	}\n"),
		"json":  fill(`{"type":"tool_use","id":"call_7","name":"read_file","input":{"path":"src/app/main.ts","offset":120,"limit":40}},`),
		"zh":    fill("编辑器触发事件后，索引器重新解析抽象语法树，并将诊断结果推送至侧边栏。"),
		"ru":    fill("Если содержимое не изменилось, повторное чтение заменяется короткой пометкой. "),
		"a":     fill("a"),
		"same":  fill("="),
		"blank": fill(" "), "random": string(letters), "invalid": fill("\xff\xc0"),
	} {
		b.Run(name, func(b *testing.B) {
			O200k().Count(text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				O200k().Count(text)
			}
		})
	}
}
