package faults

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/freeport"
	"github.com/stet-dev/stet/test/postgrestest"
)

// stet is the path of the program under test.
var stet string

// database is the PostgreSQL server of all runs.
var database postgrestest.Server

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "stet-faults")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	defer database.Stop()
	if stet = os.Getenv("STET_E2E_STET"); stet == "" {
		stet = filepath.Join(dir, "stet")
		build := exec.Command("go", "build", "-o", stet)
		if wrongClocks() {
			overlay, err := clockOverlay(dir)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			build.Args = append(build.Args, "-overlay", overlay)
		}
		build.Args = append(build.Args, "../../cmd/stet")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build stet: %v\n%s", err, out)
			return 1
		}
	}
	watchSources()
	return m.Run()
}

// watchSources stats every source file of stet. Otherwise "go test" could use a cached result of an older stet.
func watchSources() {
	_ = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
}

const nodes = 3

// workspaceName is the name of the only workspace.
const workspaceName = "w"

// cluster is three servers with one database, and a host.
type cluster struct {
	t       testing.TB
	dir     string
	tree    string // the directory of the workspace
	url     string // of the database, without a relay
	replica string // its HOST:PORT; "": there is none

	node  [nodes]*program
	host  *program
	base  [nodes]string        // URLs of the servers
	links [nodes][nodes]*relay // from each server to each other one
	store [nodes + 1]*relay    // from each server to the database; the last one is from the host
	front *balancer            // in front of the servers
	door  *relay               // from the host to the balancer
	ready [nodes]func() error  // returns an error if the server does not say that it is ready
	token struct{ agent, person, host string }
}

// program is a stet process, which can be started again.
type program struct {
	name string
	args []string
	env  []string

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	said  *os.File
}

// startCluster starts everything, and waits until each server is ready.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	return startClusterOn(t, database.Database(t), "")
}

