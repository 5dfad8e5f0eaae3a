package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// open opens a WebSocket of the Responses API through the proxy.
func (r *rig) open(o *websocket.DialOptions) *websocket.Conn {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, r.url+"/v1/responses", o)
	if err != nil {
		r.t.Fatal(err)
	}
	c.SetReadLimit(-1)
	r.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// said is one event of an answer.
type said struct {
	Type, Lane string
	Status     int
	Error      struct{ Code string }
	Response   struct {
		ID     string
		Output []json.RawMessage
		Usage  *struct {
			InputTokens int `json:"input_tokens"`
		}
	}
}

// ask sends a request on a socket and returns the last event of its answer.
func ask(t *testing.T, c *websocket.Conn, body string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
		t.Fatal(err)
	}
	for {
		_, text, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var e said
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "response.completed", "error":
			return e
		}
	}
}

// readCall returns the item of a call that reads a file.
func readCall(i int) string {
	return fmt.Sprintf(`{"type":"function_call","call_id":"call_%d","name":"Read","arguments":"{\"file_path\":\"/home/me/project/a.go\"}"}`, i)
}

func readOutput(id string) string {
	text, _ := json.Marshal(content(20))
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%s}`, id, text)
}

// reader starts a scripted model that reads one file again and again.
func reader(t *testing.T) *llmtest.Server {
	t.Helper()
	s, err := strictmodel.Start(llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.ToolCall, Name: "Read", Args: `{"file_path":"/home/me/project/a.go"}`, CallID: fmt.Sprintf("call_%d", len(req.Messages))},
		}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// asked returns the requests that the model got.
func asked(model *llmtest.Server) (got []llmtest.Request) {
	for _, r := range model.Requests() {
		if r.Method == http.MethodPost {
			got = append(got, r)
		}
	}
	return got
}

func callOf(t *testing.T, e said) string {
	t.Helper()
	var item struct {
		CallID string `json:"call_id"`
	}
	if len(e.Response.Output) != 1 || json.Unmarshal(e.Response.Output[0], &item) != nil || item.CallID == "" {
		t.Fatalf("%+v", e)
	}
	return item.CallID
}

// Requests that continue a response, on a socket and by POST, are shortened like whole ones. The model sees the same
// conversation, and every request is recorded (WIRE-4).
func TestSocketFollowed(t *testing.T) {
	for _, way := range []string{"socket", "POST"} {
		t.Run(way, func(t *testing.T) {
			model := reader(t)
			r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses], c.History = model.URL, trim.Config{} })
			var open *websocket.Conn
			var next func(string) said
			if way == "socket" {
				c := r.open(nil)
				open = c
				next = func(body string) said {
					return ask(t, c, strings.Replace(body, `"store":true`, `"type":"response.create","store":false`, 1))
				}
			} else {
				next = func(body string) (e said) {
					status, answer := r.post("/v1/responses", body)
					if err := json.Unmarshal([]byte(answer), &e.Response); status != 200 || err != nil {
						t.Fatal(status, answer)
					}
					return e
				}
			}
			top := `{"store":true,"model":"model-a","instructions":"` + rules + `",`
			e := next(top + `"input":"read a file"}`)
			for range 4 {
				e = next(fmt.Sprintf(`%s"previous_response_id":%q,"input":[%s]}`, top, e.Response.ID, readOutput(callOf(t, e))))
			}
			shortened := 0
			for i, got := range asked(model) {
				if got.Decoded == nil || len(got.Decoded.Messages) != 2+2*i {
					t.Fatalf("request %d: status %d, %s", i, got.Status, got.Body)
				}
				if i > 1 && !strings.Contains(string(got.Body), "line 20 of a file") {
					shortened++
				}
			}
			if shortened != 2 { // a repeat that is asked for again is answered in full
				t.Errorf("%d requests are shortened", shortened)
			}
			if open != nil {
				_ = open.Close(websocket.StatusNormalClosure, "")
			}
			rows := r.rows()
			if len(rows) != 5 {
				t.Fatalf("%d rows", len(rows))
			}
			for _, row := range rows {
				if row.Status != 200 || row.Passed != "" || row.Cut || row.Usage.Prompt() == 0 || row.Model != "model-a" || row.Conversation != rows[0].Conversation {
					t.Errorf("row %+v", row)
				}
			}
		})
	}
}

// A client may open its conversation with a request that has no items and asks for no answer, and continue from there. Newer versions
// of Codex do (WIRE-4).
func TestSocketBeginsWithNothing(t *testing.T) {
	model := reader(t)
	r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses], c.History = model.URL, trim.Config{} })
	c := r.open(nil)
	top := `{"type":"response.create","store":false,"model":"model-a","instructions":"` + rules + `",`
	e := ask(t, c, top+`"generate":false,"input":[]}`)
	e = ask(t, c, fmt.Sprintf(`%s"previous_response_id":%q,"input":[{"type":"message","role":"user","content":"read a file"}]}`, top, e.Response.ID))
	for range 4 {
		e = ask(t, c, fmt.Sprintf(`%s"previous_response_id":%q,"input":[%s]}`, top, e.Response.ID, readOutput(callOf(t, e))))
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
	if !slices.ContainsFunc(asked(model), func(r llmtest.Request) bool { return strings.Contains(string(r.Body), "unchanged: shown above") }) {
		t.Error("nothing is shortened")
	}
	for _, row := range r.rows() {
		if row.Status != 200 || row.Passed != "" {
			t.Errorf("row %+v", row)
		}
	}
}

// A request that continues an unknown conversation passes unchanged. If the provider does not know it either, its refusal passes
// too (WIRE-4).
func TestSocketUnknown(t *testing.T) {
	model := reader(t)
	r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses] = model.URL })
	c := r.open(nil)
	body := `{"type":"response.create", "model":"m","previous_response_id":"resp_x","input":[` + readCall(1) + `,` + readOutput("call_1") + `]}`
	if e := ask(t, c, body); e.Type != "error" || e.Status != 400 || e.Error.Code != "previous_response_not_found" {
		t.Errorf("%+v", e)
	}
	if got := asked(model); len(got) != 1 || string(got[0].Body) != body {
		t.Errorf("%d requests, %s", len(got), got[0].Body)
	}
	for _, text := range []string{`{`, ``, `[]`, `{"type":"response.steer"}`, `null`} {
		if e := ask(t, c, text); e.Type != "error" {
			t.Errorf("%s: %+v", text, e)
		}
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
	if row := r.row(); row.Passed != "chained" || row.Status != 400 {
		t.Errorf("row %+v", row)
	}
}

// echo is an upstream that sends back what it gets. The message "close" makes it close the socket.
func echo(t *testing.T, seen func(*http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		w.Header().Set("X-Turn-State", "state")
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"two"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(-1)
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if string(text) == "close" {
				_ = c.Close(4321, "as told")
				return
			}
			if c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	})
}

// Frames, headers, subprotocols, close codes and reasons pass in both directions (WIRE-4, WIRE-8).
func TestSocketTransparent(t *testing.T) {
	var got *http.Request
	r := newRig(t, echo(t, func(r *http.Request) { got = r }), func(c *proxy.Config) { c.MaxBody = 1 << 20 })
	c, resp, err := websocket.Dial(t.Context(), r.url+"/v1/responses?x=%2F1", &websocket.DialOptions{
		HTTPHeader:   http.Header{"Authorization": {"Bearer key"}, "X-Own": {"a", "b"}, "Openai-Beta": {"responses_websockets=1"}},
		Subprotocols: []string{"one", "two"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	if got.Header.Get("Authorization") != "Bearer key" || len(got.Header["X-Own"]) != 2 || got.URL.RawQuery != "x=%2F1" || got.Header.Get("Openai-Beta") == "" {
		t.Errorf("%v %v", got.URL, got.Header)
	}
	if c.Subprotocol() != "two" || resp.Header.Get("X-Turn-State") != "state" {
		t.Errorf("%q %v", c.Subprotocol(), resp.Header)
	}
	large := strings.Repeat("x", 3<<20)
	for _, text := range []string{
		"", "text", `{"type": "response.cancel" }`, `{"type":"response.create","model":"m","input":"hi",  "unknown":[1.0]}`, "{\"type\":\n\"x\"}", large,
		`{"type":"response.create","input":"` + large + `"}`, "\x00",
	} {
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			if err := c.Write(t.Context(), kind, []byte(text)); err != nil {
				t.Fatal(err)
			}
			k, back, err := c.Read(t.Context())
			if err != nil || k != kind || string(back) != text {
				t.Fatalf("%.50q: %v, %d bytes, %v", text, k, len(back), err)
			}
		}
	}
	_ = c.Write(t.Context(), websocket.MessageBinary, []byte("close"))
	var closed websocket.CloseError
	if _, _, err := c.Read(t.Context()); !errors.As(err, &closed) || closed.Code != 4321 || closed.Reason != "as told" {
		t.Errorf("%v", err)
	}
}

// If the upstream refuses a socket, its answer passes. A host that is not allowed, and a page of another origin, get no socket.
func TestSocketRefused(t *testing.T) {
	for _, status := range []int{426, 401, 404, 500} {
		up := &recorder{answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Why", "no")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.Repeat("no ", 2000))
		}}
		r := newRig(t, up)
		ask := func(headers ...string) (int, http.Header, string) {
			return r.do("GET", "/v1/responses", nil, append(headers, "Connection", "Upgrade", "Upgrade", "websocket",
				"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")...)
		}
		got, header, answer := ask()
		if got != status || header.Get("X-Why") != "no" || answer != strings.Repeat("no ", 2000) {
			t.Errorf("%d: %d %v %.40q", status, got, header, answer)
		}
		for _, h := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}} {
			if got, _, _ := ask(h...); got != 403 {
				t.Errorf("%v: %d", h, got)
			}
		}
		if up.count() != 1 {
			t.Errorf("the upstream was asked %d times", up.count())
		}
	}
	r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses] = "http://127.0.0.1:1" })
	if _, resp, err := websocket.Dial(t.Context(), r.url+"/v1/responses", nil); err == nil || resp == nil || resp.StatusCode != 502 {
		t.Errorf("%v %v", resp, err)
	}
}

// If the upstream breaks off, the client's socket breaks off too, and the request is recorded as cut.
func TestSocketBroken(t *testing.T) {
	model := reader(t)
	model.Fail(llmtest.Fault{CutAfter: 3}, llmtest.Fault{Reset: true})
	r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses] = model.URL })
	for range 2 {
		c := r.open(nil)
		_ = c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"m","input":"hi"}`))
		for {
			if _, _, err := c.Read(t.Context()); err != nil {
				break
			}
		}
	}
	rows := r.rows()
	if len(rows) != 2 || !rows[0].Cut || !rows[1].Cut || rows[0].Status+rows[1].Status != 200+502 {
		t.Errorf("%+v", rows)
	}
}

