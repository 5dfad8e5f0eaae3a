package hazards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/web"
)

// stet is the binary under test.
var stet string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "stet-hazards")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if stet = os.Getenv("STET_E2E_STET"); stet == "" {
		stet = filepath.Join(dir, "stet")
		if out, err := exec.Command("go", "build", "-o", stet, "../../cmd/stet").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build stet: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	watchSources()
	code := m.Run()
	_ = os.RemoveAll(dir) // a directory that remains does no harm
	os.Exit(code)
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

func soak() bool { return os.Getenv("STET_SOAK") == "1" }

type args = map[string]any

// world is a workspace, a directory outside of it, and a home directory.
type world struct {
	t              testing.TB
	dir, out, home string
	flags          []string // of stet mcp
	config         string   // the content of the user's configuration file
	clientOptions  *mcp.ClientOptions
	attended       bool // a person is asked
}

const secret = "from outside"

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: realDir(t), out: realDir(t), home: realDir(t), flags: []string{"--rate", "0"}}
	write(t, filepath.Join(w.out, "f"), secret)
	return w
}

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, name, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) abs(name string) string { return filepath.Join(w.dir, name) }

func (w *world) put(name, content string) {
	w.t.Helper()
	write(w.t, w.abs(name), content)
}

func (w *world) get(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.abs(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) link(to, name string) {
	w.t.Helper()
	if err := os.Symlink(to, w.abs(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) missing(name string) {
	w.t.Helper()
	if _, err := os.Lstat(w.abs(name)); !errors.Is(err, fs.ErrNotExist) {
		w.t.Errorf("%s is there", name)
	}
}

// outside checks that nothing outside of the workspace was made or changed.
func (w *world) outside() {
	w.t.Helper()
	entries, err := os.ReadDir(w.out)
	if err != nil || len(entries) != 1 {
		w.t.Errorf("outside there are %v, %v", entries, err)
	}
	if b, err := os.ReadFile(filepath.Join(w.out, "f")); err != nil || string(b) != secret {
		w.t.Errorf("outside: %q, %v", b, err)
	}
}

// temporaryFiles returns stet's temporary files in the workspace.
func (w *world) temporaryFiles() []string {
	var found []string
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".stet-") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	return found
}

func (w *world) command(a ...string) *exec.Cmd {
	cmd := exec.Command(stet, a...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "XDG_STATE_HOME=" + filepath.Join(w.home, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(w.home, "config"), "NO_COLOR=1",
	}
	return cmd
}

// mcp returns the command of the server.
func (w *world) mcp() *exec.Cmd {
	if w.config != "" {
		write(w.t, filepath.Join(w.home, "config", "stet", "config.toml"), w.config)
	}
	a := append([]string{"mcp", "--root", w.dir}, w.flags...)
	if !w.attended {
		a = append(a, "--write-without-asking")
	}
	return w.command(a...)
}

// run runs a command of stet, and returns what it prints.
func (w *world) run(a ...string) string {
	w.t.Helper()
	out, err := w.command(a...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("stet %v: %v: %s", a, err, out)
	}
	return string(out)
}

// agent is a client with a server of its own.
type agent struct {
	*mcp.ClientSession
	t   testing.TB
	cmd *exec.Cmd
}

func (w *world) agent() *agent {
	w.t.Helper()
	cmd := w.mcp()
	cmd.Stderr = os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, w.clientOptions).Connect(
		context.Background(), &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() }) // a server that was killed returns an error
	return &agent{s, w.t, cmd}
}

// result is the result of a tool, in either format.
type result struct {
	Success bool
	Status  string
	Content string
	Error   json.RawMessage
	Pending string
	Data    struct {
		Content  string
		Entries  []string
		Unstable bool
		Lines    any
		Write    int
		Notes    []string
		Diff     string
		Fallback string `json:"fallback_encoding"`
	}
	Text string

	raw string
}

// code returns the error code of a call, or "" if it did not fail.
func (r result) code() string {
	var s string
	var o struct{ Code string }
	switch {
	case json.Unmarshal(r.Error, &s) == nil:
		s, _, _ = strings.Cut(s, ":")
		return s
	case json.Unmarshal(r.Error, &o) == nil:
		return o.Code
	}
	return ""
}

func (r result) ok() bool { return r.Success || r.Status == "success" || r.Status == "partial" }

const patience = time.Minute

// try calls a tool. No call may take longer than patience.
func (a *agent) try(name string, v any) (result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := a.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: v})
	if err != nil {
		return result{}, err
	}
	var r result
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return result{}, fmt.Errorf("%s: %+v", name, res)
	}
	r.raw = text.Text
	_ = json.Unmarshal([]byte(text.Text), &r) // in some results a field has another type
	if res.IsError == r.ok() && r.Pending == "" {
		return r, fmt.Errorf("%s: isError is %v: %.300s", name, res.IsError, r.raw)
	}
	return r, nil
}

func (a *agent) do(name string, v any) result {
	a.t.Helper()
	r, err := a.try(name, v)
	if err != nil {
		a.t.Fatalf("%s %.200v: %v", name, v, err)
	}
	return r
}

// fails calls a tool, and checks that it fails with that code.
func (a *agent) fails(code, name string, v any) result {
	a.t.Helper()
	r := a.do(name, v)
	if got := r.code(); r.ok() || got != code {
		a.t.Errorf("%s %.200v: %s, want %s: %.300s", name, v, got, code, r.raw)
	}
	return r
}

func (a *agent) works(name string, v any) result {
	a.t.Helper()
	r := a.do(name, v)
	if !r.ok() {
		a.t.Errorf("%s %.200v: %.300s", name, v, r.raw)
	}
	return r
}

func edits(pairs ...string) []args {
	var all []args
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, args{"old_text": pairs[i], "new_text": pairs[i+1]})
	}
	return all
}

// person returns a client that answers questions, over the socket of "stet approve".
func (w *world) person() *web.Client {
	w.t.Helper()
	dir := filepath.Join(w.home, "state", "stet", "approve")
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		names, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is well-formed
		for _, name := range names {
			conn, err := dialLong(name)
			if err != nil {
				continue
			}
			_ = conn.Close() // it is in use
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			c, err := web.NewClient(ctx, func(context.Context) (net.Conn, error) { return dialLong(name) })
			if err != nil {
				w.t.Fatal(err)
			}
			w.t.Cleanup(func() { _ = c.Close() })
			return c
		}
	}
	w.t.Fatal("there is no question to answer")
	return nil
}

// question waits for the next question.
func question(t testing.TB, c *web.Client) approval.Question {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		e, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if e.Opened != nil {
			return *e.Opened
		}
	}
}

func answer(t testing.TB, c *web.Client, q approval.Question, v approval.Verdict) {
	t.Helper()
	if err := c.Answer(context.Background(), q.ID, approval.Answer{Verdict: v, Seal: q.Seal, By: "test"}); err != nil {
		t.Error(err)
	}
}

// await waits for the result of a pending call.
func (a *agent) await(r result) result {
	a.t.Helper()
	if r.Pending == "" {
		a.t.Fatalf("not pending: %.300s", r.raw)
	}
	return a.do("await_result", args{"pending": r.Pending})
}
