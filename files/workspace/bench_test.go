package workspace

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

func BenchmarkSmallRead(b *testing.B) {
	tr := newTree(b, Options{})
	tr.put("src/a/small.txt", strings.Repeat("0123456789abcde\n", 64))
	settle(b, tr.abs("src/a/small.txt"))
	p := tr.path("src/a/small.txt")
	ctx := context.Background()
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if _, err := tr.Page(ctx, p, PageRequest{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if _, err := tr.ReadAll(ctx, p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os.ReadFile", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(tr.abs("src/a/small.txt")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen compares the ways to open a file in the tree.
func BenchmarkOpen(b *testing.B) {
	tr := newTree(b, Options{})
	tr.put("src/a/b/small.txt", "x\n")
	p := tr.path("src/a/b/small.txt")
	root, err := os.OpenRoot(tr.dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	b.Run("openat2", func(b *testing.B) {
		for b.Loop() {
			f, err := tr.Root.dir.Open(p.name)
			if err != nil {
				b.Fatal(err)
			}
			_ = f.Close()
		}
	})
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			f, _, err := tr.openSlowly(p.name)
			if err != nil {
				b.Fatal(err)
			}
			_ = f.Close()
		}
	})
	b.Run("os.Root", func(b *testing.B) {
		for b.Loop() {
			f, err := root.Open(p.name)
			if err != nil {
				b.Fatal(err)
			}
			_ = f.Close()
		}
	})
}

func BenchmarkLongLine(b *testing.B) {
	tr := newTree(b, Options{})
	tr.put("line.json", strings.Repeat("0123456789", mb))
	settle(b, tr.abs("line.json"))
	p := tr.path("line.json")
	ctx := context.Background()
	for _, column := range []int{1, 5_000_000} {
		b.Run("first/column="+strconv.Itoa(column), func(b *testing.B) {
			for b.Loop() {
				tr.pages = indexes{}
				if pg, err := tr.Page(ctx, p, PageRequest{Column: column}); err != nil || pg.Lines[0].More == 0 {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if _, err := tr.Page(ctx, p, PageRequest{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead9MB(b *testing.B) {
	tr := newTree(b, Options{})
	tr.put("nine.txt", strings.Repeat("0123456789abcde\n", 9*mb/16))
	settle(b, tr.abs("nine.txt"))
	p := tr.path("nine.txt")
	for b.Loop() {
		if _, err := tr.ReadAll(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite measures a durable write of 4 KB that replaces the previous version.
func BenchmarkWrite(b *testing.B) {
	tr := newTree(b, Options{})
	tr.put("src/f.txt", "")
	p := tr.path("src/f.txt")
	ctx := context.Background()
	line := strings.Repeat("0123456789abcde\n", 255)
	b.Run("stet", func(b *testing.B) {
		was, err := tr.Version(ctx, p)
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			w, err := tr.Write(ctx, p, fmt.Appendf(nil, "%s%016d", line, i), was, WriteMode{})
			if err != nil {
				b.Fatal(err)
			}
			was = w.Now
		}
	})
	b.Run("temp+fsync+rename+fsync", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			plainDurable(b, filepath.Join(tr.dir, "src"), fmt.Appendf(nil, "%s%016d", line, i))
		}
	})
}

func plainDurable(b *testing.B, dir string, data []byte) {
	f, err := os.CreateTemp(dir, "x")
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, "plain"))
	}
	if err != nil {
		b.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStat measures what is done before a person is asked. This includes finding the class by inode.
func BenchmarkStat(b *testing.B) {
	tr := newTree(b, Options{})
	for _, f := range []string{"src/a/b/f.go", ".git/config", ".github/workflows/ci.yml", ".envrc"} {
		tr.put(f, "x")
	}
	p := tr.path("src/a/b/f.go")
	for b.Loop() {
		if _, err := tr.Inspect(p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk walks 10,000 files in 100 directories.
func BenchmarkWalk(b *testing.B) {
	tr := newTree(b, Options{})
	tr.put(".gitignore", "*.o\n/build/\nnode_modules/\n*.log\n!keep.log\n")
	for i := range 10_000 {
		tr.put(fmt.Sprintf("d%d/e%d/f%d.go", i%10, i%100, i), "")
	}
	b.Run("stet", func(b *testing.B) {
		for b.Loop() {
			n := 0
			err := tr.Walk(context.Background(), tr.path("."), ListOptions{}, func(Entry) error { n++; return nil })
			if err != nil || n < 10_000 {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("filepath.WalkDir", func(b *testing.B) {
		for b.Loop() {
			if err := filepath.WalkDir(tr.dir, func(string, os.DirEntry, error) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
