package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// gatewaySession is an agent's conversation over Chat Completions, with a gateway that passes thinking on.
type gatewaySession struct {
	s        *strict
	model    string
	messages []string
	strips   bool // the client sends no thinking
	lines    int  // of a command's output, each different; 0: 60 equal lines
}

// behindGateway puts a gateway with Chat Completions in front of the provider.
func (s *strict) behindGateway() {
	s.t.Helper()
	_ = s.model.Close() // the model got no requests
	var err error
	if s.model, err = strictmodel.Start(llmtest.Config{Listener: new(llmtest.Memory), Handler: s.answer, Rules: &strictmodel.Rules{Gateway: true}}); err != nil {
		s.t.Fatal(err)
	}
	s.config.Upstreams = llm.Upstreams{llm.Chat: "http://model.test"}
}

func (a *gatewaySession) fork() *gatewaySession {
	b := *a
	b.messages = slices.Clone(a.messages)
	return &b
}

func (a *gatewaySession) body() string {
	const tool = `{"type":"function","function":{"name":%q,"parameters":{}}}`
	messages := strings.Join(a.messages, ",")
	if a.strips {
		messages = strings.ReplaceAll(messages, `"reasoning_details"`, `"left_out"`)
	}
	return fmt.Sprintf(`{"model":%q,"tools":[`+tool+`,`+tool+`],"messages":[{"role":"system","content":%q},%s]}`,
		a.model, "Bash", "Read", "You help. "+strings.Repeat("Follow the rule. ", 400), messages)
}

// rounds sends n requests to h, and does what the model asks for.
func (a *gatewaySession) rounds(n int, h http.Handler) {
	a.s.t.Helper()
	for range n {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(a.s.t.Context(), http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(a.body())))
		if w.Code != 200 {
			a.s.t.Errorf("with %d messages: %d %s", len(a.messages), w.Code, w.Body)
			return
		}
		var got struct {
			Choices []struct{ Message json.RawMessage }
		}
		var said struct {
			Calls []struct {
				ID       string
				Function struct{ Name string }
			} `json:"tool_calls"`
		}
		if err := cmp.Or(json.Unmarshal(w.Body.Bytes(), &got), json.Unmarshal(got.Choices[0].Message, &said)); err != nil {
			a.s.t.Fatal(err)
		}
		text := strings.Repeat(fmt.Sprintf("ok: built one more of the %d targets\n", len(a.messages)), 60)
		if a.lines > 0 {
			text = ""
			for i := range a.lines {
				text += fmt.Sprintf("ok %d: built target %d\n", len(a.messages), i)
			}
		}
		if said.Calls[0].Function.Name == "Read" {
			text = ""
			for i := range 40 {
				text += fmt.Sprintf("%6d\tline %d of a file that is read more than once\n", i+1, i+1)
			}
		}
		a.messages = append(a.messages, string(got.Choices[0].Message), fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, said.Calls[0].ID, text))
		time.Sleep(10 * time.Second)
	}
}

// WIRE-1, WIRE-2: a gateway with Chat Completions is a client of a provider that checks what stands before thinking. Its requests
// are refused like those of others. So messages that were sent through it are sent in the same form in every later request.
func TestGatewayBinds(t *testing.T) {
	for _, model := range []string{"anthropic/claude-opus-5.5", "my-alias"} {
		for _, policy := range []trim.Policy{trim.Adaptive, trim.Bold, trim.KeepLatest} {
			t.Run(model+" "+string(policy), func(t *testing.T) {
				strictly(t, func(s *strict) {
					s.behindGateway()
					s.config.History.Policy = policy
					long := func() { time.Sleep(62 * time.Minute); synctest.Wait() }
					a, p := &gatewaySession{s: s, model: model, messages: []string{`{"role":"user","content":"go on"}`}}, s.proxy()
					a.rounds(14, p)
					long()
					a.rounds(4, p)
					b := a.fork()
					long()
					if err := p.Close(context.Background()); err != nil {
						t.Error(err)
					}
					a.rounds(4, s.proxy())
					long()
					b.messages = append(b.messages[:19], `{"role":"user","content":"another way"}`)
					b.rounds(4, s.proxy())
					for _, other := range []trim.Policy{trim.Lossless, trim.Finish, trim.Off, policy} {
						s.config.History.Policy = other
						long()
						p = s.proxy()
						a.rounds(3, p)
					}
					if !p.Totals().Bound && policy != trim.KeepLatest {
						t.Error("nothing says that the session should go on with stet")
					}
					p = s.proxy()
					a.strips = true
					a.rounds(2, p)
					long()
					a.rounds(2, p)
					if !strings.Contains(s.sent(), "shown above") && policy != trim.KeepLatest {
						t.Error("nothing was shortened")
					}
				})
			})
		}
	}
}

