package hazards

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestSeparateStates: eight servers work on one root, each with a state directory of its own, like a container and its host. Each
// adds lines to the same files, at its own place in them. A line whose call succeeded is in its file once. A line whose call
// failed is not in its file. 2 rounds, or 20 with STET_SOAK=1. (FILE-14, FILE-15)
func TestSeparateStates(t *testing.T) {
	rounds := 2
	if soak() {
		rounds = 20
	}
	var all, refused int
	for range rounds {
		a, r := separateStates(t)
		all, refused = all+a, refused+r
	}
	t.Logf("%d rounds: %d edits acknowledged, %d refused", rounds, all, refused)
}

func separateStates(t *testing.T) (acknowledged, refused int) {
	const servers, lines = 8, 15
	w := newWorld(t)
	w.config = "unread = \"allow\"\n"
	var text strings.Builder
	for s := range servers {
		fmt.Fprintf(&text, "== %d\n\n", s)
	}
	w.put("f", text.String()+strings.Repeat("this line is left as it is\n", 4_000))
	homes := w.home
	var mu sync.Mutex
	done := map[string]bool{} // by line: whether its call succeeded
	var wg sync.WaitGroup
	for s := range servers {
		w.home = filepath.Join(homes, fmt.Sprint(s))
		if err := os.MkdirAll(w.home, 0o755); err != nil {
			t.Fatal(err)
		}
		a := w.agent()
		wg.Go(func() {
			defer a.Close()
			for n := range lines {
				line := fmt.Sprintf("server %d line %d\n", s, n)
				head := fmt.Sprintf("== %d\n", s)
				r, err := a.try("edit_file", args{"path": "f", "edits": edits(head, head+line)})
				if err != nil {
					t.Error(err)
					return
				}
				if c := r.code(); !r.ok() && c != "concurrent_modification" {
					t.Errorf("%s", r.raw)
				}
				mu.Lock()
				done[line] = r.ok()
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	there := map[string]int{}
	for line := range strings.Lines(w.get("f")) {
		there[line]++
	}
	for line, ok := range done {
		switch n := there[line]; {
		case ok && n != 1:
			t.Errorf("answered with success, and %d times in the file: %q", n, line)
		case !ok && n != 0:
			t.Errorf("answered with a failure, and in the file: %q", line)
		}
		if ok {
			acknowledged++
		} else {
			refused++
		}
	}
	if l := w.temporaryFiles(); len(l) > 0 {
		t.Errorf("temporary files: %v", l)
	}
	return acknowledged, refused
}
