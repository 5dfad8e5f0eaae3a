package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/test/strictmodel"
)

// onSocket is a player that uses a WebSocket, as Codex does. A request has only what is new after the answer before. The first
// request on a new socket has everything.
type onSocket struct {
	*player
	body     map[string]json.RawMessage
	items    []json.RawMessage // the items of the conversation
	known    int               // how many of these the socket has
	previous string            // the id of the answer before; empty: the socket has none
	conn     *websocket.Conn   // nil: none is open
	lost     int               // number of sockets that broke
}

func newOnSocket(t *testing.T) *onSocket {
	t.Helper()
	p := &onSocket{player: newPlayer(2)}
	p.say("Look at beds.py.")
	body, err := openai.Responses{}.Encode(&p.req)
	if err == nil {
		err = json.Unmarshal(body, &p.body)
	}
	if err == nil {
		err = json.Unmarshal(p.body["input"], &p.items)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(p.body, "stream")
	p.body["type"], p.body["store"] = json.RawMessage(`"response.create"`), json.RawMessage("false")
	return p
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// turn sends a request, and does what the answer asks for. It calls sent after the request is written. It reports whether the
// session continues, which is also true if the socket broke.
func (p *onSocket) turn(t *testing.T, base string, sent func()) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if p.conn == nil {
		conn, _, err := websocket.Dial(ctx, base+"/v1/responses", nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(-1)
		p.conn, p.previous, p.known = conn, "", 0
	}
	p.body["input"] = raw(t, p.items[p.known:])
	delete(p.body, "previous_response_id")
	if p.previous != "" {
		p.body["previous_response_id"] = raw(t, p.previous)
	}
	broken := func() bool {
		_ = p.conn.CloseNow() // it is broken
		p.conn = nil
		p.lost++
		return true
	}
	if err := p.conn.Write(ctx, websocket.MessageText, raw(t, p.body)); err != nil {
		return broken()
	}
	sent()
	var event struct {
		Type     string
		Response struct {
			ID     string
			Output []json.RawMessage
		}
	}
	for event.Type != "response.completed" {
		_, text, err := p.conn.Read(ctx)
		if err != nil {
			return broken()
		}
		if err := json.Unmarshal(text, &event); err != nil || event.Type == "error" || event.Type == "response.failed" {
			t.Fatalf("%v: %s", err, text)
		}
	}
	p.turns++
	p.items = append(p.items, event.Response.Output...)
	p.known, p.previous = len(p.items), event.Response.ID
	for _, item := range event.Response.Output {
		var call struct {
			Type, Name, Arguments string
			CallID                string `json:"call_id"`
		}
		if err := json.Unmarshal(item, &call); err != nil {
			t.Fatal(err)
		}
		if call.Type == "function_call" {
			p.items = append(p.items, raw(t, map[string]string{
				"type": "function_call_output", "call_id": call.CallID, "output": p.do(llm.Part{Name: call.Name, Args: call.Arguments}),
			}))
		}
	}
	return len(p.items) > p.known
}

// A session over sockets continues if the proxy is killed while they are open, also in the middle of an answer. The model refuses
// nothing, and gets earlier messages again in the same form (WIRE-4).
func TestSocketsKilled(t *testing.T) {
	play := func(policy string) (files string, requests []llmtest.Request, lost int) {
		m := model(t, strictmodel.NewAccount)
		base, home := m.URL, t.TempDir()
		var proxy *process
		if policy != "" {
			proxy = start(t, home, "", m.URL, policy)
			base = proxy.base
		}
		kill := func() {
			if proxy != nil {
				proxy.end(syscall.SIGKILL)
				proxy = start(t, home, "", m.URL, policy)
				base = proxy.base
			}
		}
		p := newOnSocket(t)
		killed := map[string]bool{}
		once := func(name string, turn int) {
			if p.turns == turn && !killed[name] {
				killed[name] = true
				kill()
			}
		}
		for more := true; more; {
			once("idle", 3)
			once("idle later", 10)
			more = p.turn(t, base, func() { once("in an answer", 6) })
		}
		_ = p.conn.Close(websocket.StatusNormalClosure, "") // the model or the proxy may close it first
		return p.files["beds.py"] + p.files["NOTES.md"], m.Requests(), p.lost
	}
	largest := func(requests []llmtest.Request) (n int) {
		for _, r := range requests {
			if r.Status >= http.StatusBadRequest {
				t.Errorf("the model refused a request: %d", r.Status)
			}
			if r.Decoded != nil {
				n = max(n, len(fmt.Sprint(r.Decoded.Messages)))
			}
		}
		return n
	}
	want, direct, _ := play("")
	for _, policy := range []string{"lossless", "adaptive"} {
		t.Run(policy, func(t *testing.T) {
			files, requests, lost := play(policy)
			if diff := cmp.Diff(want, files); diff != "" {
				t.Error(diff)
			}
			if lost < 2 {
				t.Errorf("%d sockets broke", lost)
			}
			if n := breaks(requests); n != 0 {
				t.Errorf("%d requests have another beginning than before", n)
			}
			if whole, short := largest(direct), largest(requests); short >= whole {
				t.Errorf("nothing is shortened: %d characters, %d without stet", short, whole)
			}
		})
	}
	if !strings.Contains(want, "WATER_LEVEL = 8") {
		t.Error("the session did not end as it should")
	}
}
