package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// wideTree makes a project of n files in n/55 directories, and a commit of them.
func wideTree(b *testing.B, n int) string {
	b.Helper()
	dir := filepath.Join(os.TempDir(), "stet-bench-"+strconv.Itoa(n))
	if _, err := os.Stat(filepath.Join(dir, ".git", "HEAD")); err == nil {
		return dir
	}
	for i := range n {
		p := filepath.Join(dir, fmt.Sprintf("d%02d/e%d", i/55%100, i/55))
		if i%55 == 0 {
			if err := os.MkdirAll(p, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		data := make([]byte, 4000)
		copy(data, fmt.Sprintf("file %d\n", i))
		if err := os.WriteFile(filepath.Join(p, fmt.Sprintf("file%d.go", i)), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	sh(b, dir, "git init -q; git -c core.looseCompression=0 add .; git -c gc.auto=0 commit -qm one; git -c gc.auto=0 repack -adq")
	return dir
}

// BenchmarkCall is what the guard adds to a command that changes one file: Begin and End. (GRD-5)
// STET_FILES=1000000 sets the number of files.
func BenchmarkCall(b *testing.B) {
	n := 100_000
	if v, err := strconv.Atoi(os.Getenv("STET_FILES")); err == nil {
		n = v
	}
	dir := wideTree(b, n)
	for name, o := range map[string]Options{"watched": {}, "walked": {NoWatch: true}, "watched without git": {NoGit: true}, "walked without git": {NoWatch: true, NoGit: true}} {
		b.Run(name, func(b *testing.B) {
			start := time.Now()
			tree, store := open(b, dir, o)
			first := time.Since(start)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			i := 0
			var before, after time.Duration
			for b.Loop() {
				i++
				start := time.Now()
				c, err := tree.Begin(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				before += time.Since(start)
				write(b, filepath.Join(dir, "d00/e0/file0.go"), strconv.Itoa(i))
				start = time.Now()
				r, err := c.End(b.Context())
				if err != nil || len(r.Changes) != 1 {
					b.Fatal(err, r)
				}
				after += time.Since(start)
			}
			b.ReportMetric(float64(before.Microseconds())/float64(i)/1000, "ms/before")
			b.ReportMetric(float64(after.Microseconds())/float64(i)/1000, "ms/after")
			b.ReportMetric(first.Seconds(), "s/first")
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB/heap")
			b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB/taken")
			b.ReportMetric(float64(store.Used())/1e6, "MB/disk")
		})
	}
}
