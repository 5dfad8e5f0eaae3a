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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// strict is a provider that binds thinking, behind proxies that share a store.
type strict struct {
	t       *testing.T
	model   *llmtest.Server
	rules   *strictmodel.Rules // of the model
	store   *recordtest.Memory
	config  Config
	proxies []*Proxy
	quiet   bool                                     // the model does not think
	asked   func()                                   // called before each request for an answer; may be nil
	rush    bool                                     // no time passes between rounds
	ids     bool                                     // the system text begins with ids that change with each request
	lines   int                                      // of a command's output, each different; 0: 60 equal lines
	does    func(*llm.Request) (llm.Response, error) // replaces the scripted answers; may be nil
	before  func(*http.Request) *http.Response       // a server in front of the model, which answers itself if it returns an answer; may be nil
}

// strictly runs a test with a strict provider, in a synctest bubble, which has its own time.
func strictly(t *testing.T, test func(s *strict)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &strict{t: t, store: new(recordtest.Memory)}
		var err error
		s.rules = new(strictmodel.Rules)
		s.model, err = llmtest.Start(llmtest.Config{Listener: new(llmtest.Memory), Handler: s.answer, Rules: s.rules})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.model.Close() }()
		defer func() {
			for _, p := range s.proxies {
				if err := p.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}()
		test(s)
	})
}

// answer is the model: it thinks, and reads one file or runs a command. Which of the two depends on the number of earlier
// answers.
func (s *strict) answer(req *llm.Request) (llm.Response, error) {
	if s.does != nil {
		return s.does(req)
	}
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	call := llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprintf("c%d", n), Name: "Bash", Args: fmt.Sprintf(`{"command":"make %d"}`, n)}
	if n%3 == 0 {
		call.Name, call.Args = "Read", `{"file_path":"/home/me/project/a.go"}`
	}
	parts := []llm.Part{{Kind: llm.Thinking, Text: fmt.Sprintf("thought %d%s", n, strings.Repeat(", and so on", 40))}, {Text: "I go on."}, call}
	if s.quiet {
		parts = parts[1:]
	}
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
}

// RoundTrip implements http.RoundTripper: it asks the model.
func (s *strict) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.asked != nil && r.URL.Path == "/v1/messages" {
		s.asked()
	}
	if s.before != nil {
		if answer := s.before(r); answer != nil {
			return answer, nil
		}
	}
	w := httptest.NewRecorder()
	s.model.ServeHTTP(w, r)
	return w.Result(), nil
}

// of replaces the provider by one for another kind of account.
func (s *strict) of(account strictmodel.Account) {
	s.t.Helper()
	_ = s.model.Close() // it got no requests
	var err error
	s.rules = &strictmodel.Rules{Account: account}
	if s.model, err = llmtest.Start(llmtest.Config{Listener: new(llmtest.Memory), Handler: s.answer, Rules: s.rules}); err != nil {
		s.t.Fatal(err)
	}
}

// proxy starts another proxy with the same store, as after a restart.
func (s *strict) proxy() *Proxy {
	s.t.Helper()
	c := s.config
	c.Store, c.Transport, c.Upstreams = s.store, s, llm.Upstreams{llm.Messages: "http://model.test"}.Or(c.Upstreams)
	p, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.proxies = append(s.proxies, p)
	return p
}

// session is an agent's conversation.
type session struct {
	s        *strict
	model    string
	extra    string // more members of the body
	key      string // of the account; "": the client sends none
	betas    string // more values of the beta header
	plain    bool   // it sends no beta header
	system   string // replaces a long default
	messages []string
	answers  int
	asked    int
}

func (s *strict) session(model string) *session {
	return &session{s: s, model: model, messages: []string{`{"role":"user","content":"go on"}`}}
}

// fork returns a second conversation with the same messages.
func (a *session) fork() *session {
	b := *a
	b.messages = slices.Clone(a.messages)
	return &b
}

