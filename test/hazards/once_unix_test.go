//go:build unix

package hazards

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/freeport"
)

// freely is a configuration that allows all writes.
const freely = "unread = \"allow\"\n[[rule]]\non = \"write\"\ndo = \"allow\"\n"

// daemon is a process that is killed and started again.
type daemon struct {
	t     testing.TB
	make  func() *exec.Cmd
	ready string // a text that it prints on standard error when it is ready
	cmd   *exec.Cmd
}

// start starts the process, and waits until it is ready.
func (d *daemon) start() {
	d.t.Helper()
	d.cmd = d.make()
	out, err := d.cmd.StderrPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), d.ready) {
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
			return
		}
	}
	d.t.Fatalf("%v does not come up: %s", d.cmd.Args, strings.Join(said, "\n"))
}

// kill ends the process with SIGKILL, if it is running.
func (d *daemon) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait() // it was killed
		d.cmd = nil
	}
}

// gatewayAt is a server, and a host of another workspace with a home of its own.
type gatewayAt struct {
	here, far   *world
	serve, host *daemon
	url, token  string
}

func newGatewayAt(t testing.TB, config string) *gatewayAt {
	t.Helper()
	g := &gatewayAt{here: newWorld(t), far: newWorld(t)}
	for _, w := range []*world{g.here, g.far} {
		write(t, filepath.Join(w.home, "config", "stet", "config.toml"), config)
	}
	address := freeport.Addresses(t, 1)[0]
	g.url = "http://" + address
	secret := func(name, scope string) string {
		out, err := g.here.command("token", "create", name, "--scope", scope).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	g.token = secret("agent", "agent")
	host := secret("host", "host")
	g.serve = &daemon{t: t, ready: "listening on", make: func() *exec.Cmd {
		return g.here.command(append([]string{"serve", "--root", g.here.dir, "--workspace", "here", "--listen", address}, g.here.flags...)...)
	}}
	g.host = &daemon{t: t, ready: "connected to", make: func() *exec.Cmd {
		cmd := g.far.command(append([]string{"host", "--root", g.far.dir, "--workspace", "far", g.url}, g.far.flags...)...)
		cmd.Env = append(cmd.Env, "STET_TOKEN="+host)
		return cmd
	}}
	t.Cleanup(func() {
		g.host.kill()
		g.serve.kill()
	})
	return g
}

// said is an answer of the gateway.
type said struct {
	status int
	Error  string
	Needs  bool `json:"needs_confirmation"`
	text   string
}

// post makes a call over plain HTTP. err is the error of the connection.
func (g *gatewayAt) post(session, name, query string, v any) (said, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return said{}, err
	}
	r, err := http.NewRequest(http.MethodPost, g.url+"/v1/sessions/"+session+"/tools/"+name+"?"+query, bytes.NewReader(body))
	if err != nil {
		return said{}, err
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return said{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return said{}, err
	}
	s := said{status: res.StatusCode, text: string(b)}
	_ = json.Unmarshal(b, &s) // an error answer has no such fields
	return s, nil
}

// writer is an agent that adds one line to a file with each call.
type writer struct {
	g         *gatewayAt
	workspace string
	file      string

	n     int             // number of the next call
	under int             // number of the call whose outcome is not known; 0: none
	ended map[int]said    // the answers of ended calls
	done  map[int]bool    // the acknowledged calls
	again int             // number of answers that came from the record
	stop  <-chan struct{} // closed before a process is killed
}

// call makes call n, possibly again. It reports whether its outcome is known.
func (a *writer) call(n int) (known bool) {
	line := fmt.Sprintf("line %d\nend\n", n)
	s, err := a.g.post("main-"+a.file, "edit_file", fmt.Sprintf("workspace=%s&call_id=c%d", a.workspace, n),
		args{"path": a.file, "edits": edits("end\n", line)})
	switch {
	case err != nil, s.status != http.StatusOK, s.Error == "host_unavailable", strings.Contains(s.text, "not known: look"),
		strings.Contains(s.text, "under way"):
		return false
	}
	if strings.Contains(s.text, "done before") {
		a.again++
	}
	a.ended[n], a.done[n] = s, s.Error == ""
	return true
}

// run makes calls until a process is killed.
func (a *writer) run() {
	for {
		a.n++
		if a.under = a.n; !a.call(a.n) {
			return
		}
		a.under = 0
		select {
		case <-a.stop:
			return
		default:
		}
	}
}

// settle repeats the call with the unknown outcome until the outcome is known. It also repeats some acknowledged calls.
func (a *writer) settle(t testing.TB) {
	for until := time.Now().Add(patience); a.under > 0 && !a.call(a.under); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Errorf("%s: the end of call %d is never known", a.file, a.under)
			return
		}
	}
	a.under = 0
	for range min(3, a.n) {
		n := 1 + rand.IntN(a.n)
		was := a.done[n]
		for until := time.Now().Add(patience); !a.call(n); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Errorf("%s: call %d is never answered", a.file, n)
				return
			}
		}
		if a.done[n] != was {
			t.Errorf("%s: call %d ended differently: %s", a.file, n, a.ended[n].text)
		}
	}
}

