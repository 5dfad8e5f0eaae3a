package agent

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerEnv); dir != "" {
		fmt.Fprintln(os.Stderr, work(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// kill -9 at a random moment of a working conversation. Every event that Append acknowledged is stored, byte for byte. No call is
// made twice. The conversation continues, with a result for every call. 8 kills, or 500 with STET_SOAK=1.
func TestKilled(t *testing.T) {
	kills := 8
	if os.Getenv("STET_SOAK") != "" {
		kills = 500
	}
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "shared.txt"), []byte("begin\nend\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]string{} // the hash, by session and number
	for range kills {
		workUntilKilled(t, dir, time.Duration(rand.IntN(60_000))*time.Microsecond, acknowledged)
	}
	store, err := sqlite.OpenSessions(t.Context(), filepath.Join(dir, "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sessions, err := store.List(context.Background(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	stored, unknown, compacted := 0, 0, 0
	for _, i := range sessions {
		events, damaged, err := store.Events(t.Context(), i.ID, 0)
		if err != nil || len(damaged) > 0 {
			t.Fatal(err, damaged)
		}
		if i.Next != "" {
			compacted++
		}
		for _, e := range events {
			stored++
			key := fmt.Sprintf("%s %d", i.ID, e.Seq)
			if want, ok := acknowledged[key]; ok && want != hashOf(e.Body) {
				t.Errorf("event %s is not what was acknowledged", key)
			}
			delete(acknowledged, key)
		}
		unknown += checkConversation(t, session.FoldEvents(i.ID, events), tree)
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d events that were acknowledged are lost", len(acknowledged))
	}
	calls := checkLedger(t, filepath.Join(dir, "ledger"))
	t.Logf("%d kills, %d events, %d calls made, none twice; %d results unknown, %d compactions", kills, stored, calls, unknown, compacted)
}

// checkConversation checks that every answered call was made as its result says, and that only calls of the last answer have no
// result. It returns how many results say that the outcome is not known.
func checkConversation(t *testing.T, st session.State, tree string) (unknown int) {
	t.Helper()
	waiting := map[string]llm.Part{}
	for _, m := range st.Messages {
		if m.Role == llm.Assistant && !m.Local && len(waiting) > 0 {
			t.Errorf("session %s: the model goes on, and %d calls have no result", st.ID, len(waiting))
			clear(waiting)
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.ToolCall:
				waiting[p.CallID] = p
			case llm.ToolResult:
				was, ok := waiting[p.CallID]
				if !ok {
					t.Errorf("session %s: a result of no call, or a second one: %s", st.ID, p.CallID)
				}
				delete(waiting, p.CallID)
				if strings.Contains(p.Text, "is not known") {
					unknown++
				} else if was.Name == "write_file" && !p.IsError {
					name := strings.Split(was.Args, `"`)[3]
					if got, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(got) != "the content of "+name+"\n" {
						t.Errorf("%s: %q, %v", name, got, err)
					}
				}
			}
		}
	}
	return unknown
}

func checkLedger(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if seen[line] {
			t.Errorf("made twice: %s", line)
		}
		seen[line] = true
	}
	return len(seen)
}

// workUntilKilled starts an agent, kills it some time after its first event, and adds the acknowledged events to acks.
func workUntilKilled(t *testing.T, dir string, after time.Duration, acks map[string]string) {
	t.Helper()
	w := startWorker(t, dir)
	var fuse *time.Timer
	for w.read(t, acks) {
		if fuse == nil {
			fuse = time.AfterFunc(after, w.kill)
		}
	}
	if fuse != nil {
		fuse.Stop()
	}
	if said := w.wait(); said != "" {
		t.Fatalf("it ended by itself: %s", said)
	}
}

// worker is an agent in a process of its own: see work.
type worker struct {
	cmd       *exec.Cmd
	lines     *bufio.Reader // the acknowledged events
	complaint bytes.Buffer  // the reason if it ends by itself
}

func startWorker(t *testing.T, dir string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+dir)
	w.cmd.Stderr = &w.complaint
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// read adds the next acknowledged event to acks. It returns false if the process has ended.
func (w *worker) read(t *testing.T, acks map[string]string) bool {
	t.Helper()
	line, err := w.lines.ReadString('\n')
	if err != nil {
		if err != io.EOF {
			t.Error(err)
		}
		return false // an incomplete line acknowledges nothing
	}
	var id, hash string
	var seq uint64
	if _, err := fmt.Sscan(line, &id, &seq, &hash); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	acks[fmt.Sprintf("%s %d", id, seq)] = hash
	return true
}

func (w *worker) kill() { _ = w.cmd.Process.Kill() }

// wait waits for the end of the process, after all lines were read, and returns its error text.
func (w *worker) wait() string {
	_ = w.cmd.Wait() // it was killed, or ends with an error
	return w.complaint.String()
}
