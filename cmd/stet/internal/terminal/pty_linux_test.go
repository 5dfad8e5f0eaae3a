package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// openPTY opens a pseudo-terminal. keys is the side with keyboard and screen. tty is the side of the programs.
func openPTY(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { keys.Close() })
	raw, err := keys.SyscallConn() // Fd would make reads block even after a close
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var ioctlErr error
	err = raw.Control(func(fd uintptr) {
		if n, ioctlErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); ioctlErr == nil {
			ioctlErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	if err := errors.Join(err, ioctlErr); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { tty.Close() }) // after the end of the person's goroutine
	return keys, tty
}

// typed waits until a terminal holds that many bytes that were not read yet.
func typed(t *testing.T, tty *os.File, want int) {
	t.Helper()
	for got := 0; got < want; {
		var err error
		if got, err = unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
}

// mode returns the mode of the terminal.
func mode(t *testing.T, tty *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// On a real terminal, input that was typed before the question was shown does not answer it.
func TestTerminal(t *testing.T) {
	keys, tty := openPTY(t)
	if _, err := keys.WriteString("a\na\na\n"); err != nil {
		t.Fatal(err)
	}
	typed(t, tty, 6)
	var q approval.Queue
	p := startPerson(t, &q, func(d *terminal.Dialog) { d.In = tty })
	a := ask(t.Context(), &q, question())
	p.expect(" >")
	if _, err := keys.WriteString("r\n"); err != nil {
		t.Fatal(err)
	}
	p.expect("agent? ")
	if _, err := keys.WriteString("no\n"); err != nil {
		t.Fatal(err)
	}
	if got := a.wait(t); got.Verdict != approval.Reject || got.Words != "no" {
		t.Errorf("%+v", got)
	}
}

// keyPerson is a person at a real terminal who answers with single keys.
type keyPerson struct {
	*person
	tty    *os.File
	before unix.Termios
}

// startKeyPerson starts to answer the questions of q on a terminal with 100 columns.
func startKeyPerson(t *testing.T, q *approval.Queue, editor string) *keyPerson {
	t.Helper()
	keys, tty := openPTY(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 20}); err != nil {
		t.Fatal(err)
	}
	before := mode(t, tty)
	sub := q.Subscribe()
	p := &person{t: t, keys: keys, done: make(chan error, 1), more: make(chan struct{}, 1)}
	p.dialog = &terminal.Dialog{In: tty, Out: tty, Keys: true, Editor: editor}
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		_, _ = io.Copy(p, keys) // it ends when the terminal is closed
	}()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { p.done <- p.dialog.Approve(ctx, sub) }()
	t.Cleanup(func() {
		cancel()
		<-p.done
		sub.Close()
		if after := mode(t, tty); after != before {
			t.Errorf("the terminal is left as %+v, and was %+v", after, before)
		}
		tty.Close()
		<-seen
	})
	return &keyPerson{p, tty, before}
}

// press types keys. They arrive at the program at once.
func (p *keyPerson) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.t.Fatal(err)
	}
}

// Each choice is one key, without Enter.
func TestKeys(t *testing.T) {
	var q approval.Queue
	p := startKeyPerson(t, &q, "printf more >>")
	p.expect("waiting for questions (q ends)")
	for _, step := range []struct {
		do   func()
		want approval.Answer
	}{
		{func() { p.press("a") }, approval.Answer{Verdict: approval.Approve}},
		{func() { p.press("s") }, approval.Answer{Verdict: approval.ForSession}},
		{func() {
			p.press("?")
			if said := p.expect("[q]uit >"); !strings.Contains(said, "r  reject, with a message") {
				t.Errorf("%q", said)
			}
			p.press("x")
			p.expect(`"x" is not one of these keys`)
			p.expect("[q]uit >")
			p.press("v")
			p.expect("-old")
			p.expect("[q]uit >")
			p.press("n")
			p.expect("[q]uit >")
			p.press("r")
			p.expect("agent? ")
			p.press("two words\r")
		}, approval.Answer{Verdict: approval.Reject, Words: "two words"}},
		{func() {
			p.press("p")
			p.expect("pattern (Enter: ")
			p.press("\r")
		}, approval.Answer{Verdict: approval.ForPattern, Pattern: "src/**"}},
		{func() {
			p.press("e")
			p.expect("(y/N)")
			p.press("n")
			p.expect("[q]uit >")
			p.press("e")
			p.expect("(y/N)")
			p.press("y")
		}, approval.Answer{Verdict: approval.Edit, Content: []byte("same\nnew\nmore")}},
	} {
		a := ask(t.Context(), &q, question())
		p.expect("[q]uit >")
		step.do()
		got := a.wait(t)
		if want := step.want; got.Verdict != want.Verdict || got.Pattern != want.Pattern || got.Words != want.Words || string(got.Content) != string(want.Content) {
			t.Errorf("%+v, want %+v", got, want)
		}
		p.expect("waiting for questions (q ends)")
	}
}

