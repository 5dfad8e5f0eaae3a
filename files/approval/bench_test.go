package approval_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// BenchmarkCall measures a whole call with the trail in SQLite. "without" only reads and writes the same file.
func BenchmarkCall(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "stet.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	h := newRig(b)
	h.Rate, h.Policy.Unattended = -1, true
	h.Journal = &record.Journal{Trail: store}
	h.file("a", "one\n", 0o644)
	n := 0
	for _, name := range []string{"get", "put"} {
		t, _ := h.Tools.Get(name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n++
				if res := h.run(call("s", name, "a", fmt.Sprint(n))); res.Failed() {
					b.Fatal(res)
				}
			}
		})
		b.Run(name+" without", func(b *testing.B) {
			for b.Loop() {
				n++
				p, err := t.Plan(b.Context(), call("s", name, "a", fmt.Sprint(n)))
				if err == nil && p.Apply != nil {
					_, err = p.Apply(b.Context())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
