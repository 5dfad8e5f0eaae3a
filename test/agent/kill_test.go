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
	"sync"
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

// Kill -9 at any moment of a conversation at work: what Append acknowledged is
// there, byte for byte; no call is made twice; and the conversation goes on, with
// a result for every call. 8 kills, or with STET_SOAK=1 250.
func TestKilled(t *testing.T) {
	kills := 8
	if os.Getenv("STET_SOAK") != "" {
		kills = 250
	}
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "shared.txt"), []byte("begin\nend\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]string{} // by session and number: the hash
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

// checkConversation checks that every answered call was made as its result says,
// and that no call but those of the last answer is without result. It returns
// how many results say that the outcome is not known.
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

// workUntilKilled lets an agent work, kills it so long after its first word, and
// adds what it acknowledged to acks.
func workUntilKilled(t *testing.T, dir string, after time.Duration, acks map[string]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), workerEnv+"="+dir)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	fuse := make(chan *time.Timer, 1)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break // a line that breaks off acknowledges nothing
		}
		once.Do(func() { fuse <- time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) })
		var id, hash string
		var seq uint64
		if _, err := fmt.Sscan(line, &id, &seq, &hash); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		acks[fmt.Sprintf("%s %d", id, seq)] = hash
	}
	_ = cmd.Wait() // it was killed
	select {
	case timer := <-fuse:
		timer.Stop()
	default:
	}
	if complaint.Len() > 0 {
		t.Fatalf("it ended by itself: %s", complaint.String())
	}
}
