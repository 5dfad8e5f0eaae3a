package postgrestest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Dump writes a database to a file, with pg_dump.
func (s *Server) Dump(t testing.TB, database, file string) {
	t.Helper()
	run(t, "pg_dump", "-Fc", "-f", file, "-d", database)
}

// Restore restores a file of Dump into a database. options are options of pg_restore.
func (s *Server) Restore(t testing.TB, file, database string, options ...string) {
	t.Helper()
	run(t, "pg_restore", append(options, "--exit-on-error", "-d", database, file)...)
}

// run runs a program of PostgreSQL, and waits until it ends.
func run(t testing.TB, name string, a ...string) {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	path := program(bin, name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("STET_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if out, err := exec.Command(path, a...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// program returns the path of a program in the directory of initdb.
func program(bin, name string) string {
	if real, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb")); err == nil {
		bin = filepath.Dir(real) // only initdb may have a link in bin; the other programs are beside its target
	}
	return filepath.Join(bin, name)
}
