package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

// perRequest is what each answer of spending reports, in tokens.
const perRequest = 1100

// spending is an upstream whose answers all cost the same. It counts them.
type spending struct{ answered atomic.Int64 }

func (u *spending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	u.answered.Add(1)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/v1/messages" {
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`)
		return
	}
	fmt.Fprint(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":100}}`)
}

const (
	newTurn = `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`
	inLoop  = `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a"},{"type":"text","text":"<system-reminder>be brief</system-reminder>"}]}]}`
)

// counted waits until n requests are counted: an agent may send the next one as soon as it has the whole answer.
func (r *rig) counted(n int) {
	r.t.Helper()
	for r.proxy.Totals().Requests < n {
		if r.t.Context().Err() != nil {
			r.t.Fatal("the test ends")
		}
		runtime.Gosched()
	}
}

func (r *rig) caps() []record.Cap {
	r.t.Helper()
	r.close()
	notes, err := r.store.Notes(r.t.Context(), record.NoteCap)
	if err != nil {
		r.t.Fatal(err)
	}
	all := make([]record.Cap, len(notes))
	for i, n := range notes {
		if err := json.Unmarshal([]byte(n.Text), &all[i]); err != nil {
			r.t.Fatal(err)
		}
	}
	return all
}

// LIVE-3: at the cap the next turn of the person is refused with a sentence, and a loop of tools goes on to its end; its overrun is said.
func TestCap(t *testing.T) {
	up := &spending{}
	var told []string
	r := newRig(t, up, func(c *proxy.Config) {
		c.Caps.Conversation = proxy.Amount{Tokens: 3 * perRequest}
		c.Tell = func(text string) { told = append(told, text) }
	})
	ask := func(session, body string) (int, string) {
		t.Helper()
		return r.post("/v1/messages", body, "X-Claude-Code-Session-Id", session)
	}
	for i, body := range []string{newTurn, inLoop, newTurn, inLoop, inLoop} {
		if status, answer := ask("one", body); status != 200 {
			t.Fatal(i, status, answer)
		}
		r.counted(i + 1)
	}
	status, answer := ask("one", newTurn)
	if want := `"stet: this conversation has spent 5500 tokens; the limit is 3300 tokens`; status != 402 || !strings.Contains(answer, want) {
		t.Errorf("%d %s", status, answer)
	}
	if status, _ := ask("two", newTurn); status != 200 {
		t.Error("another conversation is refused")
	}
	if status, answer := r.post("/v1/chat/completions", newTurn, "X-Session-Id", "one"); status != 400 || !strings.Contains(answer, "stet: this conversation has spent") {
		t.Errorf("the same conversation, in another format: %d %s", status, answer)
	}
	all := r.caps()
	if len(all) != 1 || all[0].Over != "2200 tokens" || all[0].Refused != 2 || all[0].Spent != "5500 tokens" || all[0].Client != "claude-code" {
		t.Errorf("%+v", all)
	}
	if len(told) != 1 || !strings.Contains(told[0], "fully spent") || r.proxy.Totals().Limits[told[0]] != 1 {
		t.Errorf("told %q, in the totals %v", told, r.proxy.Totals().Limits)
	}
	if up.answered.Load() != 6 {
		t.Errorf("%d requests went out", up.answered.Load())
	}
}

