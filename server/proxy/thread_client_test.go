package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// threadClient is an agent that keeps its conversation in message threads. It has its own copy of all messages, and sends all of
// them again if the provider has lost them.
type threadClient struct {
	s        *strict
	model    string
	name     string // the session's id; "": the client sends none
	stream   bool
	alone    bool     // the client uses no threads
	marks    bool     // the last message has a cache marker
	messages []string // raw
	held     int      // number of messages that the provider holds
	previous string   // the answer that the next request continues; "": all messages are sent
	answers  int
	saved    int            // bytes that the proxy left out of requests that continue an answer
	replays  map[string]int // how often all was sent again, by the code of the error
}

func (s *strict) threadClient(model string) *threadClient {
	return &threadClient{s: s, model: model, stream: true, messages: []string{`{"role":"user","content":"go on"}`}, replays: map[string]int{}}
}

// fork returns another client with the same messages, and without a thread.
func (a *threadClient) fork() *threadClient {
	b := *a
	b.messages, b.previous, b.held, b.replays = slices.Clone(a.messages), "", 0, map[string]int{}
	return &b
}

// uncheckedModel is a model whose thinking is not bound.
const uncheckedModel = "claude-sonnet-4-5"

const systemOfThreads = `"system":[{"type":"text","text":%q}],"tools":[{"name":"Bash","input_schema":{}},{"name":"Read","input_schema":{}}],`

// body returns the next request.
func (a *threadClient) body() string {
	head := fmt.Sprintf(`{"model":%q,"max_tokens":99,"stream":%v,"thinking":{"type":"adaptive"},`, a.model, a.stream)
	messages, thread := slices.Clone(a.messages), `"thread":{"type":"create"},`
	if a.previous != "" {
		thread, messages = fmt.Sprintf(`"thread":{"type":"continue","previous_message_id":%q},`, a.previous), messages[a.held:]
	} else {
		head += fmt.Sprintf(systemOfThreads, "You help. "+strings.Repeat("Follow the rule. ", 400))
	}
	if a.alone {
		thread = ""
	}
	if n := len(messages) - 1; a.marks && n >= 0 {
		messages[n] = strings.Replace(messages[n], `"type":"tool_result",`, `"type":"tool_result","cache_control":{"type":"ephemeral"},`, 1)
	}
	return head + thread + `"x_unknown": {"kept" : [1, 2]},"messages":[` + strings.Join(messages, ", ") + `]}`
}

// ask sends the next request to h, and checks what the proxy changed in it. If the thread is refused, the client sends all again.
// ask reports whether there was an answer.
func (a *threadClient) ask(h http.Handler) bool {
	a.s.t.Helper()
	if a.s.t.Failed() {
		return false // the first failure is enough
	}
	for range 3 {
		body := a.body()
		r := httptest.NewRequestWithContext(a.s.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(body))
		r.Header.Set("Anthropic-Beta", strictmodel.ThreadsBeta+",other-2026-01-01")
		if a.name != "" {
			r.Header.Set("X-Claude-Code-Session-Id", a.name)
		}
		w := httptest.NewRecorder()
		before := len(a.s.model.Requests())
		h.ServeHTTP(w, r)
		if all := a.s.model.Requests(); len(all) == before+1 {
			a.compare(body, r.Header, all[before])
		}
		if w.Code == 200 {
			return a.hear(w.Body.Bytes())
		}
		var refusal struct {
			Error struct {
				Details struct {
					Code string `json:"error_code"`
				}
			}
		}
		_ = json.Unmarshal(w.Body.Bytes(), &refusal)
		code := refusal.Error.Details.Code
		switch {
		case w.Code == 529:
			continue
		case code == "thread_unsupported_request":
			a.alone = true
		case a.previous == "" || !strings.HasPrefix(code, "thread_"):
			a.s.t.Errorf("after %d answers: %d %s", a.answers, w.Code, w.Body)
			return false
		}
		a.replays[code]++
		a.previous = ""
	}
	a.s.t.Errorf("after %d answers: no answer: %v", a.answers, a.replays)
	return false
}

