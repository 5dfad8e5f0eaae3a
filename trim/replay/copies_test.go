package replay_test

import (
	"bytes"
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
	if err != nil || len(samples) < 15 {
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

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
