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

	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/llm/tokens/exact"
)

// counters returns stet's counter and the peer's, for a vocabulary.
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

// textSize is the number of bytes of each kind of text that are counted.
const textSize = 1 << 20

// texts returns texts by kind: Go's own sources, and the texts of $STET_TEXTS if it is set. That is a directory with one
// directory for each kind (zh, ru, …).
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

// gather reads the files below dir whose names end in ext.
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

// BenchmarkCount measures megabytes in a second, for stet and the peer, by kind of text.
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

// BenchmarkWorst measures texts that are hard for tokenizers: one piece of a megabyte, and repeated text. It does not measure the
// peer, because the peer's time grows with the square of the length for some of these.
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

// astray matches white space that the peer splits in another way than the vocabularies' own encoder: for that encoder, line
// breaks with blanks between them are one piece. It also matches the delete character, which the peer does not count.
var astray = regexp.MustCompile(`[\r\n][^\S\r\n]+[\r\n]|\x7f`)

// CTX-1: two independent encoders count the same.
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
