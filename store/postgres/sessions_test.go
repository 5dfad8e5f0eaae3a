package postgres_test

import (
	"testing"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/session/sessiontest"
	"github.com/stet-dev/stet/store/postgres"
)

func TestSessionSuite(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) session.Store { return openSessions(t, server.Database(t)) })
}

func openSessions(t testing.TB, url string) *postgres.Sessions {
	t.Helper()
	s, err := postgres.OpenSessions(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
