package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// Two processes use one session. The second one gets an error, and nothing is mixed up or lost, neither acknowledged events nor
// calls that were made. A killed process blocks no other process.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tree", "shared.txt"), []byte("begin\nend\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.OpenSessions(t.Context(), filepath.Join(dir, "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a, err := newAgent(dir, store)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(words string) error {
		_, err := c.Run(t.Context(), []llm.Part{{Text: words}}, nil)
		return err
	}
	if err := run("Begin."); err != nil {
		t.Fatal(err)
	}
	id := c.ID()

	// The other process continues. This one gets an error.
	acknowledged := map[string]string{}
	other := startWorker(t, dir)
	defer other.kill()
	if !other.read(t, acknowledged) {
		t.Fatal(other.wait())
	}
	err = run("Not stored.")
	if !errors.Is(err, session.ErrStale) || !strings.Contains(err.Error(), "session "+id+" is open in another process (since 20") {
		t.Fatal(err)
	}
	// This process tries again, until its message comes between two events of the other process. Then the other process gets an
	// error, and what it has done is kept.
	for err != nil {
		if err = run("Stored."); err != nil && !errors.Is(err, session.ErrStale) && !errors.Is(err, session.ErrCompacted) {
			t.Fatal(err)
		}
		if errors.Is(err, session.ErrCompacted) || c.State().Next != "" {
			if c, err = a.Resume(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			err = session.ErrStale
		}
	}
	for other.read(t, acknowledged) {
	}
	told := other.wait()
	if !strings.Contains(told, "is open in another process (since ") {
		t.Fatalf("the other one ended with %q", told)
	}

	// A killed process blocks no other process.
	other = startWorker(t, dir)
	defer other.kill()
	if !other.read(t, acknowledged) {
		t.Fatal(other.wait())
	}
	other.kill()
	for other.read(t, acknowledged) {
	}
	if said := other.wait(); said != "" {
		t.Fatal(said)
	}
	if c, err = a.Resume(t.Context(), id); err == nil {
		err = run("After the kill.")
	}
	if err != nil {
		t.Fatal(err)
	}
	checkAcknowledged(t, store, acknowledged, told)
}

// checkAcknowledged checks that every acknowledged event is stored, that the fork in the text told is there, and that every
// conversation is consistent.
func checkAcknowledged(t *testing.T, store session.Store, acknowledged map[string]string, told string) {
	t.Helper()
	sessions, err := store.List(context.Background(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	left, kept := maps.Clone(acknowledged), strings.Contains(told, "nothing was stored")
	for _, i := range sessions {
		events, damaged, err := store.Events(context.Background(), i.ID, 0)
		if err != nil || len(damaged) > 0 {
			t.Fatal(err, damaged)
		}
		said := 0
		for _, e := range events {
			key := fmt.Sprintf("%s %d", i.ID, e.Seq)
			if want, ok := left[key]; ok && want != hashOf(e.Body) {
				t.Errorf("event %s is not what was acknowledged", key)
			}
			delete(left, key)
			if m, ok := e.Body.(session.Message); ok && m.Role == llm.User && m.Parts[0].Text == "Not stored." {
				said++
			}
		}
		if said > 0 {
			t.Errorf("what was refused is stored in session %s", i.ID)
		}
		kept = kept || strings.Contains(told, "is kept in session "+i.ID) && i.From.Relation == session.Forked
	}
	if len(left) > 0 || !kept {
		t.Errorf("%d events that were acknowledged are lost; kept: %v, of %q", len(left), kept, told)
	}
}
