package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// The totals of a run count a read and a shortened result once, although they stand in many requests of their conversation.
func TestTotals(t *testing.T) {
	r := newRig(t, &recorder{}, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Lossless} })
	for _, first := range []string{"task 1", "task 2"} {
		for reads := range 4 {
			r.post("/v1/messages", conversation(first, reads))
		}
	}
	r.post("/v1/messages", conversation("task 1", 4), "X-Claude-Code-Session-Id", "s", "X-Claude-Code-Agent-Id", "a")
	r.post("/v1/messages/count_tokens", conversation("task 1", 3))
	r.post("/v1/messages", `{"messages":`)
	r.post("/v1/responses", `{"model":"m","previous_response_id":"r1","input":"go on"}`)
	r.do("HEAD", "/", nil)
	r.do("GET", "/v1/models?limit=2", nil)
	r.do("GET", "/v1/models", nil)
	rows := r.rows()
	got := r.proxy.Totals()
	want := proxy.Totals{
		Requests: 11, Conversations: 3, Unpriced: 11, // no model has a known name
		ByAPI:     map[string]int{llm.Messages: 10, llm.Responses: 1, record.CountTokens: 1},
		Passed:    map[string]int{"malformed": 1, "chained": 1},
		Through:   map[string]int{"/": 1, "/v1/models": 2},
		Reads:     3 + 3 + 4,
		Shortened: map[string]int{"repeat": 1 + 1 + 2}, // a repeated read that is asked for again gets the full text
	}
	for _, row := range rows {
		want.TokensOff, want.Tokens = want.TokensOff+row.TokensOff, want.Tokens+row.Tokens
	}
	if !reflect.DeepEqual(got, want) || got.Tokens >= got.TokensOff {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	got.Through["/"] = 9
	if again := r.proxy.Totals(); !reflect.DeepEqual(again, want) {
		t.Errorf("the caller's change is in the next answer: %+v", again)
	}
}

// The totals have a limited number of paths, and of each a limited length.
func TestTotalsBounded(t *testing.T) {
	r := newRig(t, &recorder{})
	for i := range 30 {
		r.do("GET", fmt.Sprint("/p", i, strings.Repeat("x", 1000)), nil)
	}
	r.close()
	got := r.proxy.Totals().Through
	if len(got) != 21 || got[proxy.OtherPaths] != 10 {
		t.Errorf("%d paths, %d others", len(got), got[proxy.OtherPaths])
	}
	for path := range got {
		if len(path) > 210 {
			t.Errorf("a path of %d bytes", len(path))
		}
	}
}

// What stet answers with an error of its own is counted apart from the errors of providers, with the newest reason.
func TestTotalsOfOwnErrors(t *testing.T) {
	r := newRig(t, &recorder{answer: func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/v1/responses" {
			panic(http.ErrAbortHandler)
		}
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}})
	for _, step := range []struct {
		path    string
		refused int
		why     string
	}{
		{"/v1/messages", 0, ""},
		{"/v1/responses", 1, "no answer from http://"},
		{"/v1/unknown", 1, "no answer from http://"}, // the upstream answers it
	} {
		r.post(step.path, conversation("task", 1))
		if got := r.proxy.Totals(); got.Refused != step.refused || !strings.HasPrefix(got.Why, step.why) {
			t.Errorf("%s: %d %q", step.path, got.Refused, got.Why)
		}
	}
	if _, _, err := websocket.Dial(t.Context(), r.url+"/v1/responses", nil); err == nil {
		t.Error("a WebSocket was opened")
	}
	r.do("POST", "/v1/messages", nil, "Host", "other.example")
	r.close()
	if got := r.proxy.Totals(); got.Requests != 2 || got.Errors != 2 || got.Refused != 3 || !strings.HasSuffix(got.Why, "start stet with this host allowed") {
		t.Errorf("%+v", got)
	}
}

// LIVE-2: what the next request of a conversation costs goes by its own newest request, and not by one for a title that a small model answered after it.
func TestNewestIsNotBeside(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		prompt := 100_000
		if strings.Contains(string(body), "haiku") {
			prompt = 500
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":9}}`, prompt)
	})
	r := newRig(t, up)
	const title = `{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"find a title"}]}`
	for i, body := range []string{newTurn, title} {
		if status, answer := r.post("/v1/messages", body, "X-Claude-Code-Session-Id", "s"); status != 200 {
			t.Fatal(status, answer)
		}
		r.counted(i + 1)
	}
	if newest := r.proxy.Totals().Newest; newest.Model != "claude-opus-5-5" || newest.Usage.Input != 100_000 {
		t.Errorf("%+v", newest)
	}
	if status, _ := r.post("/v1/messages", title, "X-Claude-Code-Session-Id", "another"); status != 200 {
		t.Fatal(status)
	}
	r.counted(3)
	if newest := r.proxy.Totals().Newest; newest.Conversation != "another" {
		t.Errorf("%+v", newest)
	}
}