// LIVE-3: what was spent in earlier processes and by others counts; a day's cap is for all conversations; a note comes at 80 %.
func TestCapOfADay(t *testing.T) {
	store := new(recordtest.Memory)
	change := func(told *[]string) func(*proxy.Config) {
		return func(c *proxy.Config) {
			c.Store, c.Caps.Day = store, proxy.Amount{USD: 1}
			c.Tell = func(text string) { *told = append(*told, text) }
		}
	}
	row := recordtest.Full("other", "other", time.Now())
	row.Model, row.Usage = "claude-opus-5-5", record.Usage{Output: 30_000, Input: 1}
	for range 2 { // until 80 % is reached
		row.ID += "x"
		if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	r := newRig(t, &spending{}, change(&told))
	status, answer := r.post("/v1/messages", newTurn, "X-Claude-Code-Session-Id", "a")
	if status != 402 || !strings.Contains(answer, "today's requests have spent $") || !strings.Contains(answer, "limits.day") {
		t.Errorf("%d %s", status, answer)
	}
	r.close()
	store = new(recordtest.Memory)
	row.Usage.Output = 15_000
	for near := false; !near; row.ID += "y" { // each adds less than a fifth
		if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
			t.Fatal(err)
		}
		told = nil
		r = newRig(t, &spending{}, change(&told))
		if status, answer := r.post("/v1/messages", newTurn, "X-Claude-Code-Session-Id", row.ID); status != 200 {
			t.Fatalf("%d %s: told %q", status, answer, told)
		}
		r.close()
		if near = len(told) > 0; near && (len(told) != 1 || !strings.Contains(told[0], "nearly spent")) {
			t.Errorf("told %q", told)
		}
	}
}

// LIVE-3: with 20 sub-agents at once and hard = true, a tree is over its cap by at most the requests in flight; without it no loop ends.
func TestCapOfSubAgents(t *testing.T) {
	const agents, each, limit = 20, 15, 100 * perRequest
	for _, hard := range []bool{true, false} {
		up := &spending{}
		r := newRig(t, up, func(c *proxy.Config) { c.Caps = proxy.Caps{Tree: proxy.Amount{Tokens: limit}, Hard: hard} })
		var wg sync.WaitGroup
		var refused, ended atomic.Int64
		for i := range agents {
			wg.Go(func() {
				for n := range each {
					body := inLoop
					if n == 0 {
						body = newTurn
					}
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/messages", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("X-Claude-Code-Session-Id", "root")
					req.Header.Set("X-Claude-Code-Agent-Id", fmt.Sprint("agent-", i))
					resp, err := r.client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body) // at its end what it cost is known
					_ = resp.Body.Close()
					if resp.StatusCode == 402 {
						refused.Add(1)
						return
					}
				}
				ended.Add(1) // it was faster than the others
			})
		}
		wg.Wait()
		spent := int(up.answered.Load()) * perRequest
		switch {
		case hard && (spent < limit || spent > limit+agents*perRequest || refused.Load()+ended.Load() != agents || refused.Load() == 0):
			t.Errorf("hard: spent %d of %d, %d refused", spent, limit, refused.Load())
		case !hard && (spent != agents*each*perRequest || refused.Load() != 0):
			t.Errorf("spent %d, %d refused", spent, refused.Load())
		}
		t.Logf("hard %t: %d tokens spent of %d, %d of %d refused", hard, spent, limit, refused.Load(), agents)
		if status, _ := r.post("/v1/messages", newTurn, "X-Claude-Code-Session-Id", "root"); status != 402 {
			t.Errorf("hard %t: the next turn: %d", hard, status)
		}
		all, over := r.caps(), 0
		if len(all) != 1 || all[0].Share < 1 || hard != (all[0].Over == "") {
			t.Fatalf("hard %t: %+v", hard, all)
		}
		// Without hard the overrun of all loops is shown. What was under way when the limit was reached may be in it or not.
		if _, err := fmt.Sscanf(all[0].Over, "%d tokens", &over); !hard && (err != nil || over < spent-limit-agents*perRequest || over > spent-limit) {
			t.Errorf("%v, %d of %d: %+v", err, over, spent-limit, all)
		}
	}
}

