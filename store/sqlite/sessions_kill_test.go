package sqlite_test

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

// appenderEnv is an environment variable. If it names a file, the test binary appends to sessions in this file until it is killed.
const appenderEnv = "STET_TEST_APPENDER"

const appenders = 3

// appendForever appends to several sessions at the same time, and prints which events were acknowledged. It creates the sessions if the
// file has none. Otherwise it resumes them.
func appendForever(path string) error {
	ctx := context.Background()
	s, err := sqlite.OpenSessions(ctx, path)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for n := range appenders {
		go func() { failed <- appendTo(ctx, s, fmt.Sprintf("appender %d", n)) }()
	}
	return <-failed
}

func appendTo(ctx context.Context, s session.Store, dir string) error {
	found, err := s.List(ctx, session.Query{Dir: dir})
	if err != nil {
		return err
	}
	var h *session.Session
	if len(found) == 0 {
		h, err = session.Create(ctx, s, session.Opening{Dir: dir})
	} else {
		h, err = session.Resume(ctx, s, found[0].ID)
	}
	for err == nil {
		next := h.State().Last + 1
		if err = h.Append(ctx, messageOf(h.ID(), next)); err == nil {
			_, err = fmt.Printf("%s %d\n", h.ID(), next)
		}
	}
	return err
}

// messageOf returns the message of event seq of a session: arbitrary bytes, up to 30 KB.
func messageOf(id string, seq uint64) session.Message {
	var seed [32]byte
	copy(seed[:], fmt.Sprintf("%s %d", id[len(id)-12:], seq))
	src := rand.NewChaCha8(seed)
	text := make([]byte, src.Uint64()%[]uint64{100, 3_000, 30_000}[seq%3])
	_, _ = src.Read(text) // never fails
	return session.Message{Role: llm.User, Time: time.Unix(int64(seq), 0).UTC(), Parts: []llm.Part{{Text: string(text)}}}
}

// The process is killed with SIGKILL at random times. Every event that Append acknowledged is stored, byte for byte. Other stored
// events are complete. There are 8 kills, or 250 with STET_SOAK=1.
func TestSessionsKilled(t *testing.T) {
	kills := 8
	if os.Getenv("STET_SOAK") != "" {
		kills = 250
	}
	path := filepath.Join(t.TempDir(), "stet.db")
	checked := map[string]uint64{} // by session: number of the last event that was checked
	acknowledged, more := 0, 0
	for range kills {
		acks := appendUntilKilled(t, path, time.Duration(rand.IntN(40_000))*time.Microsecond)
		for id, last := range acks {
			acknowledged += int(last - min(last, max(1, checked[id])))
		}
		s := openSessions(t, path)
		found, err := s.List(t.Context(), session.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range found {
			if i.Last < acks[i.ID] {
				t.Fatalf("session %s: event %d was acknowledged, %d is the last", i.ID, acks[i.ID], i.Last)
			}
			if acks[i.ID] > 0 {
				more += int(i.Last - acks[i.ID])
			}
			checkMessages(t, s, i.ID, max(checked[i.ID], 1))
			checked[i.ID] = i.Last
			delete(acks, i.ID)
		}
		if len(acks) > 0 {
			t.Fatalf("lost: %v", acks)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := openSessions(t, path)
	defer s.Close()
	for id := range checked {
		checkMessages(t, s, id, 1)
	}
	t.Logf("%d kills, %d events acknowledged, %d written and not acknowledged, 0 lost", kills, acknowledged, more)
}

// appendUntilKilled runs a process that appends events. It kills the process some time after its first line of output, and returns
// the last acknowledged event of each session.
func appendUntilKilled(t *testing.T, path string, after time.Duration) map[string]uint64 {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), appenderEnv+"="+path)
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
	acks := map[string]uint64{}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break // an incomplete line acknowledges nothing
		}
		once.Do(func() { fuse <- time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) })
		var id string
		var seq uint64
		if _, err := fmt.Sscan(line, &id, &seq); err != nil || acks[id] >= seq {
			t.Errorf("%q: %v", line, err)
		}
		acks[id] = seq
	}
	_ = cmd.Wait() // the error says that the process was killed
	if len(acks) == 0 || complaint.Len() > 0 {
		t.Fatalf("the process said nothing, or had trouble: %s", strings.TrimSpace(complaint.String()))
	}
	(<-fuse).Stop()
	return acks
}

// checkMessages compares every byte of the messages after an event.
func checkMessages(t *testing.T, s session.Store, id string, after uint64) {
	t.Helper()
	events, damaged, err := s.Events(t.Context(), id, after)
	if err != nil || len(damaged) > 0 {
		t.Fatalf("session %s: %v, damaged %v", id, err, damaged)
	}
	for _, e := range events {
		want := messageOf(id, e.Seq)
		got, ok := e.Body.(session.Message)
		if !ok || got.Role != want.Role || !got.Time.Equal(want.Time) || len(got.Parts) != len(want.Parts) ||
			got.Parts[0] != want.Parts[0] {
			t.Fatalf("session %s: event %d is not what was said", id, e.Seq)
		}
	}
}
