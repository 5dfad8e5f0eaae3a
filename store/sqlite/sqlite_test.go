package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/recordtest"
)

// writerEnv is an environment variable. If it names a file, the test binary writes to that file and ends.
const writerEnv = "STET_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := write(path, os.Getenv(writerEnv+"_NAME"), 10); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(appenderEnv); path != "" {
		fmt.Fprintln(os.Stderr, appendForever(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// write opens the file again for every row, like many short processes.
func write(path, name string, rows int) error {
	for i := range rows {
		ctx := context.Background()
		s, err := sqlite.Open(ctx, path)
		if err != nil {
			return err
		}
		err = s.Append(ctx, record.Batch{
			Requests: []record.Request{recordtest.Full(fmt.Sprintf("%s-%d", name, i), name, recordtest.Start)},
			Trims:    []record.Trim{{Request: name, CallID: fmt.Sprint(i), Conversation: name}},
		})
		if err != nil {
			return err
		}
		for _, kind := range []record.Kind{record.Call, record.Intent} {
			if _, err := s.Log(ctx, record.Entry{Kind: kind, Session: name}, record.Entry{Kind: record.Call, Session: name}); err != nil {
				return err
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

func TestSuite(t *testing.T) {
	recordtest.Run(t, func(t *testing.T) record.Store {
		return open(t, filepath.Join(t.TempDir(), "odd name?#%20&", "stet.db"))
	})
}

func TestTrailSuite(t *testing.T) {
	recordtest.RunTrail(t, func(t *testing.T) record.Trail { return open(t, filepath.Join(t.TempDir(), "stet.db")) })
}

// Several stet processes use one file at the same time. Some of them create it.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "stet.db")
	const processes = 4
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), writerEnv+"="+path, fmt.Sprintf("%s_NAME=p%d", writerEnv, p))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", p, err, out)
			}
		})
		wg.Go(func() {
			if err := write(path, fmt.Sprintf("h%d", p), 5); err != nil {
				t.Errorf("handle %d: %v", p, err)
			}
		})
	}
	wg.Wait()
	s := open(t, path)
	defer s.Close()
	got, err := s.Requests(t.Context(), record.Query{})
	if err != nil || len(got) != processes*15 {
		t.Errorf("%d requests, %v", len(got), err)
	}
	trims, err := s.Trims(t.Context(), record.Query{})
	if err != nil || len(trims) != processes*15 {
		t.Errorf("%d trims, %v", len(trims), err)
	}
	// FILE-11: the entries of all processes are in one chain.
	v, err := record.Verify(t.Context(), s)
	if err != nil || v.Broken != nil || v.Entries != processes*15*4 {
		t.Errorf("%d entries hold, broken %+v, %v", v.Entries, v.Broken, err)
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	want := recordtest.Full("r", "c", recordtest.Start)
	s := open(t, path)
	if err := s.Append(t.Context(), record.Batch{Requests: []record.Request{want}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	defer s.Close()
	rows, err := s.Requests(t.Context(), record.Query{})
	if err != nil || len(rows) != 1 || rows[0] != want {
		t.Errorf("after reopening: %+v, %v", rows, err)
	}
}

func TestMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state", "stet.db")
	s := open(t, path)
	defer s.Close()
	if err := s.Append(t.Context(), record.Batch{Requests: []record.Request{recordtest.Full("r", "c", recordtest.Start)}}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	wide := filepath.Join(dir, "wide.db")
	if err := os.WriteFile(wide, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, wide).Close()
	if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could read: %v, %v", info.Mode(), err)
	}
}

// A damaged file, or a file that is not stet's, is not changed. The error names the file and says what a person can do.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	s := open(t, good)
	rows := make([]record.Request, 200)
	for i := range rows {
		rows[i] = recordtest.Full(fmt.Sprint("r", i), "c", recordtest.Start.Add(time.Duration(i)))
	}
	if err := s.Append(t.Context(), record.Batch{Requests: rows}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(sound)
	for i := 100; i < 4096; i++ {
		damaged[i] = 0xEE
	}
	for _, test := range []struct {
		name    string
		content []byte
		says    string
	}{
		{"text", []byte("these are my notes, please keep them\n"), "damaged or no database"},
		{"long text", bytes.Repeat([]byte("notes\n"), 5000), "damaged or no database"},
		{"schema page", damaged, "damaged or no database"},
		{"cut short", sound[:4096], "damaged or no database"},
		{"foreign", execute(t, sound, "PRAGMA application_id = 77"), "another program's database"},
		{"another version", execute(t, sound, "PRAGMA user_version = 999"), "another version of stet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stet.db")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				_, err = s.Requests(t.Context(), record.Query{})
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, test.content) {
				t.Errorf("the file was changed (%d bytes, %v)", len(now), err)
			}
		})
	}
	if _, err := sqlite.Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink("gone.db", link); err == nil {
		if _, err := sqlite.Open(t.Context(), link); err == nil || !strings.Contains(err.Error(), `a link to "gone.db", which is not there`) {
			t.Errorf("a link to nothing: %v", err)
		}
	}
}

// execute returns the content of a database after a statement. content is the database before.
func execute(t *testing.T, content []byte, statement string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
