package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/store/rows"
	"github.com/stet-dev/stet/test/postgrestest"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/sessiontest"
)

var server postgrestest.Server

// copyEnv is an environment variable. If it names a place, the test binary runs as a process that copies from there.
const copyEnv = "STET_TEST_COPY"

func TestMain(m *testing.M) {
	if from := os.Getenv(copyEnv); from != "" {
		err := store.Copy(context.Background(), from, os.Getenv(copyEnv+"_TO"), func(c store.Copied) { fmt.Println(c.Table, c.Rows, c.All, c.Sum) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	server.Stop()
	os.Exit(code)
}

// contents is the whole content of a store.
type contents struct {
	Infos    []session.Info
	Events   map[string][]session.Event
	Requests []record.Request
	Trims    []record.Trim
	Turns    []record.Turn
	Places   []record.SentPlace
	Forms    map[uint64]record.SentForm
	Sets     map[uint64][]record.OfferedTool
	Calls    []record.ToolCalls
	Entries  []record.Entry
	Head     record.Link
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const rowsEach = 1300 // more than two pages

// fill writes rows of every kind to a new store.
func fill(t *testing.T, where string) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, where)
	must(t, err)
	defer s.Close()
	var b record.Batch
	var entries []record.Entry
	for i := range rowsEach {
		at := recordtest.Start.Add(time.Duration(i) * time.Minute)
		r := recordtest.Full(fmt.Sprint("r", i), "c", at)
		r.Observe, r.Model = i%2 == 0, "a\x00\xff\x01"
		b.Requests = append(b.Requests, r)
		b.Trims = append(b.Trims, record.Trim{Request: r.ID, Time: at, CallID: "x", Paths: []string{"a\x00b"}, Observe: true})
		b.Turns = append(b.Turns, record.Turn{Prefix: uint64(i) << 54, Time: at, Model: "m"})
		b.Forms = append(b.Forms, record.SentForm{ID: uint64(i) + 1, Parent: uint64(i), Edits: []byte{0, byte(i)}})
		b.Places = append(b.Places, record.SentPlace{Place: ^uint64(i), Key: uint64(i) << 54, Form: uint64(i) + 1, Time: at, Bound: true})
		b.Refusals = append(b.Refusals, record.Refusal{Account: ^uint64(i), Time: at})
		b.ToolSets = append(b.ToolSets, record.ToolSet{ID: uint64(i) << 54, Tools: []record.OfferedTool{{Name: fmt.Sprint("tool ", i), Tokens: i}}})
		b.ToolCalls = append(b.ToolCalls, record.ToolCalls{Conversation: fmt.Sprint("c\x00\xff", i%7), Tool: fmt.Sprint("t", i), Time: at, Calls: i})
		e := recordtest.FullEntry("\x01s", "p\x00\xff", at)
		entries = append(entries, e)
	}
	must(t, s.Append(ctx, b))
	_, err = s.Log(ctx, entries...)
	must(t, err)
	sessions, err := store.OpenSessions(ctx, where)
	must(t, err)
	defer sessions.Close()
	for n := range 4 {
		bodies := sessiontest.Bodies()[1:6]
		for range rowsEach / 4 {
			bodies = append(bodies, sessiontest.Text(llm.User, fmt.Sprintf("word%d \x00\xff", n)))
		}
		_, err := session.Create(ctx, sessions, session.Opening{Dir: "/d\xff"}, bodies...)
		must(t, err)
	}
}

func read(t *testing.T, where string) (c contents) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, where)
	must(t, err)
	defer s.Close()
	c.Requests, err = s.Requests(ctx, record.Query{})
	must(t, err)
	c.Trims, err = s.Trims(ctx, record.Query{})
	must(t, err)
	var prefixes, places []uint64
	for i := range rowsEach {
		prefixes, places = append(prefixes, uint64(i)<<54), append(places, ^uint64(i))
	}
	c.Turns, err = s.Turns(ctx, prefixes)
	must(t, err)
	var forms []record.SentForm
	c.Places, forms, err = s.SentForms(ctx, places)
	must(t, err)
	c.Forms = map[uint64]record.SentForm{}
	for _, f := range forms {
		c.Forms[f.ID] = f
	}
	sets, calls, err := s.Tools(ctx, time.Time{})
	must(t, err)
	c.Sets, c.Calls = map[uint64][]record.OfferedTool{}, calls
	for _, set := range sets {
		c.Sets[set.ID] = set.Tools
	}
	c.Entries, err = s.Entries(ctx, record.TrailQuery{})
	must(t, err)
	v, err := record.Verify(ctx, s)
	must(t, err)
	if v.Broken != nil {
		t.Errorf("%s: %+v", where, v.Broken)
	}
	c.Head = v.Head
	sessions, err := store.OpenSessions(ctx, where)
	must(t, err)
	defer sessions.Close()
	c.Infos, err = sessions.List(ctx, session.Query{})
	must(t, err)
	c.Events = map[string][]session.Event{}
	for _, i := range c.Infos {
		events, damaged, err := sessions.Events(ctx, i.ID, 0)
		must(t, err)
		if len(damaged) > 0 {
			t.Errorf("%s: %v", where, damaged)
		}
		c.Events[i.ID] = events
	}
	return c
}

