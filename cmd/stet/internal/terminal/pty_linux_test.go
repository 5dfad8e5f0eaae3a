package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

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

// Write implements io.Writer. It answers requests for the cursor's position, as a terminal does.
func (p *keyPerson) Write(b []byte) (int, error) {
	for range strings.Count(string(b), "\x1b[6n") {
		if _, err := io.WriteString(p.keys, "\x1b[1;1R"); err != nil {
			return 0, err
		}
	}
	return p.person.Write(b)
}

// sitAtTerminal lets a person use a dialog on a terminal with 100 columns, until use returns.
func sitAtTerminal(t *testing.T, use func(context.Context, *terminal.Dialog) error) *keyPerson {
	t.Helper()
	keys, tty := openPTY(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 20}); err != nil {
		t.Fatal(err)
	}
	p := &keyPerson{&person{t: t, keys: keys, done: make(chan error, 1), more: make(chan struct{}, 1)}, tty, mode(t, tty)}
	p.dialog = &terminal.Dialog{In: tty, Out: tty, Env: []string{"TERM=xterm"}, Editor: "printf more >>"}
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		_, _ = io.Copy(p, keys) // it ends when the terminal is closed
	}()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { p.done <- use(ctx, p.dialog) }()
	t.Cleanup(func() {
		cancel()
		<-p.done
		if after := mode(t, tty); after != p.before {
			t.Errorf("the terminal is left as %+v, and was %+v", after, p.before)
		}
		tty.Close()
		<-seen
	})
	return p
}

// startKeyPerson starts to answer the questions of q with keys.
func startKeyPerson(t *testing.T, q *approval.Queue) *keyPerson {
	t.Helper()
	sub := q.Subscribe()
	t.Cleanup(func() { sub.Close() })
	return sitAtTerminal(t, func(ctx context.Context, d *terminal.Dialog) error { return d.Approve(ctx, sub) })
}

// press types keys. They arrive at the program at once.
func (p *keyPerson) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.t.Fatal(err)
	}
}

// Each choice is one key, without Enter. The editor has the terminal while it runs.
func TestKeys(t *testing.T) {
	var q approval.Queue
	p := startKeyPerson(t, &q)
	p.expect("waiting for questions (q ends)")
	for _, step := range []struct {
		do   func()
		want approval.Answer
	}{
		{func() { p.press("a") }, approval.Answer{Verdict: approval.Approve}},
		{func() { p.press("s") }, approval.Answer{Verdict: approval.ForSession}},
		{func() {
			p.press("r")
			p.expect("agent?")
			p.press("two words\r")
		}, approval.Answer{Verdict: approval.Reject, Words: "two words"}},
		{func() {
			p.press("e")
			p.expect("(y/N)")
			p.press("y")
		}, approval.Answer{Verdict: approval.Edit, Content: []byte("same\nnew\nmore")}},
	} {
		a := ask(t.Context(), &q, question())
		p.expect("wants to write")
		p.expect("[q]uit >")
		step.do()
		got := a.wait(t)
		if want := step.want; got.Verdict != want.Verdict || got.Words != want.Words || string(got.Content) != string(want.Content) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// Input that arrives at once, in a paste, or before the question is shown is not accepted as an answer. The rest of a paste does
// not confirm a change that was not shown.
func TestKeysPaste(t *testing.T) {
	var q approval.Queue
	p := startKeyPerson(t, &q)
	p.expect("waiting")
	p.press("aa\na\n")
	large := question()
	large.Diff = tool.ParseDiff(large.Diff.Text() + strings.Repeat("+line\n", 200))
	a := ask(t.Context(), &q, large)
	p.expect("[q]uit >")
	p.press("a\na\na\n")
	p.expect("several keys came at once")
	p.expect("[q]uit >") // keys count again
	p.press("aa")
	p.expect("[q]uit >")
	p.press("\x1b[200~a\x1b[201~")
	p.expect("a paste is no answer")
	p.press("p")
	p.expect("pattern (Enter: ")
	p.press("**\ryes\r")
	p.expect("Type yes")
	if len(q.Open()) != 1 {
		t.Fatal("the rest of a paste has approved it")
	}
	p.press("yes\r")
	if got := a.wait(t); got.Verdict != approval.ForPattern {
		t.Errorf("%+v", got)
	}
}

// The person quits, both while the program waits and while it asks.
func TestKeysEnd(t *testing.T) {
	for key, want := range map[string]error{"q": nil, "\x04": nil, "\x03": terminal.ErrInterrupted} {
		for _, asks := range []bool{false, true} {
			var q approval.Queue
			p := startKeyPerson(t, &q)
			p.expect("waiting")
			var a *asked
			if asks {
				a = ask(t.Context(), &q, question())
				p.expect("[q]uit >")
			}
			p.press(key)
			if err := <-p.done; err != want {
				t.Errorf("%q: %v", key, err)
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
}

// While an agent works, a question has the terminal only until it is answered.
func TestKeysDuring(t *testing.T) {
	var q approval.Queue
	sub := q.Subscribe()
	defer sub.Close()
	type step struct{ a, b approval.Answer }
	answers := make(chan step, 1)
	p := sitAtTerminal(t, func(ctx context.Context, d *terminal.Dialog) error {
		return d.During(ctx, sub, func(ctx context.Context) error {
			a, err := q.Ask(ctx, question())
			if err != nil {
				return err
			}
			b, err := q.Ask(ctx, question())
			answers <- step{a, b}
			<-ctx.Done() // the person interrupts the next question
			return err
		})
	})
	p.expect("[q]uit >")
	p.press("a")
	p.expect("approved: edit_file src/a.go")
	p.expect("wants to write")
	p.expect("[q]uit >")
	p.press("c")
	if got := <-answers; got.a.Verdict != approval.Approve || got.b.Verdict != approval.Cancel {
		t.Errorf("%+v", got)
	}
	go func() { _, _ = q.Ask(t.Context(), question()) }()
	p.expect("wants to write")
	p.expect("[q]uit >")
	p.press("\x03")
	if err := <-p.done; !errors.Is(err, terminal.ErrInterrupted) {
		t.Error(err)
	}
	p.done <- nil
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
