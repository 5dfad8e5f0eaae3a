package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/recordtest"
)

// smallDisk returns a directory on a file system of the given size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("no small disk to be had:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk fills the file system of dir with a file, and returns the path of that file.
func fillDisk(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk takes it: %v", err)
	}
	return ballast
}

// wantFull checks that err names the full file system.
func wantFull(t *testing.T, what string, err error, dir string) {
	t.Helper()
	if !errors.Is(err, record.ErrFull) || !strings.Contains(err.Error(), "the file system of "+dir+" is full") {
		t.Errorf("%s: %v", what, err)
	}
}

// For a full disk every store returns an error that names the file system. Nothing is damaged. When there is space again, writes
// succeed.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "4m")
	path := filepath.Join(dir, "stet.db")
	s := open(t, path)
	defer s.Close()
	sessions, err := sqlite.OpenSessions(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close()
	say := func(text string) error {
		return sessions.Append(t.Context(), session.Batch{Session: "s" + text, Events: []session.Event{
			{Time: time.Now(), Body: session.Opening{Dir: strings.Repeat("/d", 10_000)}},
		}})
	}
	last := intents(t, s, 1, time.Now())
	ballast := fillDisk(t, dir)

	long := record.Entry{Kind: record.Intent, Path: strings.Repeat("p", 100_000)}
	_, err = s.Log(t.Context(), long)
	wantFull(t, "trail", err, dir)
	row := recordtest.Full("r", "c", recordtest.Start)
	row.Model = strings.Repeat("m", 100_000)
	wantFull(t, "requests", s.Append(t.Context(), record.Batch{Requests: []record.Request{row}}), dir)
	wantFull(t, "sessions", say("full"), dir)
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "another.db"))
	wantFull(t, "another one", err, dir)

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Log(t.Context(), long); err != nil {
		t.Error(err)
	}
	if err := s.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
		t.Error(err)
	}
	if err := say("room"); err != nil {
		t.Error(err)
	}
	if v, err := record.Verify(t.Context(), s, last[0].Link()); err != nil || v.Broken != nil || v.Entries != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

// If the state directory cannot be written, the error says what to check, at Open and later. Existing data can be read.
func TestReadOnlyDisk(t *testing.T) {
	dir := smallDisk(t, "4m")
	path := filepath.Join(dir, "stet.db")
	s := open(t, path)
	intents(t, s, 1, time.Now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip("the disk stays writable:", err)
	}
	for _, file := range []string{path, filepath.Join(dir, "new.db"), filepath.Join(dir, "below", "new.db")} {
		_, err := sqlite.Open(t.Context(), file)
		if err == nil || !strings.Contains(err.Error(), file) && !strings.Contains(err.Error(), filepath.Dir(file)) || !unwritable(err) {
			t.Errorf("open %s: %v", file, err)
		}
		_, err = sqlite.OpenSessions(t.Context(), file)
		if err == nil || !unwritable(err) {
			t.Errorf("open sessions %s: %v", file, err)
		}
	}
}

// unwritable reports whether err says that the disk cannot be written.
func unwritable(err error) bool {
	return errors.Is(err, syscall.EROFS) || strings.Contains(err.Error(), "check that the file and its directory can be written")
}