func same(t *testing.T, want, got contents) {
	t.Helper()
	if len(want.Requests) != rowsEach || len(want.Entries) != rowsEach || len(want.Infos) != 4 {
		t.Fatalf("there is not what was written: %d, %d, %d", len(want.Requests), len(want.Entries), len(want.Infos))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d[:min(len(d), 3000)])
	}
}

// goesOn checks that a finished copy accepts new records.
func goesOn(t *testing.T, where string) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, where)
	must(t, err)
	defer s.Close()
	e, err := s.Log(ctx, recordtest.FullEntry("s", "p", time.Now()))
	if err != nil || e[0].Seq != rowsEach+1 {
		t.Errorf("%+v, %v", e, err)
	}
	must(t, s.Append(ctx, record.Batch{Requests: []record.Request{recordtest.Full("new", "c", time.Now())}}))
	sessions, err := store.OpenSessions(ctx, where)
	must(t, err)
	defer sessions.Close()
	_, err = session.Create(ctx, sessions, session.Opening{}, sessiontest.Text(llm.User, "newest"))
	must(t, err)
	for _, word := range []string{"newest", "word2"} {
		if hits, err := sessions.Search(ctx, []string{word}, 1); err != nil || len(hits) != 1 {
			t.Errorf("search %s: %v, %v", word, hits, err)
		}
	}
}

// A copy from a file to a database and back to a file loses nothing, and does not change the first file.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	file, back, database := filepath.Join(dir, "stet.db"), filepath.Join(dir, "back.db"), server.Database(t)
	fill(t, file)
	want := read(t, file)
	before, err := os.ReadFile(file)
	must(t, err)
	sums := map[string]string{}
	must(t, store.Copy(t.Context(), file, database, func(c store.Copied) { sums[c.Table] = c.Sum }))
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the source was changed, %v", err)
	}
	same(t, want, read(t, database))
	if len(sums) != len(rows.Tables) || sums["trail"] == "" || sums["trail"] == sums["events"] {
		t.Errorf("%v", sums)
	}
	must(t, store.Copy(t.Context(), database, back, nil))
	same(t, want, read(t, back))
	goesOn(t, database)
	goesOn(t, back)

	for to, said := range map[string]string{database: "is not empty", back: "is there already"} {
		if err := store.Copy(t.Context(), file, to, nil); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("copy to %s again: %v", to, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*copying*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A copy that is killed repeatedly continues where it was, in both directions. Until the copy is complete, opening it fails.
func TestCopyKilled(t *testing.T) {
	dir := t.TempDir()
	file, back, database := filepath.Join(dir, "stet.db"), filepath.Join(dir, "back.db"), server.Database(t)
	fill(t, file)
	want := read(t, file)
	for _, way := range []struct{ from, to string }{{file, database}, {database, back}} {
		kills := 0
		for complete := false; !complete; kills++ {
			complete = copyUntil(t, way.from, way.to, 1+3*kills) || opens(t, way.to) // the copy may complete just before it is killed
		}
		if kills < 4 {
			t.Errorf("it was killed only %d times", kills)
		}
		same(t, want, read(t, way.to))
	}
}

// opens reports whether where has a complete store.
func opens(t *testing.T, where string) bool {
	t.Helper()
	if _, err := os.Stat(where); !store.IsDatabase(where) && errors.Is(err, os.ErrNotExist) {
		return false
	}
	s, err := store.Open(t.Context(), where)
	if err != nil {
		if !strings.Contains(err.Error(), "is not complete") {
			t.Error(err)
		}
		return false
	}
	must(t, s.Close())
	return true
}

// copyUntil copies in a separate process, and kills that process after the given number of lines of progress. It reports whether
// the copy was complete before that.
func copyUntil(t *testing.T, from, to string, lines int) bool {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), copyEnv+"="+from, copyEnv+"_TO="+to)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	said := bufio.NewScanner(out)
	for range lines {
		if !said.Scan() {
			must(t, c.Wait())
			return true
		}
	}
	must(t, c.Process.Kill())
	_ = c.Wait() // the error says that the process was killed
	return false
}

// A copy that differs from its source is reported. Here rows were changed between two attempts.
func TestCopyCompared(t *testing.T) {
	dir := t.TempDir()
	file, other, database := filepath.Join(dir, "stet.db"), filepath.Join(dir, "other.db"), server.Database(t)
	fill(t, file)
	for copyUntil(t, file, database, 12) {
		t.Fatal("complete already")
	}
	fill(t, other) // other sessions than in file
	err := store.Copy(t.Context(), other, database, nil)
	if err == nil {
		t.Fatal("two halves are taken for a whole")
	}
	if opens(t, database) {
		t.Error("it was opened")
	}
}