// compare checks that what went upstream differs from the client's body only in results and arguments.
func (a *threadClient) compare(body string, h http.Header, got llmtest.Request) {
	a.s.t.Helper()
	if was, is := unedited(a.s.t, []byte(body)), unedited(a.s.t, got.Body); was != is {
		a.s.t.Errorf("more than results and arguments changed:\n%s\n%s", clip(was, 2000), clip(is, 2000))
	}
	for name := range h {
		if got.Header.Get(name) != h.Get(name) {
			a.s.t.Errorf("header %s: %q", name, got.Header.Get(name))
		}
	}
	if a.previous != "" {
		a.saved += len(body) - len(got.Body)
	}
}

// unedited returns a body without its results and arguments.
func unedited(t *testing.T, body []byte) string {
	t.Helper()
	req, err := anthropic.Messages{}.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	at := 0
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			if (p.Kind == llm.ToolResult || p.Kind == llm.ToolCall) && p.Span.Valid() {
				out, at = append(out, body[at:p.Span.Start]...), p.Span.End
			}
		}
	}
	return string(append(out, body[at:]...))
}

// hear adds an answer, and the results of its calls. It reports whether the answer is whole.
func (a *threadClient) hear(answer []byte) bool {
	a.s.t.Helper()
	id, content, ok := contentOf(a.s.t, answer)
	if !ok {
		a.previous = "" // the answer broke off, so all messages are sent again
		return false
	}
	a.messages = append(a.messages, `{"role":"assistant","content":[`+strings.Join(content, ",")+`]}`)
	a.previous, a.held = id, len(a.messages)
	var call struct{ ID, Name string }
	if err := json.Unmarshal([]byte(content[len(content)-1]), &call); err != nil {
		a.s.t.Fatal(err)
	}
	text := strings.Repeat(fmt.Sprintf("ok %d: built one more of the targets\n", a.answers), 60)
	if call.Name == "Read" {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "%6d\tline %d of a file that is read more than once\n", i+1, i+1)
		}
		text = b.String()
	}
	a.messages = append(a.messages, fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, call.ID, text))
	a.answers++
	return true
}

