package bpe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// tiktoken returns the directory in which the npm package is installed, or skips the test. With STET_SOAK it installs the package.
func tiktoken(t *testing.T) string {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed")
	}
	cache := os.Getenv("STET_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Skip(err)
		}
		cache = filepath.Join(dir, "stet-e2e")
	}
	dir := filepath.Join(cache, "tiktoken")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "tiktoken")); err == nil {
		return dir
	}
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("npm's tiktoken is not installed; STET_SOAK=1 installs it")
	}
	pinned, err := os.ReadFile("gen/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), pinned, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm install: %v: %s", err, out)
	}
	return dir
}

// CTX-1: the tokens match the vocabularies' own encoder, for texts of all kinds and for strings that are likely to show a
// difference. With STET_SOAK it checks more than 5 million tokens and 60,000 strings for each vocabulary.
func TestExactness(t *testing.T) {
	dir := tiktoken(t)
	strange, size := 2000, 1<<20
	if os.Getenv("STET_SOAK") != "" {
		strange, size = 60_000, 32<<20
	}
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		t.Run(name, func(t *testing.T) {
			v := map[string]*Vocabulary{"o200k_base": O200k(), "cl100k_base": CL100k()}[name]
			texts := append(realTexts(t, size), adversarial(v, strange)...)
			if os.Getenv("STET_SOAK") != "" {
				texts = append(texts, everyCharacter()...)
			}
			total := 0
			for i, want := range encode(t, dir, name, texts) {
				got := v.ranks(texts[i])
				total += len(got)
				if s := strings.Trim(fmt.Sprint(got), "[]"); s != want {
					t.Fatalf("%q:\n%s, want\n%s", texts[i], s, want)
				}
				if n := v.Count(texts[i]); n != len(got) {
					t.Fatalf("%q: Count is %d, of %d tokens", texts[i], n, len(got))
				}
			}
			t.Logf("%d tokens in %d texts, %d of them strange: no difference", total, len(texts), strange)
		})
	}
}

// encode encodes texts with npm's tiktoken.
func encode(t *testing.T, dir, name string, texts []string) []string {
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	enc.SetEscapeHTML(false)
	for _, s := range texts {
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "testdata/encode.mjs", dir, name)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<28)
	for sc.Scan() {
		lines = append(lines, sc.Text())
	}
	if len(lines) != len(texts) {
		t.Fatalf("%d answers for %d texts", len(lines), len(texts))
	}
	return lines
}

// realTexts returns size bytes of texts: from Go's own sources, half of them code, and from $STET_TEXTS (a directory) if it is set.
func realTexts(t *testing.T, size int) (texts []string) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip(err)
	}
	roots := []string{filepath.Join(strings.TrimSpace(string(goroot)), "src")}
	if dir := os.Getenv("STET_TEXTS"); dir != "" {
		roots = append(roots, dir)
	}
	for _, root := range roots {
		left := size / len(roots)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || left <= 0 || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil && len(b) < 1<<20 && utf8.Valid(b) {
				left -= len(b)
				texts = append(texts, string(b))
			}
			return err
		})
		if err != nil {
			t.Skip(err)
		}
	}
	return texts
}

// snippets are texts that the vocabularies' patterns treat differently, and that encoders often get wrong.
var snippets = []string{
	"a", "b", "e", "s", "t", "ll", "re", "ve", "A", "B", "S", "LL", "HTTP", "Foo", "fooBar", "ing", "tion", "'", "'s", "'S", "'ll", "'Re", "'ſ", "'t", "ſ", "K", "İ", "ß",
	" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\v", "\f", "\u0085", "\u00a0", "\u3000", "\u2028", "\u200b", "\ufeff", "\u1680",
	"0", "1", "12", "123", "1234", "²", "Ⅷ", "٣", "½", "๓", "(", ")", "((", "//", "/", "/\n", "=", "====", "--", "...", "!", "!!!", "{}", "\"", "\\", "#", "_", "<|endoftext|>", "<|", "|>",
	"é", "É", "e\u0301", "\u0301", "\u0300\u0301", "ǅ", "ʰ", "ª", "日", "本語", "中文字符", "한국어", "ひらがな", "カタカナ", "ع", "العربية", "привет", "Привет", "МИР", "नमस्ते", "ไทย",
	"🙂", "👨‍👩‍👧", "🇩🇪", "→", "─", "│", "©", "\x00", "\x01", "\x7f", "\ufffd", "\U000e0041", "𝒜", "𠀀", "Ꭰ", "ꭰ",
}

// adversarial returns n strings that are likely to show a difference, the same strings every time.
func adversarial(v *Vocabulary, n int) (texts []string) {
	v.once.Do(v.load)
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() string {
		switch rng.IntN(10) {
		case 0: // a character of any kind
			for {
				if c := rune(rng.IntN(unicode.MaxRune)); utf8.ValidRune(c) {
					return string(c)
				}
			}
		case 1: // a run
			s := snippets[rng.IntN(len(snippets))]
			return strings.Repeat(s, 1+rng.IntN(40))
		case 2, 3, 4: // a token, or the end or the beginning of one
			for {
				s := v.text(uint32(rng.IntN(len(v.size))))
				i := rng.IntN(len(s))
				s = [3]string{s, s[i:], s[:i+1]}[rng.IntN(3)]
				if utf8.ValidString(s) {
					return s
				}
			}
		}
		return snippets[rng.IntN(len(snippets))]
	}
	for range n {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(pick())
		}
		texts = append(texts, b.String())
	}
	return texts
}

// text returns the text of a token.
func (v *Vocabulary) text(r uint32) string {
	if r < byteTokens {
		return v.data[r : r+1]
	}
	a, b := v.halves(r)
	return v.text(a) + v.text(b)
}

// everyCharacter returns texts that contain every character.
func everyCharacter() (texts []string) {
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if utf8.ValidRune(c) {
			s := string(c)
			texts = append(texts, "a"+s+"b1"+s+"2 "+s+" ("+s+s+" AB"+s+"CD\t"+s)
		}
	}
	return texts
}
