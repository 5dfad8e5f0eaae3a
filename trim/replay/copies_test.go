package replay_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/tools/txtar"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim/replay"
)

// Every format has a sample. Its answers are billed once if a copy stands beside it: whole, compressed, with a part of its
// lines, or, where a fork gives new ids, with new ids.
//
// BILL-1
func TestCopiesAreBilledOnce(t *testing.T) {
	price := func(string) (prices.Model, bool) { return prices.Model{USD: prices.USD{Input: 1, Output: 5}}, true }
	bill := func(t *testing.T, paths ...string) replay.Report {
		t.Helper()
		rep, err := replay.Savings(t.Context(), paths, replay.Config{Models: price, Overhead: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Totals.USD == nil {
			t.Fatalf("no bill: %+v", rep)
		}
		return rep
	}
	samples, err := filepath.Glob("../transcript/testdata/golden/*.txtar")
	if err != nil || len(samples) < 13 {
		t.Fatal(samples, err)
	}
	for _, sample := range samples {
		ar, err := txtar.ParseFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		for kind, change := range map[string]func(name string, data []byte) (string, []byte){
			"whole": func(name string, data []byte) (string, []byte) { return name, data },
			"compressed": func(name string, data []byte) (string, []byte) {
				w, _ := zstd.NewWriter(nil)
				return name + ".zst", w.EncodeAll(data, nil)
			},
			"beginning": func(name string, data []byte) (string, []byte) {
				lines := bytes.SplitAfter(data, []byte("\n"))
				return name, bytes.Join(lines[:len(lines)*2/3], nil)
			},
			"new ids": func(name string, data []byte) (string, []byte) {
				return name, bytes.ReplaceAll(data, []byte("msg_"), []byte("msg_f"))
			},
		} {
			name := strings.TrimSuffix(filepath.Base(sample), ".txtar")
			opencode := strings.HasPrefix(name, "opencode")
			lines := strings.HasSuffix(ar.Files[0].Name, ".jsonl")
			if kind == "new ids" && name != "opencode-export" || kind == "compressed" && name == "opencode-storage" ||
				kind == "beginning" && (!lines || opencode || name == "trace") {
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				one, two := t.TempDir(), t.TempDir()
				for _, f := range ar.Files {
					if f.Name == "want" {
						continue
					}
					write(t, filepath.Join(one, f.Name), f.Data)
					changed, data := change(f.Name, f.Data)
					write(t, filepath.Join(two, changed), data)
				}
				alone, both := bill(t, one), bill(t, one, two)
				if a, b := alone.Totals, both.Totals; b.Requests != a.Requests || *b.USD != *a.USD || b.Tokens != a.Tokens {
					t.Errorf("%d requests, %+v; without the copies %d, %+v", b.Requests, *b.USD, a.Requests, *a.USD)
				}
				if kind != "beginning" && both.Copies < alone.Totals.Requests {
					t.Errorf("%d copies of %d answers", both.Copies, alone.Totals.Requests)
				}
			})
		}
	}
}

// A copy that was cut off after any of its lines changes nothing, also if it is read first.
//
// BILL-1
func TestCutCopies(t *testing.T) {
	price := func(string) (prices.Model, bool) { return prices.Model{USD: prices.USD{Input: 1, Output: 5}}, true }
	samples, err := filepath.Glob("../transcript/testdata/golden/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range samples {
		ar, err := txtar.ParseFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		if f := ar.Files[0].Name; len(ar.Files) > 2 || !strings.HasSuffix(f, ".jsonl") || strings.HasPrefix(filepath.Base(sample), "opencode") {
			continue
		}
		lines := bytes.SplitAfter(ar.Files[0].Data, []byte("\n"))
		cut, whole := t.TempDir(), t.TempDir()
		write(t, filepath.Join(whole, ar.Files[0].Name), ar.Files[0].Data)
		bill := func(paths ...string) (int, float64) {
			rep, err := replay.Savings(t.Context(), paths, replay.Config{Models: price, Overhead: -1}, nil)
			if err != nil || rep.Totals.USD == nil {
				t.Fatal(sample, err)
			}
			return rep.Totals.Requests, rep.Totals.USD.Reported
		}
		requests, usd := bill(whole)
		for n := 1; n < len(lines); n++ {
			write(t, filepath.Join(cut, ar.Files[0].Name), bytes.Join(lines[:n], nil))
			if r, u := bill(cut, whole); r != requests || math.Abs(u-usd) > 1e-9 {
				t.Errorf("%s cut after line %d: %d requests, %v dollars; want %d, %v", filepath.Base(sample), n, r, u, requests, usd)
			}
		}
	}
}

// A family of forks is known only when its last file is read.
//
// BILL-1
func TestLateFamily(t *testing.T) {
	line := func(kind, payload string) string {
		return `{"timestamp":"2026-01-02T03:04:05Z","type":"` + kind + `","payload":{` + payload + "}}\n"
	}
	session := func(id, parent string, answers ...string) string {
		all := line("session_meta", `"id":"`+id+`","forked_from_id":"`+parent+`","cwd":"/w"`) + line("turn_context", `"model":"gpt-5.2"`)
		for i, a := range answers {
			all += line("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]`) +
				line("response_item", `"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+a+`"}]`) +
				line("event_msg", fmt.Sprintf(`"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":5},"last_token_usage":{"input_tokens":100,"output_tokens":5}}`, 100*(i+1)))
		}
		return all
	}
	for _, order := range []string{"cab", "acb", "cba", "bca", "abc", "bac"} {
		dir := t.TempDir()
		for i, s := range order {
			data := map[rune]string{'a': session("a", "", "1", "2"), 'b': session("b", "a", "1", "2"), 'c': session("c", "b", "1", "2", "3")}[s]
			write(t, filepath.Join(dir, fmt.Sprint(i, ".jsonl")), []byte(data))
		}
		rep, err := replay.Savings(t.Context(), []string{dir}, replay.Config{Overhead: -1}, nil)
		if err != nil || rep.Totals.Requests != 3 || rep.Copies != 4 || len(rep.Sessions) > 2 {
			t.Errorf("%s: %v, %d requests, %d copies, %d sessions", order, err, rep.Totals.Requests, rep.Copies, len(rep.Sessions))
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
