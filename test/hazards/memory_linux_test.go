package hazards

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/test/webtest"
)

// maxMemory is the most memory that a server may use under these attacks, in bytes.
const maxMemory = 400 << 20

// site is a running "stet serve".
type site struct {
	*world
	cmd           *exec.Cmd
	base          string
	agent, person string // tokens
}

var (
	siteBase   = regexp.MustCompile(`listening on (\S+);`)
	sitePerson = regexp.MustCompile(`#token=(\S+)`)
	siteAgent  = regexp.MustCompile(`Authorization: Bearer (\S+)`)
)

// site starts "stet serve" with the world's directory.
func (w *world) site(flags ...string) *site {
	w.t.Helper()
	s := &site{world: w}
	s.cmd = w.command(append([]string{"serve", "--root", w.dir, "--workspace", "here", "--listen", "127.0.0.1:0", "--rate", "0"}, flags...)...)
	w.start(s.cmd, func(line string) bool {
		for re, to := range map[*regexp.Regexp]*string{siteBase: &s.base, sitePerson: &s.person, siteAgent: &s.agent} {
			if m := re.FindStringSubmatch(line); m != nil && *to == "" {
				*to = m[1]
			}
		}
		return s.base != "" && s.person != "" && s.agent != ""
	})
	return s
}

// start starts a server that ends with the test. It passes each line of the server's standard error to see, until see returns
// true.
func (w *world) start(cmd *exec.Cmd, see func(line string) (enough bool)) {
	w.t.Helper()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() && !see(lines.Text()) {
		}
		close(ready)
		_, _ = io.Copy(os.Stderr, stderr) // the server may be killed
	}()
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer stuck.Stop()
		<-ended
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("stet %s: %v", cmd.Args[1], err)
		}
	})
	select {
	case <-ready:
	case <-time.After(patience):
		w.t.Fatalf("stet %s does not come up", cmd.Args[1])
	}
}

// memory returns the memory of a process in bytes: the most that it has used, and its current use.
func memory(t testing.TB, cmd *exec.Cmd) (peak, now int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "VmHWM:" && f[0] != "VmRSS:" {
			continue
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatal(err)
		}
		if f[0] == "VmHWM:" {
			peak = n << 10
		} else {
			now = n << 10
		}
	}
	return peak, now
}

// bounded checks and logs the most memory that a server has used.
func bounded(t testing.TB, what string, cmd *exec.Cmd) {
	t.Helper()
	high, now := memory(t, cmd)
	t.Logf("%s: peak %d MB, now %d MB", what, high>>20, now>>20)
	if high > maxMemory {
		t.Errorf("%s: a peak of %d MB, of at most %d", what, high>>20, maxMemory>>20)
	}
}

// rest makes a call over plain HTTP.
func (s *site) rest(session, name string, query string, v any) (status int, r restResult, err error) {
	body, err := json.Marshal(v)
	if err != nil {
		return 0, r, err
	}
	return s.request("POST", session+"/tools/"+name+"?"+query, strings.NewReader(string(body)))
}

// request sends a request about a session to the gateway, as the agent.
func (s *site) request(method, path string, body io.Reader) (status int, r restResult, err error) {
	req, err := http.NewRequest(method, s.base+"/v1/sessions/"+path, body)
	if err != nil {
		return 0, r, err
	}
	req.Header.Set("Authorization", "Bearer "+s.agent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, r, err
	}
	defer resp.Body.Close()
	r.retryAfter = resp.Header.Get("Retry-After")
	err = json.NewDecoder(resp.Body).Decode(&r)
	return resp.StatusCode, r, err
}

type restResult struct {
	Result struct {
		Success bool
		Content string
		Error   string
	}
	Error      string
	Asked      bool `json:"needs_confirmation"`
	retryAfter string
}

