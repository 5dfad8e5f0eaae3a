package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// Time limits of calls.
const (
	callTime     = 4 * time.Second // of a call without its person
	approvalTime = 6 * time.Second // of a person
	// endTime is the latest time at which each attempt has ended: the two limits above, what the host may need to end a call,
	// twice what the bus may need, and what a paused server adds.
	endTime = callTime + approvalTime + 2*time.Second + 6*time.Second + longestFault + 6*time.Second
)

// write is a line that an agent adds to a file, and the outcome.
type write struct {
	file, line, call, session string

	acknowledged bool
	refused      bool // every attempt was refused with an error that says that nothing was done
	said         []string
	begin, end   time.Time
}

// reading is what a read of a file returned.
type reading struct {
	file       string
	lines      []string
	begin, end time.Time
}

// agents are the agents of a run, and the results that they got.
type agents struct {
	c     *cluster
	files []string

	mu       sync.Mutex
	writes   []*write
	reads    []reading
	attempts int
	longest  time.Duration // of an attempt
	hung     []string      // attempts that did not end
	failed   []string      // first attempts of the agents of steady
}

const agentCount = 4

// marker returns the line that ends the lines of one agent in each file. Each agent adds its lines before its own marker, so the
// edits of two agents do not conflict.
func marker(agent int) string { return fmt.Sprintf("end of agent %d", agent) }