// contentOf reads an answer as a client does, streamed or not: it parses the answer and encodes it again.
func contentOf(t *testing.T, answer []byte) (id string, content []string, ok bool) {
	t.Helper()
	write := func(block map[string]json.RawMessage) string {
		var out []string
		for _, key := range []string{"type", "text", "thinking", "signature", "data", "id", "name", "input"} {
			if v, ok := block[key]; ok {
				var compact bytes.Buffer
				if err := json.Compact(&compact, v); err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprintf("%q:%s", key, compact.Bytes()))
			}
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	if bytes.HasPrefix(answer, []byte("{")) {
		var whole struct {
			ID      string
			Content []map[string]json.RawMessage
		}
		if err := json.Unmarshal(answer, &whole); err != nil {
			t.Fatal(err)
		}
		for _, b := range whole.Content {
			content = append(content, write(b))
		}
		return whole.ID, content, true
	}
	var blocks []map[string]json.RawMessage
	more := func(b map[string]json.RawMessage, key, text string) {
		var was string
		_ = json.Unmarshal(b[key], &was)
		b[key], _ = json.Marshal(was + text)
	}
	for line := range strings.SplitSeq(string(answer), "\n") {
		data, found := strings.CutPrefix(line, "data: ")
		if !found {
			continue
		}
		var e struct {
			Type    string
			Message struct{ ID string }
			Block   map[string]json.RawMessage `json:"content_block"`
			Index   int
			Delta   struct {
				Type, Text, Thinking, Signature string
				Partial                         string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "message_start":
			id = e.Message.ID
		case "content_block_start":
			blocks = append(blocks, e.Block)
		case "content_block_delta":
			b := blocks[e.Index]
			switch e.Delta.Type {
			case "text_delta":
				more(b, "text", e.Delta.Text)
			case "thinking_delta":
				more(b, "thinking", e.Delta.Thinking)
			case "signature_delta":
				more(b, "signature", e.Delta.Signature)
			case "input_json_delta":
				if string(b["input"]) == "{}" {
					b["input"] = nil
				}
				b["input"] = append(b["input"], e.Delta.Partial...)
			}
		case "message_stop":
			for _, b := range blocks {
				content = append(content, write(b))
			}
			return id, content, true
		}
	}
	return id, nil, false
}

// WIRE-3: a client with threads is served like one without. Results in a request that continues a thread are deduplicated against
// the whole conversation. The provider refuses nothing because of that. If the thread is gone, all is sent again in the form that
// the provider had.
func TestThreadsAreFollowed(t *testing.T) {
	rounds := func(a *threadClient, h http.Handler, n int) {
		for range n {
			a.ask(h)
			time.Sleep(10 * time.Second)
		}
	}
	for _, c := range []struct {
		name string
		test func(s *strict, a *threadClient)
		want map[string]int // replays, by the code of the error
	}{
		{"goes on", func(s *strict, a *threadClient) { rounds(a, s.proxy(), 20) }, nil},
		{"not streamed", func(s *strict, a *threadClient) {
			a.stream = false
			rounds(a, s.proxy(), 20)
		}, nil},
		{"with cache markers that move", func(s *strict, a *threadClient) {
			a.marks = true
			p := s.proxy()
			rounds(a, p, 15)
			s.rules.ForgetThreads()
			rounds(a, p, 10)
		}, map[string]int{"thread_not_found": 1}},
		{"five idle minutes", func(s *strict, a *threadClient) {
			p := s.proxy()
			rounds(a, p, 10)
			time.Sleep(strictmodel.ThreadIdle)
			rounds(a, p, 10)
			time.Sleep(2 * time.Hour)
			rounds(a, p, 10)
		}, map[string]int{"thread_not_found": 2}},
		{"the provider loses it", func(s *strict, a *threadClient) {
			p := s.proxy()
			for range 5 {
				rounds(a, p, 5)
				s.rules.ForgetThreads()
			}
			rounds(a, p, 5)
		}, map[string]int{"thread_not_found": 5}},
		{"two requests go on from one answer", func(s *strict, a *threadClient) {
			p := s.proxy()
			rounds(a, p, 10)
			b := a.fork()
			b.previous, b.held = a.previous, a.held
			rounds(a, p, 5)
			rounds(b, p, 5)
			rounds(a, p, 5)
			if b.replays["thread_already_continued"] != 1 || b.saved <= 0 && s.config.History.Policy != trim.KeepLatest {
				s.t.Errorf("%v, %d bytes saved", b.replays, b.saved)
			}
		}, nil},
		{"a request that failed is made again", func(s *strict, a *threadClient) {
			p := s.proxy()
			for range 5 {
				rounds(a, p, 3)
				s.model.Fail(llmtest.Fault{Status: 529})
			}
			rounds(a, p, 1)
		}, nil},
		{"an answer that broke off", func(s *strict, a *threadClient) {
			p := s.proxy()
			rounds(a, p, 8)
			s.model.Fail(llmtest.Fault{ErrorAfter: 4})
			rounds(a, p, 8)
		}, nil},
		{"a restart", func(s *strict, a *threadClient) {
			rounds(a, s.proxy(), 10)
			synctest.Wait()
			p := s.proxy() // what this proxy does not hold passes
			rounds(a, p, 5)
			s.rules.ForgetThreads()
			rounds(a, p, 12)
		}, map[string]int{"thread_not_found": 1}},
		{"begun without stet", func(s *strict, a *threadClient) {
			rounds(a, s.model, 10)
			p := s.proxy()
			rounds(a, p, 5)
			s.rules.ForgetThreads()
			rounds(a, p, 12)
		}, map[string]int{"thread_not_found": 1}},
		{"no more threads", func(s *strict, a *threadClient) {
			p := s.proxy()
			rounds(a, p, 10)
			a.alone, a.previous = true, ""
			for range 8 {
				a.ask(p)
				a.previous = ""
			}
		}, nil},
		{"refused", func(s *strict, a *threadClient) {
			s.config.RefuseThreads = true
			p := s.proxy()
			for range 8 {
				a.ask(p)
				if a.alone {
					a.previous = ""
				}
			}
			a.saved = 1 // no request continued an answer
		}, map[string]int{"thread_unsupported_request": 1}},
	} {
		for _, model := range []string{"claude-opus-5-5", uncheckedModel} {
			for _, policy := range []trim.Policy{trim.Adaptive, trim.KeepLatest, trim.Bold} {
				t.Run(fmt.Sprint(c.name, " ", model, " ", policy), func(t *testing.T) {
					strictly(t, func(s *strict) {
						s.config.History.Policy = policy
						if policy == trim.KeepLatest {
							s.config.History.KeepReads = 1
						}
						a := s.threadClient(model)
						c.test(s, a)
						if fmt.Sprint(a.replays) != fmt.Sprint(c.want) {
							t.Errorf("replays %v, want %v", a.replays, c.want)
						}
						if a.saved <= 0 && policy != trim.KeepLatest {
							t.Errorf("%d bytes saved in requests that continue", a.saved)
						}
					})
				})
			}
		}
	}
}

// WIRE-3: clients with threads do random things in random order. 10 sessions, or 100 with STET_SOAK=1.
func TestRandomThreads(t *testing.T) {
	from, seeds := uint64(0), uint64(10)
	if first, long := soaks(); long {
		from, seeds = first, 100
	}
	saved := 0
	for seed := from; seed < from+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			strictly(t, func(s *strict) {
				rng := rand.New(rand.NewPCG(seed, 13))
				s.config.History.Policy = []trim.Policy{trim.Adaptive, trim.Lossless, trim.Bold}[rng.IntN(3)]
				model := []string{"claude-opus-5-5", uncheckedModel, "my-own-model"}[rng.IntN(3)]
				p := s.proxy()
				clients := []*threadClient{s.threadClient(model)}
				clients[0].marks = rng.IntN(2) == 0
				for step := range 60 {
					a := clients[rng.IntN(len(clients))]
					switch rng.IntN(20) {
					case 0:
						time.Sleep(strictmodel.ThreadIdle + time.Second)
					case 1:
						s.rules.ForgetThreads()
					case 2:
						s.model.Fail(llmtest.Fault{Status: 529})
					case 3:
						s.model.Fail(llmtest.Fault{ErrorAfter: 1 + rng.IntN(8)})
					case 4:
						synctest.Wait()
						if err := p.Close(context.Background()); err != nil {
							t.Error(err)
						}
						p = s.proxy()
					case 5:
						if b := a.fork(); len(clients) < 4 {
							if rng.IntN(2) == 0 {
								b.previous, b.held = a.previous, a.held
							}
							b.messages = append(b.messages, fmt.Sprintf(`{"role":"user","content":"another way: %d"}`, step))
							clients = append(clients, b)
						}
					case 6: // the client goes back
						if n := len(a.messages); n > 6 {
							for n -= 4; n > 0 && strings.HasPrefix(a.messages[n-1], `{"role":"user"`); {
								n--
							}
							if n > 1 {
								a.messages = append(a.messages[:n-1:n-1], `{"role":"user","content":"another way, please"}`)
								a.previous = ""
							}
						}
					case 7:
						a.messages = append(a.messages, fmt.Sprintf(`{"role":"user","content":"and %d"}`, step))
					case 8:
						a.stream = !a.stream
					}
					a.ask(p)
					time.Sleep(time.Duration(rng.IntN(40)) * time.Second)
				}
				for _, a := range clients {
					saved += a.saved
				}
			})
		})
	}
	if saved <= 0 {
		t.Errorf("%d bytes saved", saved)
	}
}