func (a *session) body() string {
	text, _ := json.Marshal(cmp.Or(a.system, "You help. "+strings.Repeat("Follow the rule. ", 400))) // a string has no errors
	system := string(text)
	if a.s.ids { // as Claude Code writes them for the provider's own host; the length changes too
		a.asked++
		system = fmt.Sprintf(`[{"type":"text","text":"x-anthropic-billing-header: v=1; cch=%05x; prev=req_%d; turn=%d;"},{"type":"text","text":%s}]`, a.asked*7919, a.asked*a.asked, a.asked, text)
	}
	return fmt.Sprintf(`{"model":%q%s,"max_tokens":99,"cache_control":{"type":"ephemeral"},"system":%s,"tools":[{"name":"Bash","input_schema":{}},{"name":"Read","input_schema":{}}],"messages":[%s]}`,
		a.model, a.extra, system, strings.Join(a.messages, ","))
}

// rounds sends n requests to h, a proxy or the provider itself, and does what the model asks for. Before each request it counts
// its tokens.
func (a *session) rounds(n int, h http.Handler) {
	a.s.t.Helper()
	for range n {
		for _, path := range []string{"/v1/messages/count_tokens", "/v1/messages"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(a.s.t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(a.body()))
			if !a.plain {
				r.Header.Set("Anthropic-Beta", strictmodel.ManagingBeta+a.betas)
			}
			if a.key != "" {
				r.Header.Set("X-Api-Key", a.key)
			}
			h.ServeHTTP(w, r)
			if w.Code != 200 {
				a.s.t.Errorf("%s after %d answers: %d %s", path, a.answers, w.Code, w.Body)
				return
			}
			if path == "/v1/messages" {
				a.hear(w.Body.Bytes())
			}
		}
		if !a.s.rush {
			time.Sleep(10 * time.Second)
		}
	}
}

// hear adds an answer, and the results of its calls.
func (a *session) hear(answer []byte) {
	a.s.t.Helper()
	var got struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		a.s.t.Fatal(err)
	}
	var blocks []struct{ Type, ID, Name string }
	if err := json.Unmarshal(got.Content, &blocks); err != nil {
		a.s.t.Fatal(err)
	}
	a.messages = append(a.messages, `{"role":"assistant","content":`+string(got.Content)+`}`)
	call := blocks[len(blocks)-1]
	if call.ID == "" {
		a.messages = append(a.messages, `{"role":"user","content":"go on"}`)
		a.answers++
		return
	}
	text := strings.Repeat(fmt.Sprintf("ok %d: built one more of the targets\r", a.answers), 60) + "\n"
	if a.s.lines > 0 {
		var b strings.Builder
		for i := range a.s.lines {
			fmt.Fprintf(&b, "ok %d: built target %d\n", a.answers, i)
		}
		text = b.String()
	}
	if call.Name == "Read" {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "%6d\tline %d of a file that is read more than once\n", i+1, i+1)
		}
		text = b.String()
	}
	a.messages = append(a.messages, fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, call.ID, text))
	a.answers++
}

// sent returns the last body that the model got.
func (s *strict) sent() string {
	all := s.model.Requests()
	return string(all[len(all)-1].Body)
}

// shortened counts the placeholders in the last body: of repeats, and of old outputs that left at a cold point.
func (s *strict) shortened() (repeats, evicted int) {
	return strings.Count(s.sent(), "unchanged: shown above"), strings.Count(s.sent(), "output of an older command left out")
}

