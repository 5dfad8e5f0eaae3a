package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Model requests go through stet proxy, and through a plain proxy of the standard library, each in a process of its own. The
// provider is a server in this process, which answers at once.

// bareUpstream names an environment variable. If it is set, this program is the plain proxy in front of the address in it.
const bareUpstream = "BENCH_BARE_UPSTREAM"

const streamed = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[]," +
	"\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":0,\"cache_creation_input_tokens\":0,\"output_tokens\":1}}}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// bareProxy runs the plain proxy, and prints its address.
func bareProxy(upstream string) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise an answer may break off: it begins, the server closes the body, and the transport has not seen the body's end yet.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	fmt.Println(front.URL)
	_, err = io.Copy(io.Discard, os.Stdin) // until the parent process ends
	return err
}

// hopSide is one of the ways to the provider.
type hopSide struct {
	name  string
	url   string
	cmd   *exec.Cmd
	posts atomic.Int64
}

// start starts a proxy, and reads its address from what it prints.
func (s *hopSide) start(cmd *exec.Cmd) error {
	var err error
	if cmd.Stdin == nil {
		if _, err = cmd.StdinPipe(); err != nil { // stays open as long as this program runs
			return err
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	_ = write.Close()
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		if i := strings.Index(lines.Text(), "http://127.0.0.1:"); i >= 0 {
			s.url = strings.FieldsFunc(lines.Text()[i:], func(r rune) bool { return r == ' ' || r == '"' || r == ',' })[0]
			go func() { _, _ = io.Copy(io.Discard, read) }()
			return nil
		}
	}
	return fmt.Errorf("%s says no address", s.name)
}

// peak returns the most memory that the process has used, in MB, or 0 if that is not known.
func (s *hopSide) peak() int {
	if s.cmd == nil {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, _ := strconv.Atoi(f[1])
			return kb >> 10
		}
	}
	return 0
}

