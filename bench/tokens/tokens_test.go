package tokens

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/tokens/exact"
)

// counters are ours and the peer, for both vocabularies.
func counters(tb testing.TB, name string) (ours tokens.Counter, peer tokenizer.Codec) {
	ours, err := exact.Counter(name)
	if err != nil {
		tb.Fatal(err)
	}
	peer, err = tokenizer.Get(tokenizer.Encoding(name))
	if err != nil {
		tb.Fatal(err)
	}
	return ours, peer
}

// textSize is how much of each kind of text is counted.
const textSize = 1 << 20

// texts returns texts by kind: of Go's own sources, and of $STET_TEXTS, a
// directory whose directories are kinds (zh, ru, …), where it is set.
func texts(tb testing.TB) map[string]string {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Skip(err)
	}
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	all := map[string]string{
		"code": gather(tb, filepath.Join(src, "net", "http"), ".go"),
		"json": gather(tb, src, ".json"),
	}
	if dir := os.Getenv("STET_TEXTS"); dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range entries {
			all[e.Name()] = gather(tb, filepath.Join(dir, e.Name()), "")
		}
	}
	return all
}

// gather reads the files below dir with that end of their names.
func gather(tb testing.TB, dir, ext string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(path, ext) || b.Len() > textSize {
			return err
		}
		data, err := os.ReadFile(path)
		b.Write(data[:min(len(data), textSize/4)])
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return strings.ToValidUTF8(b.String(), "")
}

// Megabytes a second, ours beside the peer's, by kind of text.
func BenchmarkCount(b *testing.B) {
	kinds := texts(b)
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		ours, peer := counters(b, name)
		for kind, text := range kinds {
			b.Run(name+"/"+kind+"/ours", func(b *testing.B) {
				ours.Count("")
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					ours.Count(text)
				}
			})
			b.Run(name+"/"+kind+"/peer", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := peer.Count(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// What is hard on tokenizers: one piece of a megabyte, and what repeats itself.
// The peer's time grows with the square for some of these, so it is not asked.
func BenchmarkWorst(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(from, n int) string {
		text := make([]byte, textSize)
		for i := range text {
			text[i] = byte(from + rng.IntN(n))
		}
		return string(text)
	}
	ours, _ := counters(b, "o200k_base")
	for kind, text := range map[string]string{
		"a": strings.Repeat("a", textSize), "spaces": strings.Repeat(" ", textSize), "lines": strings.Repeat("\n", textSize),
		"=": strings.Repeat("=", textSize), "accents": strings.Repeat("\u0301", textSize/2), "invalid": strings.Repeat("\xff", textSize),
		"letters": random('a', 26), "bytes": random(0, 256), "json": `{"a":[` + strings.Repeat(`{"id":1,"name":"x"},`, textSize/20) + `{}]}`,
	} {
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ours.Count(text)
			}
		})
	}
}

// astray is white space that the peer cuts otherwise than the vocabularies' own
// encoder: line breaks with blanks between them are one piece there. The delete
// character it does not count.
var astray = regexp.MustCompile(`[\r\n][^\S\r\n]+[\r\n]|\x7f`)

// CTX-1: two encoders written apart count the same.
func FuzzCount(f *testing.F) {
	for _, s := range []string{"", "hello world", "fooBar's HTTPServer\r\n\t x", "日本ABC 'll 123456", "a\u0301 \u0301A ǅʰ", "  \n\n  x", "(/)\n//\n", "🙂👍🏽 ſ'ſ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 5000 || astray.MatchString(s) {
			return
		}
		for _, name := range []string{"o200k_base", "cl100k_base"} {
			ours, peer := counters(t, name)
			want, err := peer.Count(s)
			if err != nil {
				t.Skip(err)
			}
			if got := ours.Count(s); got != want {
				t.Errorf("%s: %d tokens, the peer counts %d in %q", name, got, want, s)
			}
		}
	})
}
