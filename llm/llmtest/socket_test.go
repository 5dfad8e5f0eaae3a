package llmtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// socketRig is a model with WebSockets to it. The model answers with the texts that it received.
type socketRig struct {
	t      *testing.T
	server *llmtest.Server
	socket *websocket.Conn
}

// socketAnswer is the end of an answer: its text, or an error code.
type socketAnswer struct {
	text, code string
	lane       string
	id         string
}

func newSocketRig(t *testing.T) *socketRig {
	t.Helper()
	server, err := strictmodel.Start(llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
		var words []string
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				words = append(words, p.Text)
			}
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "(" + strings.Join(words, " ") + ")"}}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	r := &socketRig{t: t, server: server}
	r.socket = r.open()
	return r
}

func (r *socketRig) open() *websocket.Conn {
	r.t.Helper()
	c, _, err := websocket.Dial(r.t.Context(), r.server.URL+"/v1/responses", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// ask sends a request with the given members on a socket, and reads the whole answer.
func (r *socketRig) ask(c *websocket.Conn, members string) socketAnswer {
	r.t.Helper()
	return r.send(c, `{"type":"response.create","model":"m",`+members+`}`)
}

func (r *socketRig) send(c *websocket.Conn, message string) socketAnswer {
	r.t.Helper()
	if err := c.Write(r.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		r.t.Fatal(err)
	}
	for {
		_, text, err := c.Read(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		var e struct {
			Type     string
			Lane     string `json:"stream_id"`
			Error    struct{ Code string }
			Response struct {
				ID     string
				Output []struct{ Content []struct{ Text string } }
			}
		}
		if err := json.Unmarshal(text, &e); err != nil {
			r.t.Fatal(err)
		}
		switch e.Type {
		case "error":
			return socketAnswer{code: e.Error.Code, lane: e.Lane}
		case "response.completed":
			a := socketAnswer{id: e.Response.ID, lane: e.Lane}
			for _, o := range e.Response.Output {
				for _, c := range o.Content {
					a.text += c.Text
				}
			}
			return a
		}
	}
}

func input(word string) string { return fmt.Sprintf(`"input":[{"role":"user","content":%q}]`, word) }

func goesOn(a socketAnswer, word string) string {
	return fmt.Sprintf(`"previous_response_id":%q,`, a.id) + input(word)
}

// The rules of the Responses API over a WebSocket, from the page "WebSocket mode",
// developers.openai.com/api/docs/guides/websocket-mode. Where that page is not clear, the server does what the npm version of
// Codex expects.
func TestSocketRules(t *testing.T) {
	const kept = `"store":false,`
	for _, c := range []struct {
		rule string
		test func(r *socketRig) socketAnswer
		want socketAnswer
	}{
		{"response.create has the body of a POST; the answer is its events", func(r *socketRig) socketAnswer {
			return r.ask(r.socket, input("one"))
		}, socketAnswer{text: "(one)"}},
		{"a later request names the last answer, and has what is new alone", func(r *socketRig) socketAnswer {
			return r.ask(r.socket, goesOn(r.ask(r.socket, input("one")), "two"))
		}, socketAnswer{text: "(one (one) two)"}},
		{"so too if nothing is stored: the socket knows its last answer", func(r *socketRig) socketAnswer {
			return r.ask(r.socket, kept+goesOn(r.ask(r.socket, kept+input("one")), "two"))
		}, socketAnswer{text: "(one (one) two)"}},
		{"but not the one before", func(r *socketRig) socketAnswer {
			first := r.ask(r.socket, kept+input("one"))
			r.ask(r.socket, kept+goesOn(first, "two"))
			return r.ask(r.socket, kept+goesOn(first, "other"))
		}, socketAnswer{code: "previous_response_not_found"}},
		{"what was not stored no other socket knows", func(r *socketRig) socketAnswer {
			return r.ask(r.open(), kept+goesOn(r.ask(r.socket, kept+input("one")), "two"))
		}, socketAnswer{code: "previous_response_not_found"}},
		{"what was stored every socket knows", func(r *socketRig) socketAnswer {
			return r.ask(r.open(), goesOn(r.ask(r.socket, input("one")), "two"))
		}, socketAnswer{text: "(one (one) two)"}},
		{"and so does a POST", func(r *socketRig) socketAnswer {
			body := `{"model":"m",` + goesOn(r.ask(r.socket, input("one")), "two") + `}`
			resp, err := http.Post(r.server.URL+"/v1/responses", "application/json", strings.NewReader(body))
			if err != nil {
				r.t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			var got struct {
				Output []struct{ Content []struct{ Text string } }
			}
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got.Output) != 1 {
				r.t.Fatal(err, got)
			}
			return socketAnswer{text: got.Output[0].Content[0].Text}
		}, socketAnswer{text: "(one (one) two)"}},
		{"after a refusal all is sent again, and the socket goes on", func(r *socketRig) socketAnswer {
			r.ask(r.socket, kept+goesOn(socketAnswer{id: "resp_gone"}, "two"))
			return r.ask(r.socket, kept+`"previous_response_id":null,`+input("one, two"))
		}, socketAnswer{text: "(one, two)"}},
		{"with generate: false there is no answer, and a later request goes on from there", func(r *socketRig) socketAnswer {
			warm := r.ask(r.socket, kept+`"generate":false,"input":[]`)
			if warm.id == "" || warm.text != "" {
				r.t.Errorf("%+v", warm)
			}
			return r.ask(r.socket, kept+goesOn(warm, "one"))
		}, socketAnswer{text: "(one)"}},
		{"events are in the lane of their request (stream_id)", func(r *socketRig) socketAnswer {
			return r.ask(r.socket, `"stream_id":"a",`+input("one"))
		}, socketAnswer{text: "(one)", lane: "a"}},
		{"a lane may go on from the last answer of another one", func(r *socketRig) socketAnswer {
			first := r.ask(r.socket, kept+`"stream_id":"a",`+input("one"))
			r.ask(r.socket, kept+`"stream_id":"b",`+goesOn(first, "two"))
			return r.ask(r.socket, kept+`"stream_id":"c",`+goesOn(first, "three"))
		}, socketAnswer{text: "(one (one) three)", lane: "c"}},
		{"an event of another type is an error, and the socket goes on", func(r *socketRig) socketAnswer {
			if a := r.send(r.socket, `{"type":"response.undo"}`); a.code != "invalid_event" {
				r.t.Errorf("%+v", a)
			}
			return r.ask(r.socket, input("one"))
		}, socketAnswer{text: "(one)"}},
		{"what is no JSON is an error", func(r *socketRig) socketAnswer {
			return r.send(r.socket, "{")
		}, socketAnswer{code: "invalid_event"}},
		{"messages are texts", func(r *socketRig) socketAnswer {
			_ = r.socket.Write(r.t.Context(), websocket.MessageBinary, []byte("{}"))
			_, _, err := r.socket.Read(r.t.Context())
			var closed websocket.CloseError
			if !errors.As(err, &closed) {
				r.t.Fatal(err)
			}
			return socketAnswer{code: closed.Code.String()}
		}, socketAnswer{code: websocket.StatusUnsupportedData.String()}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := c.test(newSocketRig(t))
			got.id = ""
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(socketAnswer{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