func newAgents(c *cluster, files int) *agents {
	a := &agents{c: c}
	var text strings.Builder
	for i := range agentCount + nodes { // the last ones are for the checks
		text.WriteString(strings.Repeat("-\n", 5) + marker(i) + "\n")
	}
	for i := range files {
		name := fmt.Sprintf("f%d.txt", i)
		a.files = append(a.files, name)
		if err := os.WriteFile(filepath.Join(c.tree, name), []byte(text.String()), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	return a
}

// run is one agent, until ctx ends: it adds lines. If it gets no result, it repeats the call at a random server.
func (a *agents) run(ctx context.Context, agent int, random *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		file := a.files[random.IntN(len(a.files))]
		if random.IntN(5) == 0 {
			a.read(file, agent, random.IntN(nodes))
			continue
		}
		w := a.begin(file, agent, n)
		for try := 0; try < 6 && !a.try(w, agent, random.IntN(nodes), approvalTime); try++ {
			time.Sleep(time.Duration(100+random.IntN(400)) * time.Millisecond)
		}
		a.finish(w)
	}
}

func (a *agents) begin(file string, agent, n int) *write {
	w := &write{
		file: file, line: fmt.Sprintf("line %d of agent %d", n, agent), call: fmt.Sprintf("c%d", n), session: fmt.Sprintf("agent%d", agent),
		refused: true, begin: time.Now(),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = append(a.writes, w)
	return w
}

func (a *agents) finish(w *write) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.end = time.Now()
}

// try makes the call at a server, and reports whether its outcome is known after that.
func (a *agents) try(w *write, agent, node int, patience time.Duration) (over bool) {
	type edit struct {
		Old string `json:"old_text"`
		New string `json:"new_text"`
	}
	arguments := struct {
		Path  string `json:"path"`
		Edits []edit `json:"edits"`
	}{w.file, []edit{{marker(agent) + "\n", w.line + "\n" + marker(agent) + "\n"}}}
	r, text := a.call(node, w.session, "edit_file", w.call, arguments, patience)
	w.said = append(w.said, fmt.Sprintf("%s server %d: %s", time.Now().Format("05.000"), node, text))
	switch {
	case r == nil: // the answer was lost
		w.refused = false
		return false
	case r.Error == "":
		w.acknowledged, w.refused = true, false
		return true
	}
	w.refused = w.refused && (strings.Contains(text, "Nothing was written") || strings.Contains(text, "Nothing was done"))
	switch r.Error {
	case "host_unavailable", "timeout", "internal_error", "cancelled", "rate_limited":
		return false
	}
	return true
}

// read reads a file. It records the lines if the result has the whole file.
func (a *agents) read(file string, agent, node int) {
	begin := time.Now()
	r, _ := a.call(node, fmt.Sprintf("agent%d", agent), "read_file", fmt.Sprintf("r%d", begin.UnixNano()), map[string]any{"path": file}, approvalTime)
	if r == nil || r.Error != "" {
		return
	}
	var got struct{ Content string }
	if json.Unmarshal(r.Result, &got) != nil || !strings.Contains(got.Content, marker(agentCount+nodes-1)) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads = append(a.reads, reading{file, linesOf(got.Content), begin, time.Now()})
}

// linesOf returns the lines that agents have written.
func linesOf(content string) []string {
	var all []string
	for line := range strings.Lines(content) {
		if at := strings.Index(line, "line "); at >= 0 { // the text before it may be a line number
			all = append(all, strings.TrimSpace(line[at:]))
		}
	}
	return all
}

// patient is the HTTP client for calls. It has no time limit of its own.
var patient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// call makes a call, and waits for its result. If it returns nil, there is no result, and the text says why.
func (a *agents) call(node int, session, tool, id string, arguments any, patience time.Duration) (*wire.ToolResult, string) {
	body, err := json.Marshal(arguments)
	if err != nil {
		return nil, err.Error()
	}
	limit := endTime - approvalTime + patience
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	begin := time.Now()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.attempts++
		a.longest = max(a.longest, time.Since(begin))
		if ctx.Err() != nil {
			a.hung = append(a.hung, fmt.Sprintf("%s of %s, at server %d, begun at %s, did not end within %v", id, session, node, begin.Format("05.000"), limit))
		}
	}()
	base, wait := "http://"+a.c.front.address(), 60 // through the balancer a second request may reach another server, which does not know the call
	if node != balanced {
		base, wait = a.c.base[node], 5
	}
	at := fmt.Sprintf("%s/v1/sessions/%s/", base, session)
	query := fmt.Sprintf("?call_id=%s&workspace=%s&wait=%d&timeout_seconds=%d&approval_timeout_seconds=%d", id, workspaceName, wait,
		int(callTime/time.Second), int(patience/time.Second))
	status, answer, err := a.ask(ctx, http.MethodPost, at+"tools/"+tool+query, body)
	for err == nil && (status == http.StatusAccepted || status == http.StatusConflict) { // the call still runs, or was made before
		status, answer, err = a.ask(ctx, http.MethodGet, at+"calls/"+id+"?wait=5", nil)
	}
	if err != nil {
		return nil, err.Error()
	}
	var r wire.ToolResult
	if status != http.StatusOK || json.Unmarshal(answer, &r) != nil {
		return nil, fmt.Sprintf("%d %s", status, answer)
	}
	return &r, fmt.Sprintf("%s %s", r.Error, r.Result)
}

func (a *agents) ask(ctx context.Context, method, address string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.c.token.agent)
	res, err := patient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// stall returns the longest time without an acknowledged write.
func (a *agents) stall(from, to time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var times []time.Time
	for _, w := range a.writes {
		if w.acknowledged && w.end.Before(to) {
			times = append(times, w.end)
		}
	}
	return longestGap(from, to, times)
}

// tell logs the results that the agents got.
func (a *agents) tell(t testing.TB) {
	for _, w := range a.writes {
		var short []string
		for _, said := range w.said {
			short = append(short, said[:min(len(said), 250)])
		}
		t.Logf("%s, after %v: %s\n\t%s", w.begin.Format("05.000"), w.end.Sub(w.begin).Round(time.Millisecond), w.line, strings.Join(short, "\n\t"))
	}
}

// onDisk returns the lines of a file.
func (a *agents) onDisk(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(a.c.tree, file))
	if err != nil {
		t.Fatal(err)
	}
	return linesOf(string(b))
}
