package filetools

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stet-dev/stet/files/workspace"
)

// search_text finds the lines that ripgrep finds, in files of several encodings and under ignore rules. The test needs ripgrep.
// It uses 2,000 files, or 100,000 with STET_SOAK=1.
func TestLikeRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	files := 2_000
	if os.Getenv("STET_SOAK") != "" {
		files = 100_000
	}
	b := newBench(t, Config{}, workspace.Options{})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	makeSearched(b, rand.New(rand.NewPCG(seed, 0)), files)
	found := 0
	for _, pattern := range []string{
		"needle", "needle_7", `needle_\d+`, `^func [a-z]+_needle\(`, `(alpha|beta) needle`, `[a-z]+needle_[0-9]{2}`, `(?i)NEEDLE_1`, `x{3}needle`, `é+ needle`,
		`needle_(1|2)?end`, `(needle_3)+`, `\bneedle\b`, `no such text`, `ne*dle_5$`,
	} {
		args, _ := json.Marshal(map[string]any{"pattern": pattern, "regexp": true, "limit": 1000})
		o := b.op("search_text", string(args))
		if !o.Success || o.Data["truncated"] == true {
			t.Fatalf("%s: %+v", pattern, o)
		}
		got, want := foundLines(o.text()), ripgrepLines(t, rg, b.dir, pattern)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d lines, ripgrep finds %d\n%q\n%q", pattern, len(got), len(want), got[:min(20, len(got))], want[:min(20, len(want))])
		}
		found += len(got)
	}
	if found < 100 {
		t.Errorf("%d lines were found in all", found)
	}
}

// makeSearched makes files and ignore rules. A few files have a line with the word "needle".
func makeSearched(b *bench, r *rand.Rand, files int) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	words := []string{"alpha", "beta", "return", "x", "naïve", "日本語", "needl", "eedle", "func", "{", "}"}
	for i := range files {
		dir := fmt.Sprintf("d%d/%s", i/100, pick("src", "out", "docs/deep", "build", "vendor/a"))
		if i%100 == 0 && r.IntN(3) == 0 {
			b.put(fmt.Sprintf("d%d/.gitignore", i/100), pick("build/\n", "*.log\n!keep.log\n", "/out\n", "**/deep\n", "docs/*\n!docs/deep\n", "vendor\n# c\n\\#x\n", "*.tx?\n", "src/**/*.go\n"))
		}
		var text strings.Builder
		end := pick("\n", "\n", "\n", "\r\n")
		for range r.IntN(30) {
			for range r.IntN(6) {
				text.WriteString(pick(words...) + " ")
			}
			text.WriteString(end)
		}
		if r.IntN(files/400) == 0 {
			text.WriteString(pick("needle", "alpha needle", "xxxneedle", "éé needle", fmt.Sprintf("needle_%d", r.IntN(40)), "func a_needle() {", fmt.Sprintf("abcneedle_%dend", r.IntN(99)), "NEEDLE_12", "neeedle_5"))
			text.WriteString(pick(end, ""))
		}
		b.put(path.Join(dir, fmt.Sprintf("f%d.%s", i, pick("go", "txt", "log", "md"))), encoded(r, text.String()))
	}
	b.put("d0/src/keep.log", "needle in keep.log\n")
	b.put("d1/src/image.png", "\x89PNG\x00\x00 needle\n")
	b.put(".ignored/a.txt", "needle in a hidden directory\n")
}

// encoded returns text in one of the encodings that both programs detect.
func encoded(r *rand.Rand, text string) string {
	utf16Of := func(mark string, order binary.AppendByteOrder) string {
		b := []byte(mark)
		for _, u := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	switch r.IntN(20) {
	case 0:
		return "\xef\xbb\xbf" + text
	case 1:
		return utf16Of("\xff\xfe", binary.LittleEndian)
	case 2:
		return utf16Of("\xfe\xff", binary.BigEndian)
	}
	return text
}

// foundLines returns the lines of a result as "path:number", sorted.
func foundLines(result string) (found []string) {
	file := ""
	for line := range strings.Lines(result) {
		line = strings.TrimSuffix(line, "\n")
		number, _, ok := strings.Cut(line, ": ")
		switch {
		case line == "":
		case ok && strings.Trim(number, "0123456789") == "":
			found = append(found, file+":"+number)
		default:
			file = line
		}
	}
	slices.Sort(found)
	return found
}

func ripgrepLines(t *testing.T, rg, dir, pattern string) (found []string) {
	t.Helper()
	cmd := exec.Command(rg, "--no-config", "--no-heading", "--line-number", "--null", "--hidden", "--crlf", "--no-require-git", "--no-ignore-dot", "--no-ignore-parent", "--no-ignore-global", "--glob", "!.git", "-e", pattern, ".")
	cmd.Dir = dir
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 {
		return nil // no line was found
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		name, rest, ok := bytes.Cut(line, []byte{0})
		if !ok {
			continue // "binary file matches"
		}
		number, _, _ := bytes.Cut(rest, []byte(":"))
		found = append(found, strings.TrimPrefix(string(name), "./")+":"+string(number))
	}
	slices.Sort(found)
	return found
}
