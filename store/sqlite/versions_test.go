package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/record/recordtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// application marks a database as stet's.
const application = "PRAGMA application_id = 0x73746574; PRAGMA journal_mode = WAL"

// migrations returns the names of the migration files, in order.
func migrations(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS("migrations"), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}

// oldDatabase creates a database as an older stet would, which knows only these migrations.
func oldDatabase(t *testing.T, names []string) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "stet.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(application); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join("migrations", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: content}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path, db
}

// tables returns the names of the tables that have rows of stet, with the names of their columns.
func tables(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	rows, err := db.Query(`SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND m.name NOT LIKE 'words%' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		all[table] = append(all[table], column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// fill inserts a row into every table that is empty.
func fill(t *testing.T, db *sql.DB) {
	t.Helper()
	all := tables(t, db)
	for _, table := range slices.Sorted(maps.Keys(all)) {
		if table == "trail" {
			e := record.Chain(record.Link{}, []record.Entry{{Kind: record.Call, Time: recordtest.Start, Session: "s", Outcome: record.OK}})[0]
			oldLog(t, db, e)
			continue
		}
		var columns, values []string
		rows, err := db.Query("SELECT name, type FROM pragma_table_info(?)", table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var column, kind string
			if err := rows.Scan(&column, &kind); err != nil {
				t.Fatal(err)
			}
			columns = append(columns, column)
			switch {
			case column == "paths":
				values = append(values, `'["a.go"]'`)
			case kind == "TEXT":
				values = append(values, "'"+column+"'")
			case kind == "BLOB":
				values = append(values, "x'0100000000000000'")
			default:
				values = append(values, "1")
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
}

// oldLog appends an entry to the trail like all older versions do.
func oldLog(t *testing.T, db *sql.DB, e record.Entry) {
	t.Helper()
	_, err := db.Exec(`INSERT INTO trail (seq, time_us, prev, hash, kind, intent, root, session, client, call_id, tool, path, bytes,
		before, after, decision, by, outcome, flags) VALUES (?, ?, ?, ?, ?, 0, '', ?, '', '', '', '', 0, '', '', '', '', ?, '[]')`,
		e.Seq, e.Time.UnixMicro(), e.Prev, e.Hash, string(e.Kind), e.Session, e.Outcome)
	if err != nil {
		t.Fatal(err)
	}
}

// content returns the values of these columns of the tables.
func content(t *testing.T, db *sql.DB, of map[string][]string) string {
	t.Helper()
	var b strings.Builder
	for _, table := range slices.Sorted(maps.Keys(of)) {
		rows, err := db.Query("SELECT " + strings.Join(of[table], ", ") + " FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			row := make([]any, len(of[table]))
			for i := range row {
				row[i] = new(any)
			}
			if err := rows.Scan(row...); err != nil {
				t.Fatal(err)
			}
			for i, v := range row {
				fmt.Fprintf(&b, "%s.%s = %v\n", table, of[table][i], *v.(*any))
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// dropped are the columns that migrations remove.
var dropped = map[string][]string{"requests": {"longer", "hour"}, "turns": {"longer"}}

// copied checks that the copy of a database is complete, and that only its owner can read it. The copy was made before columns
// were removed.
func copied(t *testing.T, path string, columns map[string][]string, want string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var sound string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("%s, %v", sound, err)
	}
	var id int
	if err := db.QueryRow("PRAGMA application_id").Scan(&id); err != nil || id != 0x73746574 {
		t.Errorf("application %x, %v", id, err)
	}
	if diff := cmp.Diff(want, content(t, db, columns)); diff != "" {
		t.Errorf("the copy is not what was there: %s", diff)
	}
}

// A database of every earlier schema is upgraded. Nothing is lost but the columns that a migration removes. The copy has these
// columns.
func TestEverySchema(t *testing.T) {
	names := migrations(t)
	for n := range names {
		t.Run("up to "+names[n], func(t *testing.T) {
			path, db := oldDatabase(t, names[:n+1])
			defer db.Close()
			fill(t, db)
			columns := tables(t, db)
			before := content(t, db, columns)
			kept := map[string][]string{}
			for table, all := range columns {
				kept[table] = slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(dropped[table], c) })
			}
			stays := content(t, db, kept)
			s := open(t, path)
			defer s.Close()
			if diff := cmp.Diff(stays, content(t, db, kept)); diff != "" {
				t.Error(diff)
			}
			for table, all := range tables(t, db) {
				for _, column := range dropped[table] {
					if slices.Contains(all, column) {
						t.Errorf("%s still has %s", table, column)
					}
				}
			}
			var version int64
			if _, err := fmt.Sscanf(names[n], "%d_", &version); err != nil {
				t.Fatal(err)
			}
			if backup := sqlite.CopyFile(path, version); n < len(names)-1 {
				copied(t, backup, columns, before)
			} else if _, err := os.Stat(backup); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a database that does not change was copied: %v", err)
			}
			if rows, err := s.Requests(t.Context(), record.Query{}); err != nil || len(rows) != 1 {
				t.Errorf("requests %v, %v", rows, err)
			}
			if rows, err := s.Trims(t.Context(), record.Query{}); err != nil || len(rows) != 1 {
				t.Errorf("trims %v, %v", rows, err)
			}
			if rows, err := s.Turns(t.Context(), 10); err != nil || len(rows) > 0 != (columns["turns"] != nil) {
				t.Errorf("turns %v, %v", rows, err)
			}
			intents(t, s, 1, recordtest.Start)
			v, err := record.Verify(t.Context(), s)
			if err != nil || v.Broken != nil || v.Entries != 1+min(n, 1) {
				t.Errorf("the trail: %+v, %v", v, err)
			}
			sessions, err := sqlite.OpenSessions(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer sessions.Close()
			list, err := sessions.List(t.Context(), session.Query{})
			if err != nil || len(list) > 0 != (columns["sessions"] != nil) {
				t.Errorf("sessions %v, %v", list, err)
			}
		})
	}
}

// A turn of an older database may be marked because messages behind it stayed whole. Such a turn is not a cold point.
func TestOldMarksOfTurns(t *testing.T) {
	names := migrations(t)
	before := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "00022") })
	path, db := oldDatabase(t, names[:before])
	defer db.Close()
	fill(t, db)
	do := func(statement string, values ...any) {
		t.Helper()
		if _, err := db.Exec(statement, values...); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE TABLE one AS SELECT * FROM turns; DELETE FROM turns")
	for i, moment := range []string{"gap", "elsewhere", "managed", "thinking", "tools", ""} {
		do("UPDATE one SET prefix = ?, moment = ?", i, moment)
		do("INSERT INTO turns SELECT * FROM one")
	}
	do("DROP TABLE one")
	s := open(t, path)
	defer s.Close()
	turns, err := s.Turns(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]string{}
	for _, turn := range turns {
		got[turn.Prefix] = turn.Moment
	}
	if diff := cmp.Diff(map[uint64]string{0: "gap", 1: "", 2: "", 3: "", 4: "tools", 5: ""}, got); diff != "" {
		t.Error(diff)
	}
}

// directory returns the contents of the files in a directory.
func directory(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Inspect changes no byte of a database, with any schema.
func TestInspect(t *testing.T) {
	names := migrations(t)
	for n := range names {
		path, db := oldDatabase(t, names[:n+1])
		fill(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		before := directory(t, filepath.Dir(path))
		got, err := sqlite.Inspect(t.Context(), path, record.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if after := directory(t, filepath.Dir(path)); !bytes.Equal(after["stet.db"], before["stet.db"]) || len(after["stet.db-wal"]) > 0 {
			t.Errorf("%s: %v", names[n], slices.Collect(maps.Keys(after)))
		}
		newest := n == len(names)-1
		if (got.Schema == got.Newest) != newest || (got.Rows["trail"] == 1) != newest || (len(got.Requests) == 1) != newest {
			t.Errorf("%s: %+v", names[n], got)
		}
	}
}

// A database with a newer schema is refused. The message says what to do. No byte in its directory is changed.
func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := open(t, path)
	intents(t, s, 2, recordtest.Start)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1); ALTER TABLE trail ADD COLUMN to_come TEXT NOT NULL DEFAULT ''")
	before := directory(t, filepath.Dir(path))
	_, err1 := sqlite.Open(t.Context(), path)
	_, err2 := sqlite.OpenSessions(t.Context(), path)
	for _, err := range []error{err1, err2} {
		if err == nil || !strings.Contains(err.Error(), "made by a newer stet (schema 99, this one knows ") ||
			!strings.Contains(err.Error(), "use that version, or name another path; nothing was changed") {
			t.Error(err)
		}
	}
	if after := directory(t, filepath.Dir(path)); !maps.EqualFunc(after, before, bytes.Equal) {
		t.Errorf("files before: %v, after: %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// An older stet has the file open while this one upgrades the schema. The older one can continue, and both append to one chain.
func TestOlderProgramRuns(t *testing.T) {
	names := migrations(t)
	for n := 1; n < len(names); n++ { // the first schema has no trail
		path, older := oldDatabase(t, names[:n+1])
		defer older.Close()
		fill(t, older)
		s := open(t, path)
		defer s.Close()
		intents(t, s, 2, recordtest.Start)
		all, err := s.Entries(context.Background(), record.TrailQuery{})
		if err != nil {
			t.Fatal(err)
		}
		oldLog(t, older, record.Chain(all[2].Link(), []record.Entry{{Kind: record.Call, Time: recordtest.Start, Session: "older"}})[0])
		intents(t, s, 1, recordtest.Start)
		if v, err := record.Verify(t.Context(), s); err != nil || v.Broken != nil || v.Entries != 5 {
			t.Errorf("%s: %+v, %v", names[n], v, err)
		}
		if _, err := older.Exec("DELETE FROM trail WHERE seq = 1"); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: the older one cuts the trail: %v", names[n], err)
		}
		if _, err := older.Exec("INSERT INTO trims (request, time_us, conversation, call_id, paths, reason, before, after, observe) VALUES ('r', 1, '', 'x', '[]', '', 1, 1, 0)"); err != nil {
			t.Errorf("%s: %v", names[n], err)
		}
	}
}

// The two newest copies are kept. Files with other names are not removed.
func TestOldCopiesGo(t *testing.T) {
	names := migrations(t)
	path, db := oldDatabase(t, names[:len(names)-1])
	defer db.Close()
	for _, name := range []string{sqlite.CopyFile(path, 7), sqlite.CopyFile(path, 15), sqlite.CopyFile(path, 19), strings.Replace(sqlite.CopyFile(path, 1), "-1.", "-mine.", 1)} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.schema-*"))
	for i := range left {
		left[i] = regexp.MustCompile(`^.*schema-`).ReplaceAllString(left[i], "")
	}
	slices.Sort(left)
	if diff := cmp.Diff([]string{"19.db", "23.db", "mine.db"}, left); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// The way back to an older version, as docs/operations.md describes it: the copy replaces the database. Later records are lost.
// The audit trail continues when a person accepts that loss.
func TestBackToACopy(t *testing.T) {
	names := migrations(t)
	path, db := oldDatabase(t, names[:len(names)-1])
	fill(t, db)
	columns := tables(t, db)
	before := content(t, db, columns)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	intents(t, s, 2, recordtest.Start)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := sqlite.Inspect(t.Context(), path, record.Query{})
	if err != nil || len(found.Copies) != 1 {
		t.Fatal(found, err)
	}
	for _, rest := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + rest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(found.Copies[0], path); err != nil {
		t.Fatal(err)
	}
	s = open(t, path) // the test has only this version, which upgrades the schema again
	defer s.Close()
	copied(t, found.Copies[0], columns, before)
	if err := s.CheckTrail(t.Context()); !errors.Is(err, record.ErrLost) {
		t.Errorf("entries are lost: %v", err)
	}
	if e, err := s.AcceptLoss(t.Context(), "me"); err != nil || e.Seq != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	intents(t, s, 1, recordtest.Start)
}

// If the copy cannot be made, no data is removed.
func TestNoCopyNoChange(t *testing.T) {
	names := migrations(t)
	path, db := oldDatabase(t, names[:slices.Index(names, "00019_no_hour.sql")])
	defer db.Close()
	fill(t, db)
	columns := tables(t, db)
	before := content(t, db, columns)
	if err := os.MkdirAll(filepath.Join(sqlite.CopyFile(path, 17), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "copy the file before its schema changes") {
		t.Errorf("%v, %v", s, err)
	}
	if diff := cmp.Diff(before, content(t, db, columns)); diff != "" {
		t.Error(diff)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*-half")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