// text returns a text of size bytes, with lines.
func text(size int) string {
	line := "the quick brown fox jumps over the \"lazy\" dog, and back again\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// Sixteen parallel reads of a file of nearly the largest size all return its content. They fit into what the gateway and its host
// accept at once. (FILE-8)
func TestParallelReads(t *testing.T) {
	for _, where := range []string{"here", "there"} {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t)
			content := text(8_500_000)
			w.put("big.txt", content)
			s := w.site()
			host := s.cmd
			if where == "there" {
				host = s.host(where)
			}
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					status, r, err := s.rest("s", "read_file", "workspace="+where, args{"path": "big.txt"})
					if err != nil || status != 200 || r.Result.Content != content {
						t.Errorf("%d %q %q, %d bytes: %v", status, r.Error, r.Result.Error, len(r.Result.Content), err)
					}
				})
			}
			wg.Wait()
			bounded(t, "stet serve", s.cmd)
			if host != s.cmd {
				bounded(t, "stet host", host)
			}
		})
	}
}

// host runs "stet host" for the world's directory.
func (s *site) host(name string) *exec.Cmd {
	s.t.Helper()
	token := strings.TrimSpace(lastLine(s.run("token", "create", name, "--scope", "host", "--workspace", name)))
	cmd := s.command("host", "--root", s.dir, "--workspace", name, "--rate", "0", s.base)
	cmd.Env = append(cmd.Env, "STET_TOKEN="+token, "XDG_STATE_HOME="+filepath.Join(s.home, "state-of-"+name))
	s.start(cmd, func(line string) bool { return strings.Contains(line, "connected to") })
	return cmd
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// socket is an agent's WebSocket, used one frame at a time.
type socket struct {
	*websocket.Conn
	t testing.TB
}

func (s *site) dial(token, workspace string, capabilities ...string) *socket {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.base, "http")+"/v1/connect",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.CloseNow() }) // it may be closed
	c.SetReadLimit(64 << 20)
	k := &socket{c, s.t}
	k.send(&wire.Hello{Version: wire.Version, Role: wire.Agent, Workspace: workspace, Capabilities: capabilities})
	return k
}

func (k *socket) send(f wire.Frame) {
	k.t.Helper()
	b, err := wire.Encode(f)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = k.Write(ctx, websocket.MessageText, b.Bytes())
	}
	if err != nil {
		k.t.Error(err)
	}
}

// read returns the next frame.
func (k *socket) read() (wire.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, b, err := k.Read(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Decode(b)
}

// Forty reads over one WebSocket whose client reads the results are all answered.
func TestReadsOverOneSocket(t *testing.T) {
	w := newWorld(t)
	content := text(8_500_000)
	w.put("big.txt", content)
	s := w.site()
	k := s.dial(s.agent, "here")
	const calls = 40
	for i := range calls {
		k.send(&wire.ToolCall{CallID: fmt.Sprint(i), ToolName: "read_file", Arguments: json.RawMessage(`{"path":"big.txt"}`)})
	}
	for got := 0; got < calls; {
		f, err := k.read()
		if err != nil {
			t.Fatalf("after %d results: %v", got, err)
		}
		if r, ok := f.(*wire.ToolResult); ok {
			got++
			if len(r.Result) < len(content) && r.Error != "rate_limited" {
				t.Errorf("%s %.300s", r.Error, r.Result)
			}
		}
	}
	bounded(t, "stet serve", s.cmd)
}

// Sixteen parallel reads over MCP are all answered, in several rounds: a call gives back its memory when it is answered. On a
// slow machine a read may wait too long for memory. Then the answer says so, and the client asks again.
func TestParallelReadsOverMCP(t *testing.T) {
	rounds := 1
	if soak() {
		rounds = 10
	}
	w := newWorld(t)
	content := text(8_500_000)
	w.put("big.txt", content)
	s := w.site()
	host := s.host("there")
	for _, where := range []string{"here", "there"} {
		client := &http.Client{Transport: asAgent(s.agent)}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(context.Background(),
			&mcp.StreamableClientTransport{Endpoint: s.base + "/mcp/" + where, HTTPClient: client, MaxRetries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := &agent{ClientSession: session, t: t}
		for range rounds {
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					r, err := a.try("read_file", args{"path": "big.txt"})
					for again := 0; again < 3 && err == nil && r.code() == "rate_limited"; again++ {
						r, err = a.try("read_file", args{"path": "big.txt"})
					}
					if err != nil || r.Content != content {
						t.Errorf("%q, %d bytes: %v", r.code(), len(r.Content), err)
					}
				})
			}
			wg.Wait()
		}
		_ = session.Close() // the server may have ended
		bounded(t, "stet serve, "+where, s.cmd)
	}
	bounded(t, "stet host", host)
}

