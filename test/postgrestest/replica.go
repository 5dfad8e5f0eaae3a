package postgrestest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stet-dev/stet/test/freeport"
)

// Replica starts another server as a replica of this one. After that, a commit on this server waits until the replica has it too.
// The caller must stop the replica.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	r := new(Server)
	if err := r.follow(t, bin, s.port); err != nil {
		r.Stop()
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.sql(t.Context(), statement); err != nil {
			r.Stop()
			t.Fatal(err)
		}
	}
	return r
}

// follow copies the server at a port, and starts as its replica.
func (s *Server) follow(t testing.TB, bin string, port int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir, err = os.MkdirTemp("", "stet-postgres"); err != nil {
		return err
	}
	copying := exec.Command(program(bin, "pg_basebackup"), "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "stet",
		"-D", filepath.Join(s.dir, "data"), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	copying.Env = append(os.Environ(), "PGPASSWORD="+Password)
	if err := unprivileged(copying, s.dir); err != nil {
		return err
	}
	if out, err := copying.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	s.port = freeport.Ports(t, 1)[0]
	return s.start(bin)
}

// Promote makes a replica a server that accepts writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.sql(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
}

// On returns the URL that a database of another server has on this server.
func (s *Server) On(t testing.TB, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	return u.String()
}