// WIRE-1: stet may learn late that a provider checks thinking. A model with an unknown name begins to think when much was sent
// and old results have left.
func TestGatewayBindsLate(t *testing.T) {
	strictly(t, func(s *strict) {
		s.behindGateway()
		s.config.History.Policy = trim.Bold
		a, p := &gatewaySession{s: s, model: "my-alias", lines: 150, messages: []string{`{"role":"user","content":"go on"}`}}, s.proxy()
		s.quiet = true
		a.rounds(120, p)
		s.quiet = false
		a.rounds(4, p)
		synctest.Wait()
		a.rounds(4, s.proxy())
		if _, evicted := s.shortened(); evicted == 0 {
			s.t.Error("nothing left")
		}
	})
}

// WIRE-2: the same holds for the Responses API. If the model's name says that its provider checks thinking, a request begins with
// the messages of the request before, in the form in which they were sent. With other models old outputs leave at a cold point.
func TestGatewayBindsResponses(t *testing.T) {
	for model, binds := range map[string]bool{"anthropic/claude-opus-5.5": true, "gpt-5": false} {
		t.Run(model, func(t *testing.T) {
			strictly(t, func(s *strict) {
				t := s.t
				s.config.Upstreams = llm.Upstreams{llm.Responses: "http://model.test"}
				s.config.History.Policy = trim.Adaptive
				items, p := []json.RawMessage{json.RawMessage(`{"role":"user","content":"go on"}`)}, s.proxy()
				same, before := 0, []json.RawMessage{}
				for range 20 {
					input, err := json.Marshal(items)
					if err != nil {
						t.Fatal(err)
					}
					body := fmt.Sprintf(`{"model":%q,"store":false,"instructions":%q,"tools":[{"type":"function","name":"Bash"},{"type":"function","name":"Read"}],"input":%s}`,
						model, strings.Repeat("Follow the rule. ", 400), input)
					w := httptest.NewRecorder()
					p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/responses", strings.NewReader(body)))
					var sent struct{ Input []json.RawMessage }
					var got struct{ Output []json.RawMessage }
					if err := cmp.Or(json.Unmarshal([]byte(s.sent()), &sent), json.Unmarshal(w.Body.Bytes(), &got)); err != nil || w.Code != 200 {
						t.Fatal(w.Code, err)
					}
					if len(sent.Input) > len(before) && slices.EqualFunc(before, sent.Input[:len(before)], func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
						same++
					}
					before = sent.Input
					items = append(items, got.Output...)
					var call struct {
						ID string `json:"call_id"`
					}
					if err := json.Unmarshal(got.Output[len(got.Output)-1], &call); err != nil {
						t.Fatal(err)
					}
					text := strings.Repeat(fmt.Sprintf("ok: built one more of the %d targets\n", len(items)), 60)
					items = append(items, json.RawMessage(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, call.ID, text)))
					if len(items) > 50 {
						time.Sleep(25 * time.Hour)
					}
				}
				if (same == 20) != binds {
					t.Errorf("%d of 20 requests begin with what was sent before", same)
				}
			})
		})
	}
}
