package postgrestest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/test/freeport"
)

// Bouncer starts PgBouncer in front of a database of the server, and returns the URL of PgBouncer. It has few connections to the
// server, and each transaction may get a different one.
func (s *Server) Bouncer(t testing.TB, database string) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin, err = exec.LookPath("/usr/sbin/pgbouncer") // the path on Debian
	}
	if err != nil {
		if os.Getenv("STET_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip("PgBouncer is not installed: apt-get install pgbouncer")
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "stet-bouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := freeport.Ports(t, 1)[0]
	ini := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
%s = host=127.0.0.1 port=%s user=stet password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
logfile = %s
`, filepath.Base(u.Path), u.Port(), Password, port, filepath.Join(dir, "log"))
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(bin, "-q", ini)
	if err := unprivileged(run, dir, ini); err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // the error says that the process was killed
	})
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := pgx.Connect(t.Context(), u.String()+"&default_query_exec_mode=simple_protocol")
		if err == nil {
			_ = c.Close(context.Background())
			return u.String()
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("PgBouncer does not answer: %v\n%s", err, said)
		}
	}
}
