package guard

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/store"
)

// BenchmarkDay is a day of 5,000 calls in a project of 1,000 files of 8 KB: half of them look, half change one file. It reports the time and what is
// on disk. (GRD-5)
func BenchmarkDay(b *testing.B) {
	const files, calls = 1000, 5000
	rng := rand.New(rand.NewPCG(1, 1))
	text := func() []byte {
		var t []byte
		for len(t) < 8<<10 {
			t = fmt.Appendf(t, "line %d of a file with some words in it %d\n", rng.IntN(1000), rng.IntN(100))
		}
		return t
	}
	for b.Loop() {
		dir := b.TempDir()
		name := func(i int) string { return filepath.Join(dir, fmt.Sprint("d", i%20), fmt.Sprint("f", i)) }
		for i := range files {
			if err := os.MkdirAll(filepath.Dir(name(i)), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(name(i), text(), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		kept, err := snapshot.OpenStore(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		trail, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "stet.db"))
		if err != nil {
			b.Fatal(err)
		}
		g := New(Config{Store: kept, Trail: trail, Rules: func(string) (*policy.Policy, error) { return nil, nil }})
		handle := func(e Event) {
			e.Agent, e.Session, e.Dir = "agent", "s", dir
			if _, err := g.Handle(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		handle(Event{Kind: Started})
		for i := range calls {
			e := Event{Kind: Before, Call: fmt.Sprint(i), Tool: "Bash", Input: json.RawMessage(`{"command":"git status"}`)}
			if i%2 == 0 {
				e.Input = json.RawMessage(`{"command":"make"}`)
			}
			handle(e)
			if i%2 == 0 {
				if err := os.WriteFile(name(rng.IntN(files)), text(), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			e.Kind = After
			handle(e)
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(kept.Used())/1e6, "MB/kept")
		if err := trail.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/calls, "ms/call")
}