// WIRE-3: on any doubt a request that continues a thread goes out unchanged. So do the requests after it, if the provider has
// older messages in another form than the plan. When all is sent again, it goes out in the form that the provider had.
func TestThreadsInDoubt(t *testing.T) {
	for _, fault := range []string{"decode panics", "session panics", "patch panics", "patch fails", "patch has another text", "patch has more", "patch changes what stands before", "meter panics"} {
		for _, begins := range []bool{false, true} {
			t.Run(fmt.Sprint(fault, " at its beginning: ", begins), func(t *testing.T) {
				strictly(t, func(s *strict) {
					a, p := s.threadClient("claude-opus-5-5"), s.proxy()
					rounds := func(n int) {
						for range n {
							a.ask(p)
							time.Sleep(10 * time.Second)
						}
					}
					if !begins {
						rounds(8)
					}
					p.endpoints.messages.codec = faulty{fault: fault}
					rounds(3)
					p.endpoints.messages.codec = anthropic.Messages{}
					rounds(4)
					s.rules.ForgetThreads()
					rounds(12)
					if a.saved <= 0 {
						t.Error("nothing was saved")
					}
					if len(a.replays) != 1 || a.replays["thread_not_found"] != 1 {
						t.Errorf("replays %v", a.replays)
					}
				})
			})
		}
	}
}
