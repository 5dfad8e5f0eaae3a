package chat

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agentBeside starts "stet mcp" for the terminal's workspace, and calls it to write these files.
func (term *terminal) agentBeside(files ...string) {
	term.t.Helper()
	cmd := exec.Command(stet, "mcp", "--log", filepath.Join(filepath.Dir(term.dir), "log"))
	cmd.Dir, cmd.Env = term.dir, term.env
	in, err := cmd.StdinPipe()
	if err != nil {
		term.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		term.t.Fatal(err)
	}
	term.t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it ends with its input
	})
	say := func(line string) {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			term.t.Fatal(err)
		}
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"some-agent","version":"1"}}}`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, name := range files {
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":%q,"content":"hello\n"}}}`, i+2, name))
	}
}

// run runs a command line in the terminal. The command line then prints the exit status, and whether the terminal's settings are
// the same as before.
func (term *terminal) run(line string) {
	term.t.Helper()
	term.types("clear", "Enter")
	term.gone("as it was")
	term.types("stty -g >../before; "+line+"; echo exit $?; stty -g >../after; cmp ../before ../after && echo as it was", "Enter")
}

// restored waits until the command of run has ended with code, and has restored the terminal's settings.
func (term *terminal) restored(code int) {
	term.t.Helper()
	term.wait(fmt.Sprintf("exit %d", code), "\nas it was")
}

// asked waits until a question asks for a key.
func (term *terminal) asked() {
	term.t.Helper()
	term.until("a question", term.screen, func(s string) bool {
		s, _ = strings.CutSuffix(strings.TrimSpace(s), "a paste is no answer: press a key")
		return strings.HasSuffix(strings.TrimSpace(s), "[q]uit >")
	})
}

// stet approve takes single keys, and restores the terminal: after q, and after each signal.
func TestApproveKeys(t *testing.T) {
	term := open(t, 80, 30)
	term.agentBeside("one.txt", "two.txt", "three.txt")
	term.run("stet approve")
	term.wait("write_file wants to write", "[q]uit >")
	term.types("?")
	term.wait("r  reject, with a message for the agent")
	term.asked()
	term.types("l")
	term.wait("Decide on which first?", "❯ write_file wants to write", "of some-agent")
	term.resize(30, 9)
	term.wait("Decide on which first?", "❯ write_file")
	term.resize(80, 30)
	term.types("three")
	term.until("one file is listed", term.screen, func(s string) bool { // above the list may be the question about any of them
		return strings.Count(s, "  of some-agent") == 1
	})
	term.types("", "Enter")
	term.gone("Decide on which first?")
	term.asked()
	term.types("n")
	term.until("the next question", term.screen, func(s string) bool {
		return !strings.HasPrefix(s[strings.LastIndex(s, "wants to write"):], "wants to write three.txt")
	})
	term.asked()
	term.sends("\x1b[200~a\na\nq\n\x1b[201~")
	term.wait("a paste is no answer")
	written := func() []string {
		names, err := filepath.Glob(filepath.Join(term.dir, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if names := written(); len(names) > 0 {
		t.Fatal(names)
	}
	for n := range 3 {
		polls := 0
		term.until("one more is approved", term.above, func(s string) bool {
			if polls%50 == 0 { // a key that comes before the question accepts keys counts for nothing
				term.asked()
				term.types("a")
			}
			polls++
			return strings.Count(s, "· approved: ") > n
		})
	}
	term.wait("waiting for questions (q ends)")
	for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
		if got := term.file(name); got != "hello\n" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	term.types("q")
	term.restored(0)
}

func TestApproveEnds(t *testing.T) {
	term := open(t, 80, 30)
	term.agentBeside("one.txt")
	for _, how := range []struct {
		end  func()
		code int
	}{
		{func() { term.types("q") }, 0},
		{func() { term.types("", "C-d") }, 0},
		{func() { term.types("", "C-c") }, 0},
		{func() { term.signal("TERM") }, 0},
		{func() { term.signal("HUP") }, 0},
	} {
		term.run("stet approve")
		term.wait("write_file wants to write one.txt", "[q]uit >")
		how.end()
		term.restored(how.code)
	}
	term.types("clear", "Enter")
	term.gone("as it was")
	term.types("stet approve", "Enter")
	term.asked()
	term.types("", "C-z")
	term.wait("Stopped")
	// While stet is stopped, the shell has its usual terminal.
	term.types("stty -g | cmp - ../before && echo a shell as usual", "Enter")
	term.wait("\na shell as usual")
	term.types("fg", "Enter")
	term.until("stet approve again", func() string { return term.do("display-message", "-p", "#{pane_current_command}") },
		func(name string) bool { return strings.HasPrefix(name, "stet") })
	term.types("r")
	term.wait("agent? ")
	term.types("no", "Enter")
	term.wait("waiting for questions (q ends)")
	term.types("q")
	if _, err := os.Stat(filepath.Join(term.dir, "one.txt")); err == nil {
		t.Error("it was written")
	}
}

// signal sends a signal to the program in the terminal.
func (term *terminal) signal(name string) {
	term.t.Helper()
	shell := strings.TrimSpace(term.do("display-message", "-p", "#{pane_pid}"))
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", shell).Output()
	if err != nil {
		term.t.Fatal(err)
	}
	if err := exec.Command("kill", "-"+name, strings.TrimSpace(string(out))).Run(); err != nil {
		term.t.Fatal(err)
	}
}

// stet chat takes answers as single keys. Ctrl-C ends the turn, and Ctrl-D ends the chat. Every way out restores the terminal.
func TestChatEnds(t *testing.T) {
	term := open(t, 80, 30)
	for _, how := range []struct {
		end  func()
		code int
	}{
		{func() { term.types("", "C-d") }, 0},
		{func() { term.types("q") }, 0},
		{func() { term.signal("TERM") }, 143},
		{func() { term.signal("HUP") }, 129},
		{func() {
			term.types("", "C-c")
			term.wait("interrupted; /continue goes on")
			term.types("", "C-d")
		}, 0},
	} {
		term.run("stet chat --model scripted")
		term.wait("/help lists commands and keys")
		term.types("show me", "Enter")
		term.wait("write_file wants to write", "[q]uit >")
		term.sends("\x1b[200~a\na\n\x1b[201~")
		term.wait("a paste is no answer")
		how.end()
		term.restored(how.code)
	}
	if _, err := os.Stat(filepath.Join(term.dir, "stet-demo.txt")); err == nil {
		t.Error("it was written")
	}
}
