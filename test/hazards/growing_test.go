//go:build unix

package hazards

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
)

// grow starts a process that appends numbered lines to a file of the workspace, with a pause after each, until the test ends or
// stop is called. It opens the file by its name for each line.
func (w *world) grow(name string, pause time.Duration) (stop func()) {
	w.t.Helper()
	cmd := exec.Command("sh", "-c", `n=0; while :; do n=$((n+1)); echo "line $n of the log" >>"$0"; $1; done`,
		w.abs(name), map[bool]string{true: "sleep " + strconv.FormatFloat(pause.Seconds(), 'f', -1, 64), false: ":"}[pause > 0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// grown waits until the file is longer than before.
func (w *world) grown(name string) {
	w.t.Helper()
	before := len(w.get(name))
	for until := time.Now().Add(patience); len(w.get(name)) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			w.t.Fatalf("%s does not grow", name)
		}
	}
}

// whole checks that no appended line is lost: their numbers have no gap.
func (w *world) whole(name string) {
	w.t.Helper()
	w.wholeBut(name, 0)
}

// wholeBut checks that at most most lines are lost. If a process opened the file before a write replaced it, and appends after
// that, its line goes to the old file. docs/replacing-files.md describes that, and it can happen with the >> of a shell.
func (w *world) wholeBut(name string, most int) {
	w.t.Helper()
	last, lost := 0, 0
	for _, line := range strings.Split(w.get(name), "\n") {
		number, ok := strings.CutPrefix(line, "line ")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(number, " of the log"))
		if err != nil || n <= last {
			w.t.Fatalf("%q after line %d", line, last)
		}
		lost += n - last - 1
		last = n
	}
	if lost > most {
		w.t.Fatalf("%d of %d lines are lost", lost, last)
	}
}

const logHead = "title\nsecond\nthird\nfourth\nfifth\nsixth\nseventh\n"

// Row: another process appends to a file all the time: an edit is merged at once, and every appended line is kept. (FILE-15)
func TestGrowingLog(t *testing.T) {
	rounds := 10
	if soak() {
		rounds = 300
	}
	w := newWorld(t)
	w.put("log", logHead)
	stop := w.grow("log", 10*time.Millisecond)
	a := w.agent()
	title := "title"
	for i := range rounds {
		a.works(map[bool]string{true: "read_file", false: "Read"}[i%2 == 0], args{"path": "log"})
		w.grown("log")
		next := "title " + strconv.Itoa(i)
		a.works("edit_file", args{"path": "log", "edits": edits(title+"\n", next+"\n")})
		title = next
	}
	stop()
	if got := w.get("log"); !strings.HasPrefix(got, title+"\nsecond\n") {
		t.Errorf("%.100q", got)
	}
	w.wholeBut("log", 1+rounds/100)
}

// The session knows what it wrote, like what it read. So an edit of a log that has grown after a write is merged, without another
// read. (FILE-15)
func TestGrowingLogWritten(t *testing.T) {
	w := newWorld(t)
	w.put("log", logHead)
	a := w.agent()
	a.works("read_file", args{"path": "log"})
	for i, title := range []string{"title", "title 1", "title 2"} {
		a.works("edit_file", args{"path": "log", "edits": edits(title+"\n", "title "+strconv.Itoa(i+1)+"\n")})
		w.put("log", w.get("log")+"line "+strconv.Itoa(i+1)+" of the log\n")
	}
	if got := w.get("log"); !strings.HasPrefix(got, "title 3\nsecond\n") {
		t.Errorf("%.100q", got)
	}
	w.whole("log")
}

// A read during a write of another program may mix the content of several moments. It still counts as a read, and an edit of it
// is merged.
func TestGrowingLogUnstable(t *testing.T) {
	w := newWorld(t)
	w.put("log", logHead)
	a := w.agent()
	stop := w.grow("log", 0)
	until := time.Now().Add(patience)
	for !a.works("read_file", args{"path": "log"}).Data.Unstable {
		if time.Now().After(until) {
			t.Skip("no read is unstable here")
		}
	}
	w.grown("log")
	stop()
	a.works("edit_file", args{"path": "log", "edits": edits("title\n", "a title\n")})
	if got := w.get("log"); !strings.HasPrefix(got, "a title\nsecond\n") {
		t.Errorf("%.100q", got)
	}
	w.whole("log")
}

// An edit names a text that was appended after the read. The error says that the file changed, and not that the agent never read
// it.
func TestGrowingLogTail(t *testing.T) {
	w := newWorld(t)
	w.put("log", logHead)
	a := w.agent()
	a.works("read_file", args{"path": "log"})
	w.put("log", logHead+"tail\n")
	r := a.fails("permission_denied", "edit_file", args{"path": "log", "edits": edits("tail\n", "end\n")})
	if !strings.Contains(r.raw, "changed since you read it") || strings.Contains(r.raw, "never read") {
		t.Errorf("%s", r.raw)
	}
	a.works("read_file", args{"path": "log"})
	a.works("edit_file", args{"path": "log", "edits": edits("tail\n", "end\n")})
}

// A person approves an edit once, although the log grows at its end in the meantime: the edit changes exactly what was shown.
func TestGrowingLogApproved(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	w.put("log", logHead)
	stop := w.grow("log", 10*time.Millisecond)
	a, c := w.agent(), w.person()
	a.works("read_file", args{"path": "log"})
	r := a.do("edit_file", args{"path": "log", "edits": edits("second\n", "2\n")})
	q := question(t, c)
	w.grown("log")
	answer(t, c, q, approval.Approve)
	if r = a.await(r); !r.ok() {
		t.Errorf("%s", r.raw)
	}
	stop()
	if got := w.get("log"); !strings.HasPrefix(got, "title\n2\nthird\n") {
		t.Errorf("%.100q", got)
	}
	w.whole("log")
}