// WIRE-1, WIRE-2: no request that would pass without stet is refused because something was left out of it, in all these cases.
// What was shortened stays shortened.
func TestNothingIsRefused(t *testing.T) {
	const checked, alsoChecked, unchecked = "claude-opus-5-5", "claude-fable-5-1", "claude-sonnet-4-5"
	pause := func() { time.Sleep(310 * time.Second) }
	for name, test := range map[string]func(s *strict){
		"goes on": func(s *strict) { s.session(checked).rounds(20, s.proxy()) },
		"a pause": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(14, p)
			pause()
			a.rounds(6, p)
		},
		"a model that is not known": func(s *strict) {
			a, p := s.session("my-own-model"), s.proxy()
			a.rounds(14, p)
			pause()
			a.rounds(6, p)
		},
		"begun without stet": func(s *strict) {
			a := s.session(checked)
			a.rounds(10, s.model)
			p := s.proxy()
			a.rounds(6, p)
			pause()
			a.rounds(3, p)
			synctest.Wait()
			p = s.proxy()
			a.rounds(6, p)
			b := a.fork()
			a.rounds(3, s.proxy())
			b.rounds(3, s.proxy())
		},
		"without stet in between": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(1, p) // nothing is shortened by then
			a.rounds(8, s.model)
			a.rounds(8, p)
			synctest.Wait()
			a.rounds(4, s.proxy())
		},
		"a restart": func(s *strict) {
			a := s.session(checked)
			for range 5 {
				p := s.proxy()
				a.rounds(4, p)
				pause()
				if err := p.Close(context.Background()); err != nil {
					s.t.Error(err)
				}
			}
		},
		"a fork": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(12, p)
			b := a.fork()
			a.rounds(3, p)
			pause()
			b.rounds(3, p)
			a.rounds(3, p)
			pause()
			synctest.Wait()
			b.rounds(3, s.proxy())
			a.rounds(3, s.proxy())
		},
		"gone back": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(12, p)
			pause()
			a.messages = append(a.messages[:9], `{"role":"user","content":"another way, please"}`)
			a.rounds(6, p)
		},
		"a compaction": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.extra = `,"metadata":{"user_id":"user_x_session_one"}`
			a.rounds(12, p)
			a.messages = []string{`{"role":"user","content":"What was done: much."}`}
			a.rounds(12, p)
			pause()
			a.rounds(6, p)
		},
		"another model": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			for i, model := range []string{checked, alsoChecked, checked, "my-own-model", checked, unchecked, checked, unchecked, alsoChecked} {
				a.model = model
				a.rounds(3, p)
				if i%2 == 1 {
					pause()
				}
			}
			synctest.Wait()
			a.rounds(3, s.proxy())
		},
		"from a model that does not check": func(s *strict) {
			a, p := s.session(unchecked), s.proxy()
			a.rounds(14, p)
			a.model = checked
			pause()
			a.rounds(6, p)
			a.model = unchecked
			pause()
			a.rounds(6, p)
			a.model = checked
			a.rounds(6, p)
		},
		"thinking comes later": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			s.quiet = true
			a.rounds(14, p)
			pause()
			a.rounds(3, p)
			adaptive := s.config.History.Policy == trim.Adaptive
			if _, evicted := s.shortened(); evicted == 0 && adaptive {
				s.t.Error("nothing left at the pause, where nothing was bound")
			}
			s.quiet = false
			a.rounds(9, p)
			pause()
			a.rounds(3, p)
			b := a.fork()
			synctest.Wait()
			a.rounds(3, s.proxy())
			pause()
			a.model = alsoChecked
			a.rounds(3, s.proxy())
			b.rounds(6, s.proxy())
			if _, evicted := s.shortened(); evicted == 0 && adaptive {
				s.t.Error("what had left is there again")
			}
		},
		"a role that is not known": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(8, p)
			a.messages = append(a.messages, `{"role":"harness","content":"Be brief."}`)
			a.rounds(4, p)
			synctest.Wait()
			a.rounds(3, s.proxy())
		},
		"the provider manages": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(8, p)
			a.extra = `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`
			a.rounds(6, p)
			a.extra = ""
			a.rounds(6, p)
			synctest.Wait()
			a.rounds(3, s.proxy())
		},
		"observed before": func(s *strict) {
			s.config.Observe = true
			a := s.session(checked)
			a.rounds(8, s.proxy())
			synctest.Wait()
			s.config.Observe = false
			p := s.proxy()
			a.rounds(8, p)
			pause()
			a.rounds(4, p)
		},
		"thinking is left out, and comes again": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.rounds(14, p)
			for _, model := range []string{checked, unchecked} {
				whole := slices.Clone(a.messages)
				for i, m := range a.messages {
					a.messages[i] = string(withoutThinking(json.RawMessage(m)))
				}
				s.quiet, a.model = true, model
				pause()
				a.rounds(2, p)
				synctest.Wait()
				p = s.proxy()
				pause()
				a.rounds(2, p)
				copy(a.messages, whole)
				s.quiet, a.model = false, checked
				a.rounds(2, p)
			}
		},
		"the first thinking is left out": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			a.system = "Be brief."
			a.messages[0] = `{"role":"user","content":"think"}`
			a.rounds(12, p)
			for i := range 14 {
				a.messages[i] = string(withoutThinking(json.RawMessage(a.messages[i])))
			}
			a.rounds(4, p)
			synctest.Wait()
			a.rounds(4, s.proxy())
		},
		"the provider manages before there is thinking": func(s *strict) {
			a, p := s.session(checked), s.proxy()
			s.quiet = true
			a.rounds(10, p)
			a.extra = `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`
			s.quiet = false
			a.rounds(3, p)
			a.extra = ""
			a.rounds(3, p)
			synctest.Wait()
			a.rounds(3, s.proxy())
		},
		"two proxies in turn": func(s *strict) {
			s.rush = true
			p, q := s.proxy(), s.proxy()
			a, b := s.session(checked), s.session(checked)
			b.messages[0] = `{"role":"user","content":"go on with the other"}`
			for range 4 {
				a.rounds(3, p)
				b.rounds(3, p)
				a.rounds(3, q)
				b.rounds(3, q)
			}
		},
		"killed after each answer": func(s *strict) {
			a := s.session(checked)
			s.rush = true
			for range 12 {
				a.rounds(1, s.proxy()) // the proxy before it has not yet written its queue
			}
		},
	} {
		for _, policy := range trim.Policies() {
			for _, ids := range []bool{false, true} {
				if ids && policy != trim.Adaptive {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/ids=%t", name, policy, ids), func(t *testing.T) {
					strictly(t, func(s *strict) {
						s.config.History, s.ids = trim.Config{Policy: policy, KeepReads: 1}, ids
						test(s)
					})
				})
			}
		}
	}
}