// Row: SIGKILL of a gateway or of a host during writes, and the same call ids again after that. An acknowledged call was done
// once, and a refused call was not done. 10 kills, or 500 with STET_SOAK=1. (FILE-4)
func TestOnceAcrossKills(t *testing.T) {
	kills := 10
	if soak() {
		kills = 500
	}
	g := newGatewayAt(t, freely)
	var all []*writer
	for n := range 2 {
		for workspace, w := range map[string]*world{"here": g.here, "far": g.far} {
			file := fmt.Sprint(workspace, n)
			w.put(file, "end\n")
			all = append(all, &writer{g: g, workspace: workspace, file: file, ended: map[int]said{}, done: map[int]bool{}})
		}
	}
	g.serve.start()
	g.host.start()
	for k := range kills {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for _, a := range all {
			a.stop = stop
			wg.Go(a.run)
		}
		victims := [][]*daemon{{g.serve}, {g.host}, {g.serve, g.host}}[k%3]
		time.Sleep(time.Duration(rand.IntN(120_000)) * time.Microsecond) // the kill may come at any point of a write
		for _, v := range victims {
			v.kill()
		}
		close(stop)
		wg.Wait()
		for _, v := range victims {
			v.start()
		}
		for _, a := range all {
			wg.Go(func() { a.settle(t) })
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
	acknowledged, refused, lost, twice, again, unasked := 0, 0, 0, 0, 0, 0
	for _, a := range all {
		w := g.here
		if a.workspace == "far" {
			w = g.far
		}
		text := "\n" + w.get(a.file)
		again += a.again
		for n := 1; n <= a.n; n++ {
			times := strings.Count(text, fmt.Sprintf("\nline %d\n", n))
			switch {
			case a.done[n]:
				acknowledged++
			default:
				refused++
				if code := a.ended[n].Error; code != "cancelled" {
					t.Errorf("%s: call %d: %s", a.file, n, a.ended[n].text)
				}
			}
			switch {
			case a.done[n] && times == 0:
				lost++
			case !a.done[n] && times > 0:
				unasked++
			}
			if times > 1 {
				twice++
			}
		}
	}
	if lost+twice+unasked > 0 || acknowledged == 0 || again == 0 {
		t.Errorf("%d lost, %d done twice, %d refused and done", lost, twice, unasked)
	}
	g.host.kill()
	g.serve.kill()
	for _, w := range []*world{g.here, g.far} {
		w.run("audit", "--verify")
	}
	t.Logf("%d kills: %d calls acknowledged, %d refused, %d lost, %d done twice, %d refused and done, %d answers from the record",
		kills, acknowledged, refused, lost, twice, unasked, again)
}

// Row: a write was interrupted by a kill, and another program changes the file: the repeated call writes nothing. The trail has
// the intent of the killed process, without an outcome.
func TestOnceChangedSince(t *testing.T) {
	g := newGatewayAt(t, freely)
	g.serve.start()
	s, err := g.post("s", "write_file", "workspace=here&call_id=1", args{"path": "a", "content": "ours\n"})
	if err != nil || s.Error != "" {
		t.Fatal(s.text, err)
	}
	g.here.put("a", "theirs\n")
	g.serve.kill()
	g.serve.start()
	if s, err = g.post("s", "write_file", "workspace=here&call_id=1", args{"path": "a", "content": "ours\n"}); err != nil || !strings.Contains(s.text, "done before") {
		t.Error(s.text, err)
	}
	if s, err = g.post("s", "write_file", "workspace=here&call_id=1", args{"path": "b", "content": "other\n"}); err != nil || !strings.Contains(s.text, "for another call") {
		t.Error(s.text, err)
	}
	if got := g.here.get("a"); got != "theirs\n" {
		t.Errorf("%q", got)
	}
	g.here.missing("b")
}

// Row: an agent uses 40 session names to make more calls and questions than allowed: the limits count for its token. (FILE-10)
func TestManyNames(t *testing.T) {
	g := newGatewayAt(t, "unread = \"allow\"\n")
	g.here.flags = nil // the default rate
	g.here.put("a", "text\n")
	g.serve.start()
	const names, each = 40, 30
	var mu sync.Mutex
	outcomes := map[string]int{}
	all := func(session func(name int)) {
		var wg sync.WaitGroup
		for name := range names {
			wg.Go(func() { session(name) })
		}
		wg.Wait()
	}
	note := func(kind string, s said, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			t.Error(err)
		case s.Needs:
			outcomes[kind+" asked"]++
		case s.Error == "rate_limited":
			outcomes[kind+" limited"]++
		case s.Error == "":
			outcomes[kind+" done"]++
		default:
			t.Errorf("%d %s", s.status, s.text)
		}
	}
	all(func(name int) {
		for n := range 12 {
			s, err := g.post(fmt.Sprint("name", name), "write_file", "workspace=here&wait=2", args{"path": fmt.Sprint("new", name, "-", n), "content": "x"})
			note("question", s, err)
		}
	})
	began := time.Now()
	all(func(name int) {
		for range each {
			s, err := g.post(fmt.Sprint("name", name), "read_file", "workspace=here", args{"path": "a"})
			note("read", s, err)
		}
	})
	// The calls that the token had left after the questions, and those that the time has added.
	most := 1000 + int(time.Since(began).Minutes()*1000) + 1
	if n := outcomes["question asked"]; n == 0 || n > 64 {
		t.Errorf("%d questions", n)
	}
	if n := outcomes["read done"]; n == 0 || n > most || outcomes["read limited"] == 0 {
		t.Errorf("%d reads, at most %d", n, most)
	}
	entries, err := os.ReadDir(g.here.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	t.Logf("%v", outcomes)
}
