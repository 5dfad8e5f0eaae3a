package main

import (
	_ "embed" // counter.py
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm/tokens/exact"
)

// countedFile names an environment variable. If it is set, this program is stet's tokenizer, which counts the file in it.
const countedFile = "BENCH_COUNTED_FILE"

//go:embed counter.py
var counterScript string

// encoding is the vocabulary, and cached is the name of its file in the cache of tiktoken, which checks its hash.
const encoding, cached = "o200k_base", "fb374d419588a4632f3f557e76b4b70aebbca790"

// counter is a tokenizer. Its command loads the vocabulary and a text, and prints the number of tokens and the nanoseconds of
// processor time that counting took.
type counter struct {
	name    string
	command func() *exec.Cmd
	took    []time.Duration
}

// countFile does for stet's tokenizer what counter.py does for others.
func countFile(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := exact.Counter(encoding)
	if err != nil {
		return err
	}
	text := string(data)
	c.Count(text) // not measured
	began := processorTime()
	n := c.Count(text)
	fmt.Println(n, (processorTime() - began).Nanoseconds())
	return nil
}

// countTokens compares stet's tokenizer with others.
func countTokens(_, dir string) error {
	if err := writeVocabulary(filepath.Join(dir, cached)); err != nil {
		return err
	}
	for _, kind := range []string{"Go", "JSON"} {
		name := "counting the tokens of this repository's " + kind
		if !measured(name) {
			continue
		}
		file := filepath.Join(dir, "text."+kind)
		size, err := gather(file, "*."+strings.ToLower(kind))
		if err != nil {
			return err
		}
		counters := []*counter{{name: "stet", command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), countedFile+"="+file)
			return cmd
		}}}
		python := filepath.Join(*peersDir, "venv", "bin", "python")
		for _, peer := range []string{"tiktoken", "bpe-openai"} {
			if exec.Command(python, "-c", "import "+strings.ReplaceAll(peer, "-", "_")).Run() != nil {
				line{name, "", "not installed", peer, "", "< 1"}.print()
				continue
			}
			counters = append(counters, &counter{name: peer, command: func() *exec.Cmd {
				cmd := exec.Command(python, "-c", counterScript, peer, file)
				cmd.Env = append(os.Environ(), "TIKTOKEN_CACHE_DIR="+dir)
				return cmd
			}})
		}
		if err := inRounds(counters, 7**rounds); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		mb := float64(size) / 1e6
		speed := func(c *counter) string { return fmt.Sprintf("%.3g MB/s", mb/median(c.took).Seconds()) }
		for _, c := range counters[1:] {
			line{fmt.Sprintf("%s, %.1f MB", name, mb), speed(counters[0]), speed(c), c.name, ratio([2][]time.Duration{counters[0].took, c.took}), "< 1"}.print()
		}
	}
	return nil
}

// inRounds lets the tokenizers count in turn. All must count the same.
func inRounds(counters []*counter, rounds int) error {
	var want int
	for n := range rounds * len(counters) {
		c := counters[n%len(counters)]
		cmd := c.command()
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		var got int
		var took time.Duration
		if err == nil {
			_, err = fmt.Sscan(string(out), &got, &took)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if n == 0 {
			want = got
		} else if got != want {
			return fmt.Errorf("%s counts %d tokens, stet %d", c.name, got, want)
		}
		c.took = append(c.took, took)
	}
	return nil
}

// gather writes the repository's files of a pattern, one after another, and returns their bytes.
func gather(file, pattern string) (size int, err error) {
	names, err := exec.Command("git", "-C", "..", "ls-files", "-z", pattern).Output()
	if err != nil {
		return 0, err
	}
	var all []byte
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			return 0, err
		}
		all = append(all, strings.ToValidUTF8(string(data), "")...)
	}
	return len(all), os.WriteFile(file, all, 0o600)
}

// writeVocabulary writes stet's vocabulary in the form of tiktoken: a line with the token in base 64 and its rank. llm/tokens/bpe has
// the form that is read.
func writeVocabulary(file string) error {
	data, err := os.ReadFile(filepath.Join("..", "llm", "tokens", "bpe", encoding+".bpe"))
	if err != nil {
		return err
	}
	var tokens []string
	for _, b := range data[:256] {
		tokens = append(tokens, string([]byte{b}))
	}
	for d := data[256:]; len(d) >= 6; d = d[6:] {
		rank := func(d []byte) int { return int(d[0]) | int(d[1])<<8 | int(d[2])<<16 }
		tokens = append(tokens, tokens[rank(d)]+tokens[rank(d[3:])])
	}
	var out strings.Builder
	for rank, token := range tokens {
		fmt.Fprintf(&out, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
	}
	return os.WriteFile(file, []byte(out.String()), 0o600)
}
