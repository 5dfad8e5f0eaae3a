package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/sessiontest"
)

func TestSessionSuite(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) session.Store { return openSessions(t, filepath.Join(t.TempDir(), "stet.db")) })
}

func openSessions(t testing.TB, path string) *sqlite.Sessions {
	t.Helper()
	s, err := sqlite.OpenSessions(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
