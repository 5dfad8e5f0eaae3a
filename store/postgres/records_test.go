package postgres_test

import (
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/test/recordtest"
)

func TestSuite(t *testing.T) {
	recordtest.Run(t, func(t *testing.T) record.Store { return open(t, server.Database(t)) })
}

func TestTrailSuite(t *testing.T) {
	recordtest.RunTrail(t, func(t *testing.T) record.Trail { return open(t, server.Database(t)) })
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
