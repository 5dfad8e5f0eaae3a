package main

import (
	"os/exec"
	"strings"
	"testing"
)

// At a terminal an undo puts files back on one yes, and runs git's commands on another. Without an answer nothing is done. (GRD-3)
func TestUndoAsks(t *testing.T) {
	for _, c := range []struct{ keys, status, said string }{
		{"y\ny\n", "M  a\nA  new\n", "undone"}, {"y\nn\n", " M a\n?? new\n", "undone"}, {"n\n", "", "nothing was undone"}, {"\x04", "", "nothing was undone"},
	} {
		r := newUndoRig(t, "git init -q; git add a d; git -c user.name=a -c user.email=a@example.com commit -qm one; echo more >> a; echo new > new; git add a new")
		r.call("git reset -q --hard")
		term := openTerminal(t)
		r.p.in = term.side
		if _, err := term.keyboard.WriteString(c.keys); err != nil {
			t.Fatal(err)
		}
		_, said := r.stet("undo", "--last")
		cmd := exec.Command("git", "status", "--porcelain")
		cmd.Dir = r.dir
		if out, err := cmd.Output(); err != nil || string(out) != c.status || !strings.Contains(said, c.said) || strings.Contains(said, "written") {
			t.Errorf("%q: %v\n%s\n%s", c.keys, err, out, said)
		}
		if c.keys != "y\ny\n" {
			continue
		}
		// The undo of the undo moves the index again.
		if _, err := term.keyboard.WriteString(c.keys); err != nil {
			t.Fatal(err)
		}
		_, said = r.stet("undo", "2")
		if r.sh("test -z \"$(git status --porcelain)\""); !strings.Contains(said, "undone") {
			t.Error(said)
		}
	}
}
