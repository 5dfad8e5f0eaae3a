package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// home is a home directory with a workspace in it.
type home struct {
	dir, tree string
	env       []string
	as        *syscall.Credential // the user of its programs; nil: the test's user
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{dir: t.TempDir()}
	h.tree = filepath.Join(h.dir, "tree")
	write(t, filepath.Join(h.tree, "a.txt"), "one\n")
	h.env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+filepath.Join(h.dir, "state"), "XDG_CONFIG_HOME=", "GORACE=atexit_sleep_ms=0")
	return h
}

func (h *home) stet(args ...string) *exec.Cmd {
	cmd := exec.Command("stet", args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	if h.as != nil {
		cmd.Path = filepath.Join(h.dir, "stet")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.as}
	}
	return cmd
}

// connect starts stet mcp and a session with it.
func (h *home) connect(t *testing.T, o *mcp.ClientOptions, args ...string) *mcp.ClientSession {
	t.Helper()
	s, err := newClient(o).Connect(t.Context(), &mcp.CommandTransport{Command: h.stet(append([]string{"mcp", "--root", h.tree}, args...)...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (h *home) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := h.stet(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("stet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A session over stdio: a read, an edit that a person approves at another terminal, its undo, and a valid trail. (FILE-4, FILE-6,
// FILE-11, FILE-12)
func TestMCPWithAPersonAtATerminal(t *testing.T) {
	h := newHome(t)
	s := h.connect(t, nil)
	if got, err := callTool(t.Context(), s, "read_file", `{"path":"a.txt"}`); err != nil || !strings.Contains(got, `"content":"one\n"`) {
		t.Fatalf("%v: %s", err, got)
	}
	term := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(term.side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 20}); err != nil {
		t.Fatal(err)
	}
	approve := h.stet("approve")
	approve.Env = append(approve.Env, "TERM=xterm-256color")
	approve.Stdin, approve.Stdout, approve.Stderr = term.side, term.side, term.side
	approve.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := approve.Start(); err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		term.mu.Lock()
		defer term.mu.Unlock()
		return term.shown.String()
	}
	go func() {
		for !strings.Contains(shown(), "[q]uit >") {
			time.Sleep(5 * time.Millisecond)
		}
		_, _ = io.WriteString(term.keyboard, "a") // the call shows whether it was received
	}()
	got, err := callTool(t.Context(), s, "edit_file", `{"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}`)
	if err != nil || !strings.Contains(got, `"success":true`) {
		t.Fatalf("%v: %s\n%s", err, got, shown())
	}
	if b, _ := os.ReadFile(filepath.Join(h.tree, "a.txt")); string(b) != "two\n" {
		t.Errorf("the file holds %q", b)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for !strings.Contains(shown(), "has ended: ") { // it stays when the server ends
		time.Sleep(5 * time.Millisecond)
	}
	_, _ = io.WriteString(term.keyboard, "q")
	if err := approve.Wait(); err != nil {
		t.Error("stet approve: ", err)
	}
	if text := term.text(); !strings.Contains(text, "+two") || !strings.Contains(text, "approved: edit_file a.txt") || strings.Contains(text, "input has ended") {
		t.Errorf("the terminal shows %q", text)
	}
	if out := h.run(t, "audit"); !strings.Contains(out, "edit_file  a.txt: ok (approved, by person") {
		t.Errorf("the trail: %s", out)
	}
	listed := h.run(t, "undo")
	session := strings.TrimSuffix(strings.Fields(listed)[1], ",")
	h.run(t, "undo", "--yes", session)
	if b, _ := os.ReadFile(filepath.Join(h.tree, "a.txt")); string(b) != "one\n" {
		t.Errorf("after the undo the file holds %q", b)
	}
	if out := h.run(t, "audit", "--verify"); !strings.Contains(out, "hold together") {
		t.Error(out)
	}
}

// If a client is killed before it has its answer, the trail still has its call. (FILE-11)
func TestMCPClientDies(t *testing.T) {
	h := newHome(t)
	cmd := h.stet("mcp", "--root", h.tree, "--write-without-asking")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	if _, err := io.WriteString(in, begin); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"b.txt","content":"x\n"}}}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { // the call has arrived
		_, err := os.Stat(filepath.Join(h.tree, "b.txt"))
		return err == nil
	})
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !cmd.ProcessState.Exited() {
		t.Errorf("stet mcp: %v", cmd.ProcessState)
	}
	if out := h.run(t, "audit"); !strings.Contains(out, "write_file b.txt: ok (allowed") {
		t.Errorf("the trail: %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, "state", "stet", "approve", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A full disk is named in the result, and on standard error, because there is no other log.
func TestMCPFullDisk(t *testing.T) {
	h := newHome(t)
	state := filepath.Join(h.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("no small disk to be had:", err)
	}
	defer func() {
		if err := unix.Unmount(state, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	cmd := h.stet("mcp", "--root", h.tree, "--write-without-asking")
	var said bytes.Buffer
	cmd.Stderr = &said
	s, err := newClient(nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := callOnce(t, s, "write_file", `{"path":"b.txt","content":"one\n"}`); !strings.Contains(got, `"success":true`) {
		t.Fatal(got)
	}
	if err := os.WriteFile(filepath.Join(state, "ballast"), make([]byte, 16<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk takes it: %v", err)
	}
	got := callOnce(t, s, "write_file", `{"path":"b.txt","content":"two\n"}`)
	if !strings.Contains(got, "disk_full") || !strings.Contains(got, "stet's state directory is full") || strings.Contains(got, state) {
		t.Error(got)
	}
	_ = s.Close() // the missing record is an error
	if out := said.String(); !strings.Contains(out, "full") && !strings.Contains(out, "no space left") {
		t.Errorf("said: %s", out)
	}
	if b, _ := os.ReadFile(filepath.Join(h.tree, "b.txt")); string(b) != "one\n" {
		t.Errorf("the file holds %q", b)
	}
}

// A client's answer does not count unless the person's configuration says so. Otherwise a client that accepts everything would
// approve its own writes. With that configuration it counts for ordinary files. For control files the client is not asked.
func TestMCPElicitation(t *testing.T) {
	const ordinary = "elicitation = \"ordinary\"\n"
	for _, config := range []string{"", "elicitation = \"none\"\n", ordinary} {
		h := newHome(t)
		write(t, filepath.Join(h.dir, ".config", "stet", "config.toml"), config)
		var asked atomic.Int32
		s := h.connect(t, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		}})
		got := callOnce(t, s, "write_file", `{"path":"new.txt","content":"x\n"}`)
		if written := strings.Contains(got, `"success":true`); written != (config == ordinary) || asked.Load() != map[bool]int32{true: 1}[written] {
			t.Errorf("%q: asked %d times, %s", config, asked.Load(), got)
		}
		asked.Store(0)
		got = callOnce(t, s, "write_file", `{"path":".envrc","content":"x\n"}`)
		if pendingID(got) == "" || asked.Load() != 0 {
			t.Errorf("%q: a control file: asked %d times, %s", config, asked.Load(), got)
		}
	}
}

func callOnce(t *testing.T, s *mcp.ClientSession, name, args string) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// Two sessions with one server: neither can answer the questions of the other, or its own, and neither gets the results of the
// other.
func TestMCPSecondSession(t *testing.T) {
	h := newHome(t)
	server := h.stet("mcp", "--root", h.tree, "--http", "127.0.0.1:0")
	server.Env = append(server.Env, "STET_TOKEN=0123456789abcdef0123")
	said, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Error("the server: ", err)
		}
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(line[strings.Index(line, "http://"):])
	var asked atomic.Int32
	connect := func() *mcp.ClientSession {
		s, err := newClient(&mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		}}).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: url, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer("0123456789abcdef0123")},
		}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first, second := connect(), connect()
	id := pendingID(callOnce(t, first, "write_file", `{"path":".envrc","content":"x\n"}`))
	if id == "" {
		t.Fatal("the first session's write does not wait")
	}
	if got := callOnce(t, second, "await_result", `{"pending":"`+id+`"}`); !strings.Contains(got, "no call is pending") {
		t.Errorf("the second session hears of the first one's call: %s", got)
	}
	tools, err := second.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if strings.Contains(tool.Name, "approve") || strings.Contains(tool.Name, "answer") {
			t.Errorf("there is a tool %s", tool.Name)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("clients were asked %d times about a control file", asked.Load())
	}
	if _, err := os.Stat(filepath.Join(h.tree, ".envrc")); err == nil {
		t.Error("it was written")
	}
	approve := h.stet("approve")
	approve.Stdin = strings.NewReader("a\n")
	if err := approve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = approve.Process.Signal(syscall.SIGTERM)
		_ = approve.Wait() // it may have ended before the signal
	}()
	if got, err := callTool(t.Context(), first, "await_result", `{"pending":"`+id+`"}`); err != nil || !strings.Contains(got, `"success":true`) {
		t.Errorf("%v: %s", err, got)
	}
}