// A person's stop holds for a conversation with all its sub-agents, also in a loop of tools, until it is taken back.
func TestStop(t *testing.T) {
	r := newRig(t, &spending{})
	stop := func(text string) {
		t.Helper()
		err := r.store.Append(t.Context(), record.Batch{Notes: []record.Note{{Kind: record.NoteStop, Key: "root", Text: text, Time: time.Now()}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := func(want int, headers ...string) {
		t.Helper()
		if status, answer := r.post("/v1/messages", inLoop, headers...); status != want || want != 200 && !strings.Contains(answer, "stopped by a person") {
			t.Errorf("%v: %d %s", headers, status, answer)
		}
	}
	stop("{}")
	ask(402, "X-Claude-Code-Session-Id", "root")
	ask(402, "X-Claude-Code-Session-Id", "root", "X-Claude-Code-Agent-Id", "sub")
	ask(402, "X-Session-Id", "child", "X-Parent-Session-Id", "root")
	ask(200, "X-Session-Id", "other")
	r.close()
	rows := r.rows()
	if len(rows) != 4 || rows[2].Root != "root" || rows[2].Status != 402 || rows[2].BytesOut != 0 {
		t.Errorf("%+v", rows)
	}
	stop("") // another process begins without the stop
	r = newRig(t, &spending{}, func(c *proxy.Config) { c.Store = r.store })
	ask(200, "X-Claude-Code-Session-Id", "root")
}

// A refusal goes through a WebSocket as an event.
func TestCapOnASocket(t *testing.T) {
	model := reader(t)
	r := newRig(t, http.NotFoundHandler(), func(c *proxy.Config) {
		c.Upstreams[llm.Responses], c.Caps.Conversation = model.URL+"/v1", proxy.Amount{Tokens: 1}
	})
	c := r.open(&websocket.DialOptions{HTTPHeader: http.Header{"Session_id": {"s"}}})
	body := `{"type":"response.create","model":"gpt-5.5","input":[{"role":"user","content":"hello"}]}`
	if e := ask(t, c, body); e.Type != "response.completed" {
		t.Fatalf("%+v", e)
	}
	r.counted(1)
	if e := ask(t, c, body); e.Type != "error" || e.Status != 400 || e.Error.Code != "stopped_by_stet" {
		t.Errorf("%+v", e)
	}
	if n := len(asked(model)); n > 1 {
		t.Errorf("%d", n)
	}
}

// LIVE-1: a conversation of the holdout goes out as it came, for life: with its sub-agents, its forks, and after a restart.
func TestHoldout(t *testing.T) {
	up := &recorder{}
	store := new(recordtest.Memory)
	held := func(name string) bool { return strings.HasPrefix(name, "held") }
	start := func(holdout func(string) bool) *rig {
		return newRig(t, up, func(c *proxy.Config) {
			c.Store, c.Holdout, c.History = store, holdout, trim.Config{Policy: trim.Adaptive}
		})
	}
	body := func(first string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"model":%q,"max_tokens":9,"system":%q,"messages":[{"role":"user","content":%q}`, "claude-sonnet-4-5", rules, first)
		for i := range 2 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"call_%d","name":"Read","input":{"file_path":"/home/me/project/a.go"}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d","content":%q}]}`, i, content(20))
		}
		return b.String() + "]}"
	}
	send := func(r *rig, first string, whole bool, headers ...string) {
		t.Helper()
		sent := body(first)
		if status, answer := r.post("/v1/messages", sent, headers...); status != 200 {
			t.Fatal(status, answer)
		}
		if got := string(up.last(t).body) == sent; got != whole {
			t.Errorf("%v: went out as it came: %t", headers, got)
		}
	}
	r := start(held)
	send(r, "1", true, "X-Claude-Code-Session-Id", "held-1")
	send(r, "2", true, "X-Claude-Code-Session-Id", "held-1", "X-Claude-Code-Agent-Id", "sub")
	send(r, "3", true, "X-Session-Id", "child", "X-Parent-Session-Id", "held-1")
	send(r, "1", true, "X-Claude-Code-Session-Id", "fork")
	send(r, "4", false, "X-Claude-Code-Session-Id", "treated")
	send(r, "5", false, "X-Session-Id", "held-child", "X-Parent-Session-Id", "treated")
	send(r, "6", false) // without a name there is no group
	r.close()
	r = start(func(string) bool { return false }) // the rule changed; what has begun goes on
	send(r, "1", true, "X-Claude-Code-Session-Id", "held-1")
	send(r, "7", false, "X-Claude-Code-Session-Id", "held-2")
	r.close()
	rows, err := store.Requests(t.Context(), record.Query{})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, row := range rows {
		groups[row.Conversation] = row.Holdout
		if row.Holdout == record.HeldOut && (row.Policy != "off" || row.Passed != "holdout") {
			t.Errorf("%+v", row)
		}
	}
	for name, want := range map[string]string{"held-1": record.HeldOut, "child": record.HeldOut, "fork": record.HeldOut, "treated": record.Treated, "held-child": record.Treated, "held-2": record.Treated} {
		if groups[name] != want {
			t.Errorf("%s is %q, want %q", name, groups[name], want)
		}
	}
}

// meters closes the proxy and returns the limits of subscriptions that it has noted, by provider and limit.
func (r *rig) meters() map[string]record.Meter {
	r.t.Helper()
	r.close()
	notes, err := r.store.Notes(r.t.Context(), record.NoteMeter)
	if err != nil {
		r.t.Fatal(err)
	}
	got := map[string]record.Meter{}
	for _, n := range notes {
		var m record.Meter
		if err := json.Unmarshal([]byte(n.Text), &m); err != nil || strings.Contains(n.Key+n.Text, "secret") {
			r.t.Errorf("%+v: %v", n, err)
		}
		got[m.Provider+" "+m.Limit] = m
	}
	return got
}

// limitEnds is a time at which a subscription's limit may begin anew.
var limitEnds = time.Now().Add(3 * time.Hour).Truncate(time.Second).UTC()

// The limits of a subscription are noted as the provider says them, by account. A reset that has passed is one. What cannot be a limit's share is
// passed over, and what cannot be its reset is none.
func TestMeters(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{
			"anthropic-ratelimit-unified-5h-utilization": "0.42", "anthropic-ratelimit-unified-5h-reset": fmt.Sprint(limitEnds.Unix()),
			"anthropic-ratelimit-unified-7d-utilization": "1.02", "anthropic-ratelimit-unified-7d-reset": fmt.Sprint(limitEnds.Add(-4 * time.Hour).Unix()),
			"anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-9d-reset": fmt.Sprint(limitEnds.Unix()),
			"anthropic-ratelimit-unified-a-utilization": "0.1", "anthropic-ratelimit-unified-a-reset": "999999999999",
			"anthropic-ratelimit-unified-b-utilization": "0.1", "anthropic-ratelimit-unified-b-reset": "tomorrow",
			"anthropic-ratelimit-unified-c-utilization": "0.1", "anthropic-ratelimit-unified-c-reset": "-9223372036854775808",
			"anthropic-ratelimit-unified-d-utilization": "0.1", "anthropic-ratelimit-unified-d-reset": "0",
			"anthropic-ratelimit-unified-e-utilization": "",
			"x-codex-primary-used-percent":              "31.5", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": fmt.Sprint(limitEnds.Unix() + 300),
			"x-codex-secondary-used-percent": "7", "x-codex-secondary-window-minutes": "10080", "x-codex-other-primary-used-percent": "NaN",
			"anthropic-ratelimit-unified-1d-utilization": "-0.1", "anthropic-ratelimit-unified-2d-utilization": "1e300", "anthropic-ratelimit-unified-3d-utilization": strings.Repeat("9", 5000),
		} {
			h.Set(name, value)
		}
		(&spending{}).ServeHTTP(w, r)
	})
	r := newRig(t, up)
	for range 2 {
		if status, _ := r.post("/v1/messages", newTurn, "Authorization", "Bearer secret"); status != 200 {
			t.Fatal(status)
		}
	}
	got := r.meters()
	want := map[string]record.Meter{
		"anthropic 5h": {Provider: "anthropic", Limit: "5h", Used: 0.42, Reset: limitEnds},
		"anthropic 7d": {Provider: "anthropic", Limit: "7d", Used: 1.02, Reset: limitEnds.Add(-4 * time.Hour)},
		"codex 5h":     {Provider: "codex", Limit: "5h", Used: 0.315, Reset: limitEnds.Add(5 * time.Minute)},
		"codex 7d":     {Provider: "codex", Limit: "7d", Used: 0.07},
	}
	for _, limit := range []string{"a", "b", "c", "d"} { // no time, or none of a limit
		want["anthropic "+limit] = record.Meter{Provider: "anthropic", Limit: limit, Used: 0.1}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Over a socket the provider says the limits of a subscription in an event, which passes on as it came.
func TestMetersOfASocket(t *testing.T) {
	r := newRig(t, echo(t, func(*http.Request) {}))
	c := r.open(&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer secret"}}})
	for _, event := range []string{
		`{"type":"codex.rate_limits","plan_type":"plus","rate_limits":{"allowed":true,"primary":{"used_percent":31.5,"window_minutes":300,"reset_at":` + fmt.Sprint(limitEnds.Unix()) + `},"secondary":{"used_percent":6,"window_minutes":10080}}}`,
		`{"type":"codex.rate_limits","rate_limits":{"primary":{"used_percent":"?"},"secondary":{"used_percent":7,"window_minutes":10080,"reset_at":"soon"}}}`,
		`{"type":"codex.rate_limits","metered_limit_name":"codex_other","rate_limits":{"primary":{"used_percent":50,"window_minutes":60,"reset_at":1e300},"secondary":null}}`,
		`{"type":"codex.rate_limits","rate_limits":{"primary":{"window_minutes":300},"secondary":[7]}}`,
		`{"type":"codex.rate_limits","rate_limits":"none"}`,
		`{"type":"codex.rate_limits"}`,
	} {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(event)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := c.Read(t.Context()); err != nil || string(got) != event {
			t.Errorf("%s, %v", got, err)
		}
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
	want := map[string]record.Meter{
		"codex 5h":                     {Provider: "codex", Limit: "5h", Used: 0.315, Reset: limitEnds},
		"codex 7d":                     {Provider: "codex", Limit: "7d", Used: 0.07},
		"codex codex-other-primary 1h": {Provider: "codex", Limit: "codex-other-primary 1h", Used: 0.5},
	}
	if got := r.meters(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// unanswered is a store that does not say what the conversation "two" has spent before it may.
type unanswered struct {
	record.Store
	asked, may chan struct{}
}

func (u *unanswered) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	if q.Tree == "two" {
		close(u.asked)
		<-u.may
	}
	return u.Store.Requests(ctx, q)
}

// LIVE-3: while the store is asked what a conversation has spent, others go on, and then its cap holds.
func TestCapsWaitForNoOtherConversation(t *testing.T) {
	store := &unanswered{new(recordtest.Memory), make(chan struct{}), make(chan struct{})}
	row := recordtest.Full("earlier", "two", time.Now().Add(-48*time.Hour))
	row.Agent, row.Root = "", ""
	if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, &spending{}, func(c *proxy.Config) {
		c.Store, c.Caps.Conversation = store, proxy.Amount{Tokens: 3}
	})
	ask := func(session string) int {
		status, _ := r.post("/v1/messages", newTurn, "X-Claude-Code-Session-Id", session)
		return status
	}
	if status := ask("one"); status != 200 {
		t.Fatal(status)
	}
	r.counted(1)
	two := make(chan int)
	go func() { two <- ask("two") }()
	<-store.asked
	if status := ask("one"); status != 402 {
		t.Error(status)
	}
	close(store.may)
	if status := <-two; status != 402 {
		t.Error(status)
	}
}