// With a model that is known not to check thinking, old outputs leave at a cold point, and at no other request.
func TestUncheckedIsEvicted(t *testing.T) {
	for _, ids := range []bool{false, true} {
		strictly(t, func(s *strict) { testUncheckedIsEvicted(t, s, ids) })
	}
}

func testUncheckedIsEvicted(t *testing.T, s *strict, ids bool) {
	s.ids = ids
	s.model.Close()
	lax, err := strictmodel.Start(llmtest.Config{Listener: new(llmtest.Memory), Handler: s.answer})
	if err != nil {
		t.Fatal(err)
	}
	defer lax.Close()
	s.model = lax
	a, p := s.session("claude-sonnet-4-5"), s.proxy()
	a.rounds(14, p)
	if repeats, evicted := s.shortened(); repeats == 0 || evicted > 0 {
		t.Errorf("before the pause: %d repeats, %d evicted", repeats, evicted)
	}
	time.Sleep(310 * time.Second)
	a.rounds(1, p)
	if _, evicted := s.shortened(); evicted < 3 {
		t.Errorf("after the pause: %d evicted", evicted)
	}
}

// epochStore counts the forms that are appended.
type epochStore struct {
	record.Store
	forms atomic.Int64
}

func (e *epochStore) Append(ctx context.Context, b record.Batch) error {
	err := e.Store.Append(ctx, b)
	e.forms.Add(int64(len(b.Forms)))
	return err
}

// What is planned at a cold point is in the store before its request goes out, because the process may be killed after that.
func TestColdPointIsStored(t *testing.T) {
	strictly(t, func(s *strict) {
		s.config.History.Policy = trim.Lossless // lossless leaves nothing out here
		a, p := s.session("claude-sonnet-4-5"), s.proxy()
		store := &epochStore{Store: s.store}
		p.writer.store = store
		a.rounds(14, p)
		pause()
		before, seen := store.forms.Load(), int64(0)
		s.asked = func() { seen = store.forms.Load() }
		a.rounds(1, p)
		if seen != before+1 {
			t.Errorf("when the request went out the store had %d more forms", seen-before)
		}
	})
}

// refused counts all requests that the provider refused.
func (s *strict) refused() (n int) {
	for _, r := range s.model.Requests() {
		if r.Status >= http.StatusBadRequest {
			n++
		}
	}
	return n
}

// pause is longer than the provider's cache lives.
func pause() { time.Sleep(310 * time.Second) }
