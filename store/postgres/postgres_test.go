package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/store/rows"
	"github.com/stet-dev/stet/test/postgrestest"
	"github.com/stet-dev/stet/test/recordtest"
)

// No error contains the password, in any of its spellings.
func TestPassword(t *testing.T) {
	good := server.Database(t)
	escaped := url.QueryEscape(postgrestest.Password)
	wrong := strings.Replace(good, "pass", "fail", 1)
	for _, where := range []string{
		wrong,
		strings.Replace(wrong, "@127.0.0.1:", "@127.0.0.1:1", 1), // a port that is no valid number, or a port without a server
		"postgres://stet:" + escaped + "@nowhere.invalid/x?connect_timeout=1",
		"postgres://127.0.0.1/x?user=stet&connect_timeout=1&password=" + escaped,
		"postgres://stet:" + postgrestest.Password + "@127.0.0.1/x", // not escaped
		"postgres://stet:" + escaped + "@127.0.0.1:port/x",
		"postgres://stet:" + escaped + "@127.0.0.1/x?sslmode=unheard-of",
		"postgres://stet:" + escaped + "@127.0.0.1/x?pool_max_conns=many",
	} {
		_, err := postgres.Open(t.Context(), where)
		if err == nil {
			t.Errorf("%s: opened", where)
			continue
		}
		for _, secret := range []string{postgrestest.Password, escaped, "pass word", "pass%20word", "fail word", "fail%20word"} {
			if strings.Contains(err.Error(), secret) || strings.Contains(postgres.Name(where), secret) {
				t.Errorf("%q is in %q or %q", secret, err, postgres.Name(where))
			}
		}
	}
}

// A database of another version of stet is refused and not changed. Inspect changes nothing, not even the schema.
func TestOtherSchema(t *testing.T) {
	where := server.Database(t)
	look := func() rows.Inspection {
		t.Helper()
		found, err := postgres.Inspect(t.Context(), where, record.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for range 2 {
		if found := look(); found.Schema != 0 || found.Newest == 0 || found.Rows != nil {
			t.Errorf("an empty database: %+v", found)
		}
	}
	s := open(t, where)
	if err := s.Append(t.Context(), record.Batch{Requests: []record.Request{recordtest.Full("r", "c", recordtest.Start)}}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, where)
	if rows, err := s.Requests(t.Context(), record.Query{}); err != nil || len(rows) != 1 {
		t.Error(rows, err)
	}
	s.Close()
	if found := look(); found.Schema != found.Newest || found.Rows["requests"] != 1 || len(found.Requests) != 1 {
		t.Errorf("%+v", found)
	}
	change(t, where, "UPDATE stet_schema SET number = 9999")
	if found := look(); found.Schema != 9999 || found.Rows != nil || found.Requests != nil {
		t.Errorf("%+v", found)
	}
	if _, err := postgres.Open(t.Context(), where); err == nil || !strings.Contains(err.Error(), "another version of stet (schema 9999") {
		t.Error(err)
	}
}

// Several processes open an empty database at the same time. The schema is created once.
func TestOpenAtOnce(t *testing.T) {
	where := server.Database(t)
	errs := make(chan error)
	for range 8 {
		go func() {
			s, err := postgres.Open(t.Context(), where)
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// stet migrate copies every table, and every migration has a unique number.
func TestTablesAreCopied(t *testing.T) {
	s := open(t, server.Database(t))
	defer s.Close()
	known := map[string]bool{"stet_schema": true, "trail_head": true} // derived from the other tables
	for _, table := range rows.Tables {
		known[table.Name] = true
	}
	tables, err := s.TableNames(t.Context())
	if err != nil || len(tables) != len(known) {
		t.Errorf("%d tables, %v", len(tables), err)
	}
	for _, name := range tables {
		if !known[name] {
			t.Errorf("the table %s is not in rows.Tables", name)
		}
	}
}
