package hazards

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// auditEntry has the fields of a line of "stet audit --json" that these tests check.
type auditEntry struct {
	Seq, Intent                            uint64
	Kind, Session, Path, Tool              string
	Before, After, Outcome, Decision, Root string
}

func (w *world) audit() []auditEntry {
	w.t.Helper()
	var all []auditEntry
	for line := range strings.Lines(w.run("audit", "--root", w.dir, "--last", "0", "--json")) {
		var e auditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

// Row: two agents with a server each edit the same files of one tree: no edit that was reported as done is lost. Each edit
// replaces one line. Some lines belong to one agent, others to both. Each edit writes a unique line. At the end that line is in
// the file, or another successful edit has replaced it. 100 edits each, or 1,000 with STET_SOAK=1.
func TestTwoAgents(t *testing.T) {
	edits1 := 100
	if soak() {
		edits1 = 1000
	}
	const files, slots = 4, 60
	w := newWorld(t)
	for f := range files {
		var b strings.Builder
		for s := range slots {
			fmt.Fprintf(&b, "slot %d: start\n", s)
		}
		w.put(fmt.Sprint("f", f), b.String())
	}
	type done struct{ file, slot int }
	var mu sync.Mutex
	replaced := map[string]string{} // the new line of an edit, by the line that it replaced
	var retries int
	var wg sync.WaitGroup
	for g := range 2 {
		a := w.agent()
		wg.Go(func() {
			for n := 0; n < edits1 && !t.Failed(); n++ {
				d := done{n % files, (n*7 + n/files) % slots}
				name := fmt.Sprint("f", d.file)
				for try := 0; ; try++ {
					if try == 200 {
						t.Errorf("edit %d of %d never succeeds", n, g)
						return
					}
					r, err := a.try("read_file", args{"path": name})
					if err != nil || !r.ok() {
						t.Errorf("%v %s", err, r.raw)
						return
					}
					prefix := fmt.Sprintf("slot %d: ", d.slot)
					at := strings.Index("\n"+r.Content, "\n"+prefix)
					old, _, _ := strings.Cut(r.Content[at:], "\n")
					next := fmt.Sprintf("%sagent %d edit %d", prefix, g, n)
					r, err = a.try("edit_file", args{"path": name, "edits": edits(old+"\n", next+"\n")})
					if err != nil {
						t.Error(err)
						return
					}
					if !r.ok() {
						if c := r.code(); c != "concurrent_modification" && c != "invalid_argument" {
							t.Errorf("%s", r.raw)
							return
						}
						mu.Lock()
						retries++
						mu.Unlock()
						continue
					}
					mu.Lock()
					if by, ok := replaced[name+old]; ok {
						t.Errorf("%s was replaced by %q and by %q", old, by, next)
					}
					replaced[name+old] = next
					mu.Unlock()
					break
				}
			}
			_ = a.Close() // writes the whole trail
		})
	}
	wg.Wait()
	// The edits of each line are one chain, from the first content to the last.
	count := 0
	for f := range files {
		name := fmt.Sprint("f", f)
		lines := strings.Split(strings.TrimSuffix(w.get(name), "\n"), "\n")
		if len(lines) != slots {
			t.Errorf("%s has %d lines", name, len(lines))
		}
		for s, there := range lines {
			line := fmt.Sprintf("slot %d: start", s)
			for next, ok := replaced[name+line]; ok; next, ok = replaced[name+line] {
				line = next
				count++
			}
			if line != there {
				t.Errorf("%s has %q, the last edit was %q", name, there, line)
			}
		}
	}
	if count != 2*edits1 {
		t.Errorf("%d edits are accounted for, of %d", count, 2*edits1)
	}
	w.checkTrail(2 * edits1)
	t.Logf("%d edits by two agents, %d tried again, 0 lost", count, retries)
}

// checkTrail checks that the trail has so many writes, and that the hashes of the writes to each file form a chain.
func (w *world) checkTrail(writes int) {
	w.t.Helper()
	ok := map[uint64]bool{}
	all := w.audit()
	for _, e := range all {
		if e.Kind == "outcome" && e.Outcome == "ok" {
			ok[e.Intent] = true
		}
	}
	byFile := map[string][]auditEntry{}
	sessions := map[string]bool{}
	n := 0
	for _, e := range all {
		if e.Kind == "intent" && ok[e.Seq] {
			byFile[e.Path] = append(byFile[e.Path], e)
			sessions[e.Session] = true
			n++
		}
	}
	if n != writes || len(sessions) != 2 {
		w.t.Errorf("%d writes of %d sessions are recorded, of %d", n, len(sessions), writes)
	}
	// Each content occurs once. So the writes of a file form one chain, in whatever order their intents were recorded.
	for name, list := range byFile {
		after := map[string]string{}
		for _, e := range list {
			if _, twice := after[e.Before]; twice {
				w.t.Errorf("%s: two writes on %s", name, e.Before)
			}
			after[e.Before] = e.After
		}
		begin := slices.IndexFunc(list, func(e auditEntry) bool {
			return !slices.ContainsFunc(list, func(o auditEntry) bool { return o.After == e.Before })
		})
		if begin < 0 {
			w.t.Errorf("%s: no first write", name)
			continue
		}
		long := 0
		for at := list[begin].Before; after[at] != "" && long <= len(list); at = after[at] {
			long++
		}
		if long != len(list) {
			w.t.Errorf("%s: %d writes, and a chain of %d", name, len(list), long)
		}
	}
	if out := w.run("audit", "--verify"); strings.Contains(out, "no outcome") {
		w.t.Errorf("%s", out)
	}
}

// Row: two agents create the same file: only one of them succeeds.
func TestTwoAgentsCreate(t *testing.T) {
	w := newWorld(t)
	a := []*agent{w.agent(), w.agent()}
	for n := range 50 {
		name := fmt.Sprint("new", n)
		var said [2]result
		var wg sync.WaitGroup
		for g := range 2 {
			wg.Go(func() { said[g], _ = a[g].try("write_file", args{"path": name, "content": fmt.Sprint(g, "\n")}) })
		}
		wg.Wait()
		if said[0].ok() == said[1].ok() {
			t.Fatalf("%s\n%s", said[0].raw, said[1].raw)
		}
		want := "0\n"
		if said[1].ok() {
			want = "1\n"
		}
		if got := w.get(name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
