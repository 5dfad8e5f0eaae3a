// Package postgrestest starts PostgreSQL for tests. Each test package has its own cluster, and each test its own database. It
// needs Debian's package postgresql, or the programs of PostgreSQL on the PATH.
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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/test/freeport"
)

// Password is the password of the role "stet", which owns all databases.
const Password = "pass word:/?#%&"

// Server is a PostgreSQL server on this machine. The first test that needs it starts it. The zero value is ready to use. TestMain
// calls Stop.
type Server struct {
	Sync bool // commits are flushed to the disk, as in production

	mu         sync.Mutex
	dir        string
	port       int
	process    *exec.Cmd
	shellInput *os.File // ends the server when this process ends
	databases  int
}

// Database creates an empty database, and returns its URL. If PostgreSQL is not installed, the test is skipped, or fails if
// STET_E2E is "require".
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		if os.Getenv("STET_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		if err := s.create(t, bin); err != nil {
			t.Fatal(err)
		}
	}
	if s.process == nil {
		if err := s.start(bin); err != nil {
			t.Fatal(err)
		}
	}
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	if err := s.sql(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

// Kill ends the server at once, like a power failure. Clients get no notice.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	first, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(first), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := kill(pid); err != nil {
		t.Fatal(err)
	}
	s.wait()
}

// Start starts the server again, on the same port.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(bin); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.wait()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// wait closes the pipe to the server's shell, which ends the server, and waits for the end.
func (s *Server) wait() {
	_ = s.shellInput.Close()
	_ = s.process.Wait() // the error says how the server ended
	s.process = nil
}

// programs returns the directory of initdb and postgres.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the path on Debian
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL is not installed: apt-get install postgresql")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// create creates the cluster, and chooses a port.
func (s *Server) create(t testing.TB, bin string) (err error) {
	if s.dir, err = os.MkdirTemp("", "stet-postgres"); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(Password), 0o600); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(s.dir, "data"), "-U", "stet", "-A", "scram-sha-256",
		"--pwfile", secret, "-E", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if err := unprivileged(initdb, s.dir, secret); err != nil {
		return err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.port = freeport.Ports(t, 1)[0]
	return nil
}

// start starts the server as a child of a shell. The shell ends the server when the shell's input ends. So the server always ends
// with the test.
func (s *Server) start(bin string) error {
	input, shellInput, err := os.Pipe()
	if err != nil {
		return err
	}
	defer input.Close()
	fsync := "off"
	if s.Sync {
		fsync = "on"
	}
	run := exec.Command("/bin/sh", "-c", `"$@" </dev/null & pid=$!; cat >/dev/null; kill -INT $pid; wait $pid`, "sh",
		filepath.Join(bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses=127.0.0.1",
		"-p", strconv.Itoa(s.port), "-c", "fsync="+fsync, "-c", "max_connections=200", "-c", "log_min_messages=fatal")
	run.Stdin = input
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	run.Stdout, run.Stderr = log, log
	if err := unprivileged(run, s.dir); err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	s.process, s.shellInput = run, shellInput
	return s.answers()
}

// answers waits until the server accepts connections.
func (s *Server) answers() (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = s.sql(context.Background(), "SELECT 1"); err == nil {
			return nil
		}
	}
	said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, said)
}

func (s *Server) sql(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, statement)
	return err
}

func (s *Server) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("stet", Password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}
