package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/transcript"
)

var (
	sessionsPath = flag.String("sessions", "", "recorded sessions, whose requests are sent through stet and the peers")
	longest      = flag.Int("longest", 3, "send the so many sessions that have most tokens")
)

// sink is a model that counts the requests that reach it.
type sink struct {
	count tokens.Counter

	mu     sync.Mutex
	before []string // the messages of the last request, without cache markers
	sizes  map[string]int
	sum    received
}

// received sums up the requests that reached the model.
type received struct {
	bytes, tokens int
	cost          float64 // in tokens; a token costs 0.1 if it was sent before, and otherwise 1.25
	breaks        int     // requests that change what was sent before
}

func (k *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request struct{ Messages []any }
	if err != nil || json.Unmarshal(body, &request) != nil || !strings.HasSuffix(r.URL.Path, "/messages") {
		http.Error(w, `{"error":{}}`, http.StatusBadRequest)
		return
	}
	now := make([]string, len(request.Messages))
	for i, m := range request.Messages {
		text, _ := json.Marshal(unmarked(m))
		now[i] = string(text)
	}
	k.mu.Lock()
	same := 0
	for same < min(len(now), len(k.before)) && now[same] == k.before[same] {
		same++
	}
	if same < len(k.before) {
		k.sum.breaks++
	}
	k.sum.bytes += len(body)
	for i, m := range now {
		n, known := k.sizes[m]
		if !known {
			n = k.count.Count(m)
			k.sizes[m] = n
		}
		k.sum.tokens += n
		if i < same {
			k.sum.cost += 0.1 * float64(n)
		} else {
			k.sum.cost += 1.25 * float64(n)
		}
	}
	k.before = now
	k.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, streamed)
}

// begin starts a session.
func (k *sink) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before, k.sizes = nil, map[string]int{}
}

// unmarked returns a JSON value without cache markers. A plain text becomes a block, as for the provider.
func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		if text, ok := v["content"].(string); ok {
			v["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		for name, value := range v {
			v[name] = unmarked(value)
		}
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	}
	return v
}

// sent sends the requests of sessions, one after another without pauses, through each proxy to a model of its own.
func sent(stet, dir string) error {
	sessions, err := longestSessions(*sessionsPath, *longest)
	if err != nil {
		return err
	}
	fmt.Printf("\n%d sessions with %d requests, without pauses:\n\n", len(sessions), countAll(sessions))
	fmt.Println("| through | MB | tokens | cost | requests that change what was sent | median request |\n|---|--:|--:|--:|--:|--:|")
	var direct received
	run := func(name string, start func(upstream string) (*hopSide, error)) error {
		k := &sink{count: tokens.EstimateFor("claude-sonnet-4-5"), sizes: map[string]int{}}
		up := httptest.NewServer(k)
		defer up.Close()
		side, err := start(up.URL)
		if err != nil {
			return err
		}
		if side.cmd != nil {
			defer func() { _ = side.cmd.Process.Kill(); _ = side.cmd.Wait() }()
		}
		k.sum = received{} // without the request that checked whether the proxy answers
		var took []time.Duration
		for _, requests := range sessions {
			k.begin()
			for _, body := range requests {
				began := time.Now()
				if err := side.post(body); err != nil {
					return err
				}
				took = append(took, time.Since(began))
			}
		}
		if name == "direct" {
			direct = k.sum
		}
		less := func(now, before float64) string { return fmt.Sprintf("%+.1f %%", 100*(now/before-1)) }
		fmt.Printf("| %s | %.1f | %s | %s | %d | %s |\n", name, float64(k.sum.bytes)/1e6, less(float64(k.sum.tokens), float64(direct.tokens)), less(k.sum.cost, direct.cost), k.sum.breaks, shown(took))
		return nil
	}
	if err := run("direct", func(upstream string) (*hopSide, error) { return &hopSide{name: "direct", url: upstream}, nil }); err != nil {
		return err
	}
	for _, policy := range []string{"lossless", "adaptive", "bold"} {
		if err := run("stet, `"+policy+"`", func(upstream string) (*hopSide, error) {
			home := filepath.Join(dir, policy)
			cmd := exec.Command(stet, "proxy", "--listen", "127.0.0.1:0", "--upstream-messages", upstream, "--policy", policy)
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
			s := &hopSide{name: "stet"}
			return s, s.start(cmd)
		}); err != nil {
			return err
		}
	}
	for _, p := range installed() {
		if err := run(p.name, func(upstream string) (*hopSide, error) { return p.side(upstream, dir) }); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err) // the other proxies can still be measured
		}
	}
	return nil
}

func countAll(sessions [][]string) (n int) {
	for _, s := range sessions {
		n += len(s)
	}
	return n
}

// longestSessions returns the bodies of the requests of the n sessions with most bytes.
func longestSessions(path string, n int) ([][]string, error) {
	var sessions []*transcript.Session
	err := (transcript.Opener{}).Walk([]string{path}, func(_ string, found []*transcript.Session, _ error) error {
		sessions = append(sessions, found...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	size := func(s *transcript.Session) (n int) {
		for i := range s.Messages {
			for _, p := range s.Messages[i].Parts {
				n += len(p.Text) + len(p.Args)
			}
		}
		return n
	}
	slices.SortStableFunc(sessions, func(a, b *transcript.Session) int { return cmp.Compare(size(b), size(a)) })
	var all [][]string
	for _, s := range sessions[:min(n, len(sessions))] {
		all = append(all, bodies(s, fmt.Sprint(len(all))))
	}
	return all, nil
}

// bodies returns the requests of a session in the form of the Messages API.
func bodies(s *transcript.Session, name string) (all []string) {
	start := 0
	for i := range s.Messages {
		m := &s.Messages[i]
		if slices.Contains(s.Starts, i) {
			start = i
		}
		if m.Role != llm.Assistant || m.Local || slices.Contains(s.Carried, i) {
			continue
		}
		if body := messagesBody(s.Messages[start:i], name); body != "" {
			all = append(all, body)
		}
	}
	return all
}

func messagesBody(messages []llm.Message, name string) string {
	type object = map[string]any
	var out []object
	for i := range messages {
		m := &messages[i]
		if m.Local {
			continue
		}
		role := "user"
		if m.Role == llm.Assistant {
			role = "assistant"
		}
		var blocks []any
		for _, p := range m.Parts {
			switch {
			case p.Kind == llm.Text && p.Text != "":
				blocks = append(blocks, object{"type": "text", "text": p.Text})
			case p.Kind == llm.ToolCall:
				var input object
				if json.Unmarshal([]byte(p.Args), &input) != nil || input == nil {
					input = object{"input": p.Args}
				}
				blocks = append(blocks, object{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": input})
			case p.Kind == llm.ToolResult:
				blocks = append(blocks, object{"type": "tool_result", "tool_use_id": p.CallID, "content": p.Text, "is_error": p.IsError})
			}
		}
		if len(blocks) > 0 {
			out = append(out, object{"role": role, "content": blocks})
		}
	}
	if len(out) == 0 {
		return ""
	}
	last := out[len(out)-1]["content"].([]any)
	last[len(last)-1].(object)["cache_control"] = object{"type": "ephemeral"}
	data, err := json.Marshal(object{
		"model": "claude-sonnet-4-5", "max_tokens": 100, "stream": true, "messages": out, "system": "You help.",
		"metadata": object{"user_id": `{"session_id":"` + name + `"}`},
		"tools":    []any{object{"name": "Read", "description": "reads a file", "input_schema": object{"type": "object"}}},
	})
	if err != nil {
		return ""
	}
	return string(data)
}