// An error without a lane is the answer to the only request that waits.
func TestSocketErrorWithoutLane(t *testing.T) {
	r := newRig(t, echo(t, func(*http.Request) {}))
	c := r.open(nil)
	for _, text := range []string{`{"type":"response.create","stream_id":"a","model":"m","input":"hi"}`, `{"type":"error","status":429}`} {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if rows := r.rows(); len(rows) != 1 || rows[0].Status != 429 {
		t.Errorf("%+v", rows)
	}
}

// A proxy that closes lets an answer end, and closes sockets on which no request waits.
func TestSocketClosing(t *testing.T) {
	model := reader(t)
	r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses] = model.URL })
	c := r.open(nil)
	ask(t, c, `{"type":"response.create","model":"m","input":"hi"}`)
	ended := make(chan error, 1)
	go func() {
		_, _, err := c.Read(context.WithoutCancel(t.Context()))
		ended <- err
	}()
	r.close()
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Error(err)
	}
}

// Many sockets, with lanes, hostile messages and clients that go away at any time: each answer comes in its lane, and everything
// ends.
func TestSocketsAtOnce(t *testing.T) {
	model := reader(t)
	r := newRig(t, nil, func(c *proxy.Config) { c.Upstreams[llm.Responses], c.MaxBody = model.URL, 1<<20 })
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(i)))
			c, _, err := websocket.Dial(t.Context(), r.url+"/v1/responses", nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.CloseNow() }()
			c.SetReadLimit(-1)
			want, got := map[string]int{}, map[string]int{}
			for n := range 12 {
				lane := fmt.Sprint(random.IntN(3))
				body := fmt.Sprintf(`{"type":"response.create","stream_id":%q,"model":"m","store":false,"input":"%d %d"}`, lane, i, n)
				switch random.IntN(6) {
				case 0:
					body = body[:len(body)/2] // such a message is refused without a lane
					lane = ""
				case 1:
					body = strings.Replace(body, `"input":"`, `"input":"`+strings.Repeat("y", 2<<20), 1)
				}
				want[lane]++
				if err := c.Write(t.Context(), websocket.MessageText, []byte(body)); err != nil {
					t.Error(err)
					return
				}
			}
			if random.IntN(4) == 0 {
				return
			}
			for range 12 {
				for {
					_, text, err := c.Read(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					var e struct {
						Type string
						Lane string `json:"stream_id"`
					}
					if json.Unmarshal(text, &e) == nil && (e.Type == "response.completed" || e.Type == "error") {
						got[e.Lane]++
						break
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	group.Wait()
	for _, row := range r.rows() {
		if row.Passed != "" && row.Passed != "large" {
			t.Errorf("row %+v", row)
		}
	}
}
