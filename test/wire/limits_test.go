package wire

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// crowd is 20 sub-agents of one conversation that work at once in loops of tools, through two proxies with one record.
type crowd struct {
	t        *testing.T
	store    string // of PostgreSQL
	records  string // the same, or a file in the home
	home     string
	proxies  [2]*process
	upstream string
	answered atomic.Int64 // each answer costs 1,100 tokens
	root     string       // the conversation of the sub-agents
}

const agents = 20

// crowds runs a test with a record in a file and one in a database.
func crowds(t *testing.T, settings string, do func(*crowd)) {
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		t.Run(name, func(t *testing.T) {
			c := &crowd{t: t, home: t.TempDir(), root: "root"}
			if c.records = filepath.Join(c.home, ".local", "state", "stet", "stet.db"); name == "PostgreSQL" {
				c.store = server.Database(t)
				c.records = c.store
			}
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				c.answered.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_ = http.NewResponseController(w).Flush() // in chunks, so that the sub-agent sees the end when the proxy has counted it
				fmt.Fprint(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":100}}`)
			}))
			t.Cleanup(model.Close)
			c.upstream = model.URL
			dir := filepath.Join(c.home, ".config", "stet")
			err := os.MkdirAll(dir, 0o700)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "config.toml"), []byte(settings), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.start()
			do(c)
		})
	}
}

func (c *crowd) start() {
	for i := range c.proxies {
		if c.proxies[i] != nil {
			c.proxies[i].end(syscall.SIGKILL)
		}
		c.proxies[i] = start(c.t, c.home, c.store, c.upstream, "off")
	}
}

// ask sends a request of a sub-agent, or, without a name, the next turn of the person.
func (c *crowd) ask(proxy int, conversation, agent string) (status int, said string) {
	body := `{"role":"user","content":"hello"}`
	if agent != "" {
		body += `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a"}]}`
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.proxies[proxy].base+"/v1/messages", strings.NewReader(`{"model":"claude-opus-5-5","max_tokens":9,"messages":[`+body+`]}`))
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	req.Header.Set("X-Claude-Code-Session-Id", conversation)
	if agent != "" {
		req.Header.Set("X-Claude-Code-Agent-Id", agent)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Error(err)
	}
	return resp.StatusCode, string(b)
}

// work lets all sub-agents work until they are refused or have sent so many requests, and returns how many were refused. Before each
// request they call before.
func (c *crowd) work(requests int, says string, before func()) int {
	var wg sync.WaitGroup
	var refused atomic.Int64
	for i := range agents {
		wg.Go(func() {
			for range requests {
				before()
				switch status, said := c.ask(i%2, c.root, fmt.Sprint("agent-", i)); {
				case status == 402 && strings.Contains(said, says):
					refused.Add(1)
					return
				case status != 200:
					c.t.Errorf("%d %s", status, said)
					return
				}
			}
		})
	}
	wg.Wait()
	return int(refused.Load())
}

// refusedAll expects that the conversation is refused by both proxies, also after they were killed and started again.
func (c *crowd) refusedAll(says string) {
	c.t.Helper()
	for range 2 {
		for i := range c.proxies {
			if status, said := c.ask(i, c.root, ""); status != 402 || !strings.Contains(said, says) {
				c.t.Errorf("the next turn: %d %s", status, said)
			}
			if status, said := c.ask(i, "another", ""); status != 200 {
				c.t.Errorf("another conversation: %d %s", status, said)
			}
		}
		c.start()
	}
}

// LIVE-3: with hard = true a conversation with 20 sub-agents at once is over its limit by no more than their requests in flight, though
// they work through two processes that share a record. A process whose record does not answer in time says so, and knows only its own requests: then
// each of the two holds the limit for itself, and the test begins again with another conversation.
func TestLimitHoldsForTwoProcesses(t *testing.T) {
	const limit, each, tries = 100, 15, 3
	crowds(t, fmt.Sprintf("[limits]\ntree = \"%d tokens\"\nhard = true\n", limit*1100), func(c *crowd) {
		for try := 1; ; try++ {
			c.root = fmt.Sprint("root-", try)
			c.answered.Store(0)
			refused := c.work(each, "this conversation with its sub-agents has spent", func() {})
			n, most, alone := c.answered.Load(), int64(limit+agents), false
			for _, p := range c.proxies {
				p.end(syscall.SIGTERM)
				if said := p.said.String(); strings.Contains(said, "is not known") || strings.Contains(said, "is not stored") {
					c.t.Log(said)
					most, alone = int64(2*limit+agents), true
				}
			}
			c.start()
			c.t.Logf("%d requests of %d were answered, %d of %d sub-agents were refused", n, limit, refused, agents)
			if n < limit || n > most || refused == 0 {
				c.t.Errorf("%d requests of %d were answered, %d sub-agents were refused", n, limit, refused)
			}
			if !alone {
				break
			}
			if try == tries {
				c.t.Fatalf("the record did not answer in time in any of %d runs", tries)
			}
		}
		c.refusedAll("this conversation with its sub-agents has spent")
	})
}

// LIVE-3: a person's stop ends all 20 sub-agents at two processes while they work, and holds after a restart until it is taken back.
func TestStopHoldsForTwoProcesses(t *testing.T) {
	crowds(t, "", func(c *crowd) {
		records, err := store.Open(c.t.Context(), c.records)
		if err != nil {
			c.t.Fatal(err)
		}
		defer func() { _ = records.Close() }()
		note := func(text string) { // as the page does it
			if err := records.Append(t.Context(), record.Batch{Notes: []record.Note{{Kind: record.NoteStop, Key: "root", Text: text, Time: time.Now()}}}); err != nil {
				c.t.Error(err)
			}
		}
		var asked atomic.Int64
		if refused := c.work(1_000_000, "stopped by a person", func() {
			if asked.Add(1) == 3*agents {
				note("{}")
			}
		}); refused != agents {
			c.t.Errorf("%d of %d sub-agents were stopped", refused, agents)
		}
		c.t.Logf("%d requests were answered, the stop was stored after %d", c.answered.Load(), 3*agents)
		c.refusedAll("stopped by a person")
		note("")
		for i := range c.proxies {
			for status := 402; status != 200; { // until it looks again
				if status, _ = c.ask(i, "root", ""); t.Context().Err() != nil {
					return
				}
			}
		}
	})
}
