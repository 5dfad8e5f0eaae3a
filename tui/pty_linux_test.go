package tui_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/tui"
)

// On a real terminal: what was typed before the question was shown is no answer
// to it.
func TestTerminal(t *testing.T) {
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer keys.Close()
	raw := int(keys.Fd())
	n, err := unix.IoctlGetInt(raw, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(raw, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { tty.Close() }) // after the person has left it
	if _, err := keys.WriteString("a\na\na\n"); err != nil {
		t.Fatal(err)
	}
	for typed := 0; typed < 6; { // the terminal takes its time to take them up
		if typed, err = unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}

	var q approval.Queue
	p := sit(t, &q, func(d *tui.Dialog) { d.In = tty })
	a := ask(t.Context(), &q, question())
	p.expect(" >")
	if _, err := keys.WriteString("r\n"); err != nil {
		t.Fatal(err)
	}
	p.expect("know? ")
	if _, err := keys.WriteString("no\n"); err != nil {
		t.Fatal(err)
	}
	if got := a.wait(t); got.Verdict != approval.Reject || got.Words != "no" {
		t.Errorf("%+v", got)
	}
}