// startClusterOn starts a cluster with the database at url. The replica at the address replica may take its place.
func startClusterOn(t testing.TB, url, replica string) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), url: url, replica: replica}
	c.tree = filepath.Join(c.dir, "tree")
	secret := filepath.Join(c.dir, "secret")
	for _, err := range []error{os.Mkdir(c.tree, 0o755), os.WriteFile(secret, []byte("for the test\n"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := freeport.Addresses(t, 2*nodes)
	listen, bus := all[:nodes], all[nodes:]
	at := hostOf(t, c.url)
	for i := range c.store {
		c.store[i] = newRelay(t, at, "")
	}
	for i := range nodes {
		c.base[i] = "http://" + listen[i]
		for j := range nodes {
			if i != j {
				c.links[i][j] = newRelay(t, bus[j], relayAddress)
			}
		}
		c.ready[i] = func() error { return get(c.base[i] + "/readyz") }
	}
	c.makeTokens()
	for i := range nodes {
		var peers []string
		for j := range nodes {
			if i != j {
				peers = append(peers, c.links[i][j].address())
			}
		}
		c.node[i] = c.program(fmt.Sprint("server", i), i, "serve", "--no-workspace", "--listen", listen[i], "--rate", "0",
			"--bus", "embed", "--bus-listen", bus[i], "--bus-secret", secret, "--peers", strings.Join(peers, ","))
		c.node[i].start(t)
	}
	for i := range nodes {
		c.within(time.Minute, fmt.Sprintf("server %d is ready", i), c.ready[i])
	}
	if t.Failed() {
		t.FailNow()
	}
	c.front = newBalancer(t, listen, func(n int) bool { return c.ready[n]() == nil })
	c.door = newRelay(t, c.front.address(), "")
	c.host = c.program("host", nodes, "host", "--workspace", workspaceName, "--root", c.tree, "--rate", "0", "http://"+c.door.address())
	c.host.env = append(c.host.env, "STET_TOKEN="+c.token.host)
	c.host.start(t)
	return c
}

// state returns the XDG_STATE_HOME of a program.
func (c *cluster) state(n int) string { return filepath.Join(c.dir, fmt.Sprint("state", n)) }

// makeTokens makes the tokens, which each server accepts.
func (c *cluster) makeTokens() {
	c.t.Helper()
	for scope, to := range map[string]*string{"agent": &c.token.agent, "admin": &c.token.person, "host": &c.token.host} {
		cmd := exec.Command(stet, "token", "create", scope, "--scope", scope)
		cmd.Env = c.env(0)
		out, err := cmd.Output()
		if err != nil {
			c.t.Fatal(err)
		}
		*to = strings.TrimSpace(string(out))
	}
	made, err := os.ReadFile(filepath.Join(c.state(0), "stet", "tokens.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	for n := 1; n < nodes; n++ {
		dir := filepath.Join(c.state(n), "stet")
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "tokens.json"), made, 0o600)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// env returns the environment of a program. It names the database with the address of the program's relay.
func (c *cluster) env(n int) []string {
	off := ""
	if wrongClocks() {
		off = clockOff[n]
	}
	return []string{
		"CLOCK_OFF=" + off, "PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "XDG_STATE_HOME=" + c.state(n), "XDG_CONFIG_HOME=" + filepath.Join(c.dir, "config"),
		"NO_COLOR=1", "STET_STORE=" + c.storeURL(n),
	}
}

// storeURL returns the URL of the database through a relay.
func (c *cluster) storeURL(n int) string {
	u, err := url.Parse(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	u.Host = c.store[n].address()
	if c.replica != "" {
		u.Host += "," + c.replica
		u.RawQuery += "&target_session_attrs=read-write"
	}
	return u.String()
}

// hostOf returns the HOST:PORT of a URL.
func hostOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func (c *cluster) program(name string, n int, args ...string) *program {
	c.t.Helper()
	p := &program{name: name, args: args, env: c.env(n)}
	var err error
	if p.said, err = os.Create(filepath.Join(c.dir, name+".log")); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		p.kill()
		_ = p.said.Close()
		if c.t.Failed() {
			c.t.Logf("%s says:\n%s", p.name, p.log())
		}
	})
	return p
}

// log returns the output of a program.
func (p *program) log() string {
	b, err := os.ReadFile(p.said.Name())
	if err != nil {
		return err.Error()
	}
	const most = 20_000
	return string(b[max(0, len(b)-most):])
}

func (p *program) start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(stet, p.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.said, p.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startForGood(cmd); err != nil {
		t.Error(err)
		return
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was killed, or its log says why
		close(ended)
	}()
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
}

var (
	starting sync.Once
	starts   = make(chan func())
)

// startForGood starts a command in a thread that ends with this process. When the thread ends, the kernel kills the command.
func startForGood(cmd *exec.Cmd) error {
	starting.Do(func() {
		go func() {
			runtime.LockOSThread()
			for start := range starts {
				start()
			}
		}()
	})
	started := make(chan error)
	starts <- func() { started <- cmd.Start() }
	return <-started
}

func (p *program) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // the process may have ended
	}
}

// kill sends SIGKILL, and returns after the process has ended.
func (p *program) kill() {
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// over reports whether the process has ended.
func (p *program) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// probe is the HTTP client for checks.
var probe = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// get returns an error if a URL does not answer with status 200.
func get(address string) error {
	res, err := probe.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, text)
	}
	return nil
}

// within repeats look until it succeeds, and returns how long that took. It fails the test if that takes longer than longest.
func (c *cluster) within(longest time.Duration, what string, look func() error) time.Duration {
	c.t.Helper()
	begin := time.Now()
	for {
		err := look()
		took := time.Since(begin)
		if err == nil {
			return took
		}
		if took > longest {
			c.t.Errorf("not within %v: %s: %v", longest, what, err)
			return took
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// healed ends all disturbances, and waits until every server is ready.
func (c *cluster) healed(longest time.Duration) time.Duration {
	c.t.Helper()
	for _, r := range c.store {
		r.heal()
	}
	c.door.heal()
	for i := range nodes {
		for j := range nodes {
			if i != j {
				c.links[i][j].heal()
			}
		}
		c.node[i].signal(syscall.SIGCONT)
	}
	begin := time.Now()
	for i := range nodes {
		c.within(longest, fmt.Sprintf("server %d is ready again", i), func() error {
			if c.node[i].over() {
				c.node[i].start(c.t)
			}
			return c.ready[i]()
		})
	}
	return time.Since(begin)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