// processor is the processor time that the process has taken; 0: not known.
func (s *hopSide) processor() time.Duration {
	if s.cmd == nil {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	var user, system int64
	if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 12 {
		user, _ = strconv.ParseInt(f[11], 10, 64)
		system, _ = strconv.ParseInt(f[12], 10, 64)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // Linux counts in hundredths of a second
}

// answers waits until the proxy answers a request.
func (s *hopSide) answers() error {
	var err error
	for range 240 {
		if err = s.post(talk("first", "first", 1<<10, 1)[0]); err == nil {
			return nil
		}
		time.Sleep(250 * time.Millisecond)
	}
	return err
}

// talk returns a conversation: the bodies of its requests in order.
func talk(name string, files string, size, rounds int) (bodies []string) {
	body := `{"model":"claude-sonnet-4-5","max_tokens":1024,"stream":true,"system":"` + strings.Repeat("Follow the rule. ", 20) +
		`","tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"look around ` + name + `"}`
	for i := 0; len(bodies) < rounds; i++ {
		text := strings.Repeat(fmt.Sprintf("     1\\tline of file %s %d, as long as lines are\\n", files, i), min(80, max(1, size/100)))
		call := fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Read","input":{"file_path":"/home/me/project/%d.go"}}]}`, i, i)
		result := func(mark string) string {
			return fmt.Sprintf(`,{"role":"user","content":[{"type":"tool_result",%s"tool_use_id":"c%d","content":"%s"}]}`, mark, i, text)
		}
		if len(body) >= size-len(text) {
			bodies = append(bodies, body+call+result(`"cache_control":{"type":"ephemeral"},`)+"]}")
		}
		body += call + result("")
	}
	return bodies
}

var hopClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (s *hopSide) post(body string) error {
	s.posts.Add(1)
	req, err := http.NewRequest(http.MethodPost, s.url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Anthropic-Version": "2023-06-01", "X-Api-Key": "none"} {
		req.Header.Set(name, value)
	}
	resp, err := hopClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d: %w", s.name, resp.StatusCode, err)
	}
	return nil
}

// hopJob is a row. run does the work once with a side, and returns the time for one request.
type hopJob struct {
	name   string
	goal   string
	rate   bool // shows requests in a second
	added  bool // the ratio compares only the time that a proxy adds to a direct request
	rounds int
	run    func(s *hopSide, round int) (time.Duration, error)
}

// inTurn sends the bodies one after another, and returns the median time of all except the first.
func inTurn(s *hopSide, bodies []string) (time.Duration, error) {
	var took []time.Duration
	for i, body := range bodies {
		begin := time.Now()
		if err := s.post(body); err != nil {
			return 0, err
		}
		if i > 0 { // the first body is a whole new conversation
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// atOnce sends the bodies of each conversation in turn, and all conversations at once.
func atOnce(s *hopSide, talks [][]string) (time.Duration, error) {
	var wg sync.WaitGroup
	errs := make(chan error, len(talks))
	begin, n := time.Now(), 0
	for _, bodies := range talks {
		n += len(bodies)
		wg.Go(func() {
			for _, body := range bodies {
				if err := s.post(body); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return time.Since(begin) / time.Duration(n), <-errs
}

func hopJobs() []hopJob {
	first := func(size int) func(*hopSide, int) (time.Duration, error) {
		return func(s *hopSide, round int) (time.Duration, error) {
			body := talk(fmt.Sprint("first of ", s.name, round), fmt.Sprint(s.name, round), size, 1)[0]
			begin := time.Now()
			err := s.post(body)
			return time.Since(begin), err
		}
	}
	grows := func(size int) func(*hopSide, int) (time.Duration, error) {
		return func(s *hopSide, round int) (time.Duration, error) {
			return inTurn(s, talk(fmt.Sprint("grows for ", s.name, round), fmt.Sprint("grows", round), size, 40))
		}
	}
	many := func(name string, size, rounds int, shared bool) func(*hopSide, int) (time.Duration, error) {
		return func(s *hopSide, round int) (time.Duration, error) {
			var talks [][]string
			for i := range 16 {
				files := name
				if !shared {
					files = fmt.Sprintf("%s %02d", name, i)
				}
				talks = append(talks, talk(fmt.Sprintf("%s %s %d %02d", name, s.name, round, i), files, size, rounds))
			}
			return atOnce(s, talks)
		}
	}
	// Short conversations: a client begins the next one after the one before has ended.
	short := func(s *hopSide, round int) (time.Duration, error) {
		var clients [][]string
		for i := range 16 {
			var bodies []string
			for j := range 60 {
				name := fmt.Sprintf("short %s %d %02d %d", s.name, round, i, j)
				bodies = append(bodies, talk(name, name, 1<<10, 3)...)
			}
			clients = append(clients, bodies)
		}
		return atOnce(s, clients)
	}
	return []hopJob{
		{name: "the first request of a conversation, 100 KB", goal: "≤ 5 ms", rounds: 21, run: first(100 << 10)},
		{name: "the first, 1 MB", goal: "≤ 8 ms", rounds: 11, run: first(1 << 20)},
		{name: "one that goes on, 100 KB", goal: "≤ 2 added", added: true, rounds: 9, run: grows(100 << 10)},
		{name: "one that goes on, 1 MB", goal: "≤ 2 added", added: true, rounds: 5, run: grows(1 << 20)},
		{name: "16 clients, conversations of 1 KB", goal: "≥ 3,500 /s", rate: true, rounds: 7, run: short},
		{name: "16 conversations of 1 MB", goal: "≥ 300 /s", rate: true, rounds: 3, run: many("large", 1<<20, 12, false)},
		{name: "16 conversations of 1 MB that share text", goal: "≥ 300 /s", rate: true, rounds: 3, run: many("sub-agents", 1<<20, 12, true)},
	}
}

// print prints the rows of a job. took has the median of each side. The first four sides are the direct way, the plain proxy,
// stet, and stet without its record.
func (j hopJob) print(sides []*hopSide, took []time.Duration) {
	cell := func(i int) string {
		if j.rate {
			return fmt.Sprintf("%.0f /s", 1/took[i].Seconds())
		}
		return short(took[i])
	}
	ratio := fmt.Sprintf("%.1f", took[2].Seconds()/took[1].Seconds())
	if j.added {
		ratio = fmt.Sprintf("%.1f (added: %.1f)", took[2].Seconds()/took[1].Seconds(), (took[2]-took[0]).Seconds()/(took[1]-took[0]).Seconds())
	}
	line{j.name, cell(2), cell(1), "a bare proxy; direct " + cell(0), ratio, j.goal}.print()
	line{"– without its record", cell(3), cell(1), "a bare proxy", fmt.Sprintf("%.1f", took[3].Seconds()/took[1].Seconds()), ""}.print()
	for i := 4; i < len(sides); i++ {
		line{"–", cell(2), cell(i), sides[i].name, fmt.Sprintf("%.2f", took[2].Seconds()/took[i].Seconds()), ""}.print()
	}
}

func hops(stet, dir string) error {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, streamed)
	}))
	defer up.Close()
	sides := []*hopSide{{name: "direct", url: up.URL}, {name: "bare"}, {name: "stet"}, {name: "stet without record"}}
	bare := exec.Command(os.Args[0])
	bare.Env = append(os.Environ(), bareUpstream+"="+up.URL)
	with := func(name string, flags ...string) *exec.Cmd {
		cmd := exec.Command(stet, append([]string{"proxy", "--listen", "127.0.0.1:0", "--upstream-messages", up.URL}, flags...)...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, name), "XDG_CONFIG_HOME="+filepath.Join(dir, name))
		return cmd
	}
	for i, cmd := range []*exec.Cmd{nil, bare, with("recorded"), with("unrecorded", "--no-record")} {
		if cmd == nil {
			continue
		}
		if err := sides[i].start(cmd); err != nil {
			return err
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	}
	own := len(sides)
	for _, p := range installed() {
		side, err := p.side(up.URL, dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err) // the other jobs can still be measured
			continue
		}
		defer func() { _ = side.cmd.Process.Kill(); _ = side.cmd.Wait() }()
		sides = append(sides, side)
	}
	for _, job := range hopJobs() {
		if !measured(job.name) {
			continue
		}
		took := make([][]time.Duration, len(sides))
		for round := range job.rounds * *rounds {
			for i, s := range sides {
				if i >= own && round > 0 {
					continue // the peers are slow
				}
				d, err := job.run(s, round)
				if err != nil {
					return fmt.Errorf("%s: %w", job.name, err)
				}
				took[i] = append(took[i], d)
			}
		}
		median := make([]time.Duration, len(sides))
		for i := range sides {
			slices.Sort(took[i])
			median[i] = took[i][len(took[i])/2]
		}
		job.print(sides, median)
	}
	mb := func(s *hopSide) string { return fmt.Sprintf("%d MB", s.peak()) }
	each := func(s *hopSide) string { return short(s.processor() / time.Duration(max(1, s.posts.Load()))) }
	line{"processor time for each of these requests", each(sides[2]), each(sides[1]), "a bare proxy", "", ""}.print()
	line{"most memory after these", mb(sides[2]), mb(sides[1]), "a bare proxy", "", "≤ 150 MB"}.print()
	line{"– without its record", mb(sides[3]), mb(sides[1]), "a bare proxy", "", ""}.print()
	for _, s := range sides[own:] {
		line{"–", mb(sides[2]), mb(s), s.name, "", ""}.print()
	}
	return nil
}
