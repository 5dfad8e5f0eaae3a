package hazards

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Row: a directory or file is replaced by a symlink during the call. The test exchanges directories and files with links that
// lead outside, without a pause, while all tools are called. Nothing outside is read, made or changed. It takes some seconds, or
// more than 80,000 calls with STET_SOAK=1.
func TestSwappedForLinks(t *testing.T) {
	w := newWorld(t)
	w.put("d/f", "inside\n")
	w.put("deep/d/e/f", "inside\n")
	w.put("file", "inside\n")
	w.link(w.out, "bad")
	w.link(w.out, "deep/bad")
	w.link(filepath.Join(w.out, "f"), "badfile")
	stop := make(chan struct{})
	var swaps, calls, reads, writes atomic.Int64
	var swapping, calling sync.WaitGroup
	for a, b := range map[string]string{"d": "bad", "file": "badfile", "deep/d": "deep/bad"} {
		swapping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if unix.Renameat2(unix.AT_FDCWD, w.abs(a), unix.AT_FDCWD, w.abs(b), unix.RENAME_EXCHANGE) == nil {
						swaps.Add(1)
					}
				}
			}
		})
	}
	limit, until := int64(1<<40), time.Now().Add(3*time.Second)
	if soak() {
		limit, until = 85_000, time.Now().Add(30*time.Minute)
	}
	last := time.Now().Add(patience)
	// On a slow machine the test takes longer, so that there is a race at all.
	more := func() bool {
		now, raced := time.Now(), reads.Load() > 0 && writes.Load() > 0 && swaps.Load() > 0
		return calls.Load() < limit && (now.Before(until) || !raced && now.Before(last)) && !t.Failed()
	}
	for g := range 2 {
		a := w.agent()
		calling.Go(func() {
			for n := 0; more(); n++ {
				for _, c := range raceCalls(fmt.Sprintf("%d-%d", g, n)) {
					calls.Add(1)
					r, err := a.try(c.tool, c.v)
					if err != nil || strings.Contains(r.raw, secret) {
						t.Errorf("%s %v: %v %s", c.tool, c.v, err, r.raw)
						return
					}
					switch {
					case r.ok() && c.writes:
						writes.Add(1)
					case r.ok():
						reads.Add(1)
					}
				}
			}
		})
	}
	calling.Wait()
	close(stop)
	swapping.Wait()
	w.outside()
	t.Logf("%d calls, %d reads and %d writes succeeded, %d swaps, 0 escapes", calls.Load(), reads.Load(), writes.Load(), swaps.Load())
	if reads.Load() == 0 || writes.Load() == 0 || swaps.Load() == 0 {
		t.Error("nothing was raced")
	}
	if soak() && calls.Load() < 80_000 {
		t.Errorf("only %d calls", calls.Load())
	}
}

type raceCall struct {
	tool   string
	v      args
	writes bool
}

func raceCalls(id string) []raceCall {
	return []raceCall{
		{"read_file", args{"path": "d/f"}, false},
		{"read_file", args{"path": "file"}, false},
		{"Read", args{"path": "deep/d/f"}, false},
		{"file_info", args{"path": "d/f"}, false},
		{"write_file", args{"path": "d/n" + id, "content": "x"}, true},
		{"write_file", args{"path": "d/sub" + id + "/x", "content": "x", "create_dirs": true}, true},
		{"write_file", args{"path": "deep/d/e/n" + id, "content": "x"}, true},
		{"edit_file", args{"path": "file", "edits": edits("inside", "inside inside")}, true},
		{"edit_file", args{"path": "d/f", "edits": edits("from outside", "inside")}, true},
		{"list_files", args{"path": "d", "limit": 5}, false},
		{"search_text", args{"path": "deep", "pattern": "from", "limit": 5}, false},
		{"find_files", args{"path": "deep", "pattern": "f", "limit": 5}, false},
	}
}