// asAgent sends HTTP requests with a token.
type asAgent string

// RoundTrip implements http.RoundTripper.
func (a asAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// A read in parts of a file of nearly the largest size begins at once, and takes little memory, because the content goes from the
// disk directly into frames. (FILE-8, FILE-9)
func TestLargestRead(t *testing.T) {
	w := newWorld(t)
	content := text(95_000_000)
	w.put("big.txt", content)
	s := w.site()
	host := s.host("there")
	for _, where := range []string{"here", "there"} {
		k := s.dial(s.agent, where, wire.CanParts)
		begun, first, at := time.Now(), time.Duration(0), 0
		k.send(&wire.ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{"path":"big.txt"}`)})
		for result := (*wire.ToolResult)(nil); result == nil; {
			f, err := k.read()
			if err != nil {
				t.Fatal(err)
			}
			switch f := f.(type) {
			case *wire.Part:
				if at == 0 {
					first = time.Since(begun)
				}
				if at+len(f.Data) > len(content) || string(f.Data) != content[at:at+len(f.Data)] {
					t.Fatalf("another content in part %d", f.Seq)
				}
				at += len(f.Data)
				k.send(&wire.Taken{CallID: "1", Seq: f.Seq})
			case *wire.ToolResult:
				if result = f; f.Error != "" || at != len(content) {
					t.Errorf("after %d bytes: %s %s", at, f.Error, f.Result)
				}
			}
		}
		t.Logf("%s: the first part after %v, the result after %v", where, first, time.Since(begun))
		bounded(t, "stet serve", s.cmd)
	}
	bounded(t, "stet host", host)
}

// Under a mixed load the memory of the server does not grow.
func TestMemoryIsFlat(t *testing.T) {
	lasts, every := 10*time.Minute, 10*time.Second
	if !soak() {
		lasts, every = 6*time.Second, 500*time.Millisecond
	}
	w := newWorld(t)
	w.put("big.txt", text(8_500_000))
	w.put("small.txt", "small\n")
	s := w.site()
	host := s.host("there")
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	var calls, refused atomic.Int64
	load := func(name string, v args, query string) {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				status, r, err := s.rest(fmt.Sprintf("s%d", n%50), name, query, v)
				switch {
				case err != nil || status != 200 && status != 202 && status != 429 && status != 503:
					t.Errorf("%s: %d %q: %v", name, status, r.Error, err)
					return
				case status != 200 || r.Error == "rate_limited":
					refused.Add(1)
				}
				calls.Add(1)
			}
		})
	}
	for _, where := range []string{"workspace=here", "workspace=there"} {
		load("read_file", args{"path": "small.txt"}, where)
		load("read_file", args{"path": "big.txt"}, where)
	}
	load("write_file", args{"path": "small.txt", "content": text(200_000)}, "workspace=here&wait=0&approval_timeout_seconds=2")
	wg.Go(func() { // agents that make large requests and disconnect
		for ctx.Err() == nil {
			k := s.dial(s.agent, "here")
			for i := range 8 {
				k.send(&wire.ToolCall{CallID: fmt.Sprint(i), ToolName: "read_file", Arguments: json.RawMessage(`{"path":"big.txt"}`)})
			}
			_, _ = k.read() // the call has begun, or was refused
			_ = k.CloseNow()
		}
	})
	var all [2][]int
	for tick := time.NewTicker(every); ctx.Err() == nil; {
		select {
		case <-tick.C:
			for i, cmd := range []*exec.Cmd{s.cmd, host} {
				_, now := memory(t, cmd)
				all[i] = append(all[i], now>>20)
			}
		case <-ctx.Done():
			tick.Stop()
		}
	}
	wg.Wait()
	for i, cmd := range []*exec.Cmd{s.cmd, host} {
		name := "stet " + cmd.Args[1]
		third := len(all[i]) / 3
		early, late := slices.Max(all[i][:third]), slices.Max(all[i][len(all[i])-third:])
		t.Logf("%s: at most %d MB in the first third of %v, %d MB in the last one: %v", name, early, lasts, late, all[i])
		if soak() && late > early+early/4+32 { // the process needs a minute to reach its usual memory
			t.Errorf("%s grows from %d to %d MB", name, early, late)
		}
		bounded(t, name, cmd)
	}
	t.Logf("%d calls, %d of them refused", calls.Load(), refused.Load())
}

// Ten agents make large requests, read no results, and then disconnect. They do not fill the memory, and later agents have room.
func TestSlowReaders(t *testing.T) {
	t.Parallel() // the test mostly waits
	agents, calls, still := 10, 40, 20*time.Second
	if !soak() {
		agents, calls, still = 4, 20, 5*time.Second
	}
	w := newWorld(t)
	content := text(8_500_000)
	w.put("big.txt", content)
	w.put("small.txt", "small\n")
	s := w.site()
	for _, capabilities := range [][]string{nil, {wire.CanResume}, {wire.CanParts}} {
		var all []*socket
		for i := range agents {
			k := s.dial(s.agent, "here", capabilities...)
			for j := range calls {
				k.send(&wire.ToolCall{CallID: fmt.Sprint(i, "-", j), ToolName: "read_file", Arguments: json.RawMessage(`{"path":"big.txt"}`)})
			}
			all = append(all, k)
		}
		for until := time.Now().Add(still); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
			status, r, err := s.rest("other", "read_file", "", args{"path": "small.txt"})
			if err != nil || status != 200 && status != 429 && status != 503 {
				t.Fatalf("a small read of another session: %d %q: %v", status, r.Error, err)
			}
		}
		for _, k := range all {
			_ = k.CloseNow()
		}
		bounded(t, fmt.Sprintf("stet serve, agents that can %v", capabilities), s.cmd)
	}
	for {
		status, r, err := s.rest("later", "read_file", "", args{"path": "big.txt"})
		if err == nil && status == 200 && r.Result.Content == content {
			break
		}
		if err != nil || status != 200 && status != 429 && status != 503 || status == 200 && r.Error != "rate_limited" {
			t.Fatalf("a read after all: %d %q: %v", status, r.Error, err)
		}
	}
	bounded(t, "stet serve", s.cmd)
}

// The memory of open questions about large files is bounded. A question without room is refused with a reason, and the list of
// open questions is short. (FILE-6)
func TestLargeQuestions(t *testing.T) {
	t.Parallel() // the test mostly waits
	w := newWorld(t)
	old, content := text(3_900_000), strings.ReplaceAll(text(3_900_000), "fox", "cat")
	const questions = 25
	for i := range questions {
		w.put(fmt.Sprintf("%d.txt", i), old)
	}
	s := w.site()
	asked, refused := 0, 0
	for i := range questions {
		call := fmt.Sprintf("call_id=%d&wait=2", i)
		status, r, err := s.rest("s", "write_file", call, args{"path": fmt.Sprintf("%d.txt", i), "content": content})
		for err == nil && status == 202 && !r.Asked { // on a slow machine the question is not open yet
			status, r, err = s.request("GET", fmt.Sprintf("s/calls/%d?wait=2", i), nil)
		}
		switch {
		case err != nil:
			t.Fatal(err)
		case status == 202:
			asked++
		case status == 200 && r.Error == "rate_limited", status == 429, status == 503:
			refused++
		default:
			t.Errorf("%d %q %q", status, r.Error, r.Result.Error)
		}
	}
	if asked == 0 || asked+refused != questions {
		t.Errorf("%d asked, %d refused", asked, refused)
	}
	page, err := webtest.Enter(t.Context(), http.DefaultClient, s.base, s.person)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	res, err := page.Do(t.Context(), "GET", "/api/questions", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	list, err := io.ReadAll(res.Body)
	if err != nil || len(list) > 100_000 || strings.Count(string(list), `"id"`) != asked {
		t.Errorf("a list of %d bytes with %d questions: %v", len(list), strings.Count(string(list), `"id"`), err)
	}
	t.Logf("%d questions are open, %d were refused; the list took %v", asked, refused, time.Since(begun))
	bounded(t, "stet serve", s.cmd)
}