// Input that arrives at once, in a paste, or before the question is shown is not accepted as an answer.
func TestKeysPaste(t *testing.T) {
	var q approval.Queue
	p := startKeyPerson(t, &q, "")
	p.expect("waiting")
	p.press("aa\na\n")
	a := ask(t.Context(), &q, question())
	p.expect("[q]uit >")
	for _, paste := range []string{"a\na\na\n", "aa", "\x1b[200~a\x1b[201~", "\x1b[200~" + strings.Repeat("a\n", 3000) + "\x1b[201~"} {
		p.press(paste)
		p.expect("several keys came at once")
		p.expect("[q]uit >")
	}
	p.press("p")
	p.expect("pattern (Enter: ")
	p.press("*.go\ryes\ra\r") // the first line is the pattern; the other lines are dropped
	if got := a.wait(t); got.Pattern != "*.go" {
		t.Errorf("%+v", got)
	}
	second := ask(t.Context(), &q, question())
	p.expect("[q]uit >")
	select {
	case <-second.done:
		t.Fatalf("%+v", second.a)
	default:
	}
	p.press("c")
	second.wait(t)
}

// A change that was not shown is approved by a typed word. The rest of a paste does not approve it.
func TestKeysUnseen(t *testing.T) {
	var q approval.Queue
	p := startKeyPerson(t, &q, "")
	large := question()
	large.Diff = tool.ParseDiff(large.Diff.Text() + strings.Repeat("+line\n", 200))
	a := ask(t.Context(), &q, large)
	p.expect("[q]uit >")
	p.press("p")
	p.expect("pattern (Enter: ")
	p.press("**\ryes\r")
	p.expect("Type yes")
	p.press("\r")
	p.expect("not approved")
	p.expect("[q]uit >")
	p.press("a")
	p.expect("Type yes")
	p.press("yes\r")
	if got := a.wait(t); got.Verdict != approval.Approve {
		t.Errorf("%+v", got)
	}
}

// The list of open questions works with arrows, letters and numbers, and while the terminal changes its size.
func TestKeysList(t *testing.T) {
	var q approval.Queue
	var all []*asked
	paths := []string{"one.go", "two.go", "three.go", "four\x1b[2J.go"}
	for i, path := range paths {
		one := question()
		one.Path, one.Seal = path, path
		all = append(all, ask(t.Context(), &q, one))
		for len(q.Open()) <= i {
			runtime.Gosched()
		}
	}
	p := startKeyPerson(t, &q, "")
	open := func(keys, path string) {
		t.Helper()
		p.expect("[q]uit")
		p.press("l")
		for _, key := range strings.Fields(keys) {
			p.expect("Decide on which first?")
			switch key {
			case "size":
				if err := unix.IoctlSetWinsize(int(p.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 30, Row: 8}); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(syscall.Getpid(), unix.SIGWINCH); err != nil { // this terminal is not the controlling terminal of the test, so the kernel sends no signal
					t.Fatal(err)
				}
			case "burst":
				p.press("jjk\r")
			case "down":
				p.press("\x1b[B")
			case "enter":
				p.press("\r")
			default:
				p.press(key)
			}
		}
		p.expect("write " + path)
	}
	open("j down k enter", "two.go")
	open("burst", "one.go")
	open("4", "four")
	open("size enter", "four")
	open("q", "four")
	p.expect("[l]ist of 4")
	p.press("q")
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	p.done <- nil
	for _, one := range q.Open() {
		if err := q.Answer(one.ID, approval.Answer{Verdict: approval.Reject}); err != nil {
			t.Error(err)
		}
	}
	for _, a := range all {
		a.wait(t)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(p.screen.String(), "four\x1b") {
		t.Error("the agent's text reaches the terminal")
	}
}

// Ctrl-D quits, both while the program waits and while it asks.
func TestKeysEnd(t *testing.T) {
	for _, asks := range []bool{false, true} {
		var q approval.Queue
		p := startKeyPerson(t, &q, "")
		p.expect("waiting")
		var a *asked
		if asks {
			a = ask(t.Context(), &q, question())
			p.expect("[q]uit >")
		}
		for mode(t, p.tty) == p.before { // what is typed before the program takes keys is thrown away
			time.Sleep(time.Millisecond)
		}
		p.press("\x04")
		if err := <-p.done; err != io.EOF {
			t.Error(err)
		}
		p.done <- nil
		if asks {
			if err := q.Answer(q.Open()[0].ID, approval.Answer{Verdict: approval.Reject}); err != nil {
				t.Error(err)
			}
			a.wait(t)
		}
	}
}

// After a panic the terminal has its old mode.
func TestKeysPanic(t *testing.T) {
	for _, what := range []string{"approve", "chat"} {
		t.Run(what, func(t *testing.T) { panicHere(t, what) })
	}
}

func panicHere(t *testing.T, what string) {
	keys, tty := openPTY(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 20}); err != nil {
		t.Fatal(err)
	}
	before := mode(t, tty)
	p := &person{t: t, keys: keys, more: make(chan struct{}, 1)}
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		_, _ = io.Copy(p, keys) // it ends when the terminal is closed
	}()
	t.Cleanup(func() { tty.Close(); <-seen })
	then, now, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STET_TEST_PANIC="+what)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = tty, tty, tty, []*os.File{then}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	then.Close()
	p.expect("[q]uit >")
	if mode(t, tty) == before {
		t.Error("no keys are taken")
	}
	now.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("no panic")
	}
	p.expect("panic: the source")
	if after := mode(t, tty); after != before {
		t.Errorf("the terminal is left as %+v, and was %+v", after, before)
	}
}
