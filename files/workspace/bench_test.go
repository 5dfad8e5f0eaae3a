package workspace

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// bigFile makes a file of 524 MB with 8,388,608 lines. All benchmarks share it.
func bigFile(b *testing.B) (*tree, string) {
	b.Helper()
	tr := newTree(b, Options{})
	f, err := os.Create(tr.abs("big.txt"))
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range 1 << 23 {
		fmt.Fprintf(w, "%08d ", i)
		_, _ = w.WriteString("a line of text that is as long as lines are, on average\n"[:53])
		_ = w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	settle(b, tr.abs("big.txt"))
	return tr, "big.txt"
}

func BenchmarkBigPage(b *testing.B) {
	tr, name := bigFile(b)
	p := tr.path(name)
	ctx := context.Background()
	q := PageRequest{Line: 4_000_000}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			tr.pages = indexes{}
			if pg, err := tr.Page(ctx, p, q); err != nil || len(pg.Lines) != 500 || pg.Total != 1<<23 {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if _, err := tr.Page(ctx, p, q); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("wc", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("wc", "-l", tr.abs(name)).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sed", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("sed", "-n", "4000000,4000499p;4000499q", tr.abs(name)).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
