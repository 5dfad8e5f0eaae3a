package wire

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/test/postgrestest"
)

var built string // the directory of the binary; empty: none was built

// server is the PostgreSQL server in which some proxies keep their records.
var server postgrestest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	server.Stop()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// binary builds the program, once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stet-wire-")
	if err != nil {
		return "", err
	}
	built = dir
	name := filepath.Join(dir, "stet")
	out, err := exec.Command("go", "build", "-o", name, "github.com/stet-dev/stet/cmd/stet").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build stet: %w: %s", err, out)
	}
	return name, nil
})

// process is a running "stet proxy" or "stet serve".
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string
	read chan struct{} // closed when the whole output was read
	said *strings.Builder
}

var (
	listening = regexp.MustCompile(`listening on (http://\S+)`)
	serving   = regexp.MustCompile(`ANTHROPIC_BASE_URL=(http://\S+)`)
)

// start starts the proxy. It keeps its records in store, or in home if store is empty. More flags may follow the policy.
func start(t *testing.T, home, store, upstream, policy string) *process {
	t.Helper()
	return startAs(t, listening, home, store, upstream, policy, "proxy")
}

// startAs starts a stet command that contains a proxy. says matches its output, and finds the proxy's address there.
func startAs(t *testing.T, says *regexp.Regexp, home, store, upstream, policy string, command ...string) *process {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, read: make(chan struct{}), said: new(strings.Builder)}
	p.cmd = exec.Command(name, append(command, "--listen", "127.0.0.1:0", "--upstream", upstream)...)
	p.cmd.Args = append(p.cmd.Args, strings.Fields("--policy "+policy)...)
	p.cmd.Dir = home
	p.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "STET_STORE=" + store, "STET_KEEP_SHELL=1"} // a short session has only few old outputs
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for p.base == "" && lines.Scan() {
		p.said.WriteString(lines.Text() + "\n")
		if g := says.FindStringSubmatch(lines.Text()); g != nil {
			p.base = g[1]
		}
	}
	go func() {
		defer close(p.read)
		for lines.Scan() {
			p.said.WriteString(lines.Text() + "\n")
		}
	}()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	if p.base == "" {
		p.end(syscall.SIGKILL)
		t.Fatalf("stet does not say where it listens:\n%s", p.said)
	}
	return p
}

// end sends a signal to the process, and waits for its end. A second call does nothing.
func (p *process) end(signal syscall.Signal) {
	p.t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(signal) // the process may have ended already, and then Wait says so
	<-p.read
	err := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case signal == syscall.SIGKILL && errors.As(err, &exit):
	case err != nil:
		p.t.Errorf("stet ended with %v:\n%s", err, p.said)
	}
}
