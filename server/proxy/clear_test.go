package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// clearedCalls returns, for each request, the number of calls whose results the provider is asked to clear.
func (s *strict) clearedCalls(requests []llmtest.Request) (out []int) {
	s.t.Helper()
	for _, r := range requests {
		var body struct {
			Management struct {
				Edits []struct {
					Type          string
					Keep, Trigger struct{ Value int }
				}
			} `json:"context_management"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			s.t.Fatal(err)
		}
		calls, all := 0, strings.Count(string(r.Body), `"type":"tool_use"`)
		for _, e := range body.Management.Edits {
			if e.Type == "clear_tool_uses_20250919" {
				if calls = all - e.Keep.Value; calls != e.Trigger.Value {
					s.t.Errorf("%d of %d calls are kept, from %d on", e.Keep.Value, all, e.Trigger.Value)
				}
			}
		}
		if (calls > 0) != strings.Contains(strings.Join(r.Header.Values("Anthropic-Beta"), ","), strictmodel.ManagingBeta) {
			s.t.Errorf("%d calls are cleared, with the header %q", calls, r.Header.Values("Anthropic-Beta"))
		}
		out = append(out, calls)
	}
	return out
}

// builds makes the model run commands, and returns a session that sends no beta header of its own.
func (s *strict) builds() *session {
	s.config.History, s.lines = trim.Config{Policy: trim.Bold}, 60
	s.does = func(req *llm.Request) (llm.Response, error) {
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				n++
			}
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: fmt.Sprintf("thought %d", n)},
			{Kind: llm.ToolCall, CallID: fmt.Sprintf("c%d", n), Name: "Bash", Args: fmt.Sprintf(`{"command":"make %d"}`, n)},
		}}}, nil
	}
	a := s.session("claude-opus-5-5")
	a.plain = true
	return a
}

// WIRE-2: if thinking is checked, bold asks the provider to clear old results from a cold point on. Each request clears the same
// results, also after a restart. At the next cold point more are cleared. The provider refuses nothing.
func TestClears(t *testing.T) {
	strictly(t, func(s *strict) {
		a, p := s.builds(), s.proxy()
		a.rounds(14, p)
		pause()
		a.rounds(4, p)
		synctest.Wait()
		b := a.fork()
		a.rounds(2, s.proxy())
		b.rounds(2, s.proxy())
		pause()
		a.rounds(2, s.proxy())
		got := s.clearedCalls(s.model.Requests())
		// Before each request its tokens are counted. Counting does not begin a cold point.
		first, second := got[29], got[45]
		want := slices.Concat(slices.Repeat([]int{0}, 29), slices.Repeat([]int{first}, 16), slices.Repeat([]int{second}, 3))
		if !slices.Equal(got, want) || first < 6 || second <= first {
			t.Errorf("cleared: %v", got)
		}
		if s.refused() > 0 {
			t.Errorf("%d requests were refused", s.refused())
		}
		synctest.Wait()
		trims, err := s.store.Trims(t.Context(), record.Query{})
		if err != nil {
			t.Fatal(err)
		}
		trims = slices.DeleteFunc(trims, func(x record.Trim) bool { return x.Reason != string(trim.Cleared) })
		if len(trims) < second || trims[0].Before <= trims[0].After {
			t.Errorf("%d results are recorded as cleared", len(trims))
		}
	})
}

// WIRE-2: in a long session results are cleared at warm breaks too, without a pause. There are few breaks. Between two breaks,
// and after a restart, the same results are cleared. The provider refuses nothing.
func TestClearsAtWarmBreaks(t *testing.T) {
	strictly(t, func(s *strict) {
		a, p := s.builds(), s.proxy()
		s.lines, s.rush = 120, true
		a.rounds(120, p)
		synctest.Wait()
		before := len(s.model.Requests())
		a.rounds(2, s.proxy())
		got := s.clearedCalls(s.model.Requests())
		first := got[before-1]
		if first < 10 || got[before] != first {
			t.Errorf("cleared: %v; of them %d requests before the restart", got, before)
		}
		if n := len(slices.Compact(slices.Clone(got))); !slices.IsSorted(got) || n > 8 {
			t.Errorf("cleared: %v", got)
		}
		if s.refused() > 0 {
			t.Errorf("%d requests were refused", s.refused())
		}
	})
}

// Some servers do not know the member context_management. A server that refuses it refuses one request, and the agent does not
// see that. A server that ignores it gets it once. After that the member is not sent again, not even after a restart (WIRE-1).
func TestClearsWhereItIsNotKnown(t *testing.T) {
	const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`
	for name, before := range map[string]func(body []byte, r *http.Request) *http.Response{
		"refused in other words": func(body []byte, _ *http.Request) *http.Response {
			if !bytes.Contains(body, []byte("context_management")) {
				return nil
			}
			return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
		},
		"refused": func(body []byte, _ *http.Request) *http.Response {
			if !bytes.Contains(body, []byte("context_management")) {
				return nil
			}
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(refusal))}
		},
		"passed over": func(body []byte, r *http.Request) *http.Response {
			if at := bytes.Index(body, []byte(`,"context_management"`)); at >= 0 {
				body = append(slices.Clone(body[:at]), '}')
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				asked := 0
				s.before = func(r *http.Request) *http.Response {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					if bytes.Contains(body, []byte("context_management")) && r.URL.Path == "/v1/messages" {
						asked++
					}
					return before(body, r)
				}
				a, p := s.builds(), s.proxy()
				for range 2 {
					a.rounds(14, p)
					pause()
				}
				a.rounds(3, p)
				synctest.Wait()
				a.rounds(3, s.proxy())
				if asked > 1 || s.refused() > 0 {
					t.Errorf("asked %d times, %d refused", asked, s.refused())
				}
			})
		})
	}
}

// WIRE-1: if a refused request cannot be made without the member context_management, the client gets the refusal, whole.
func TestClearsRefusedForGood(t *testing.T) {
	strictly(t, func(s *strict) {
		const refusal = "the provider's own words"
		refusals := 0
		s.before = func(r *http.Request) *http.Response {
			x := r.Context().Value(exchangeKey{}).(*exchange)
			if x.clearing.calls == 0 || r.URL.Path != "/v1/messages" {
				return nil
			}
			refusals++
			plan := x.recovery.reading.plan.Clone()
			plan.Edits = append(plan.Edits, llm.Edit{Text: "one text"}, llm.Edit{Text: "another one there"}) // it cannot be made
			plan.Omissions = append(plan.Omissions, trim.Omission{}, trim.Omission{})
			x.recovery.reading.plan = plan
			return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{}, Body: &closable{Reader: strings.NewReader(refusal)}}
		}
		a, p := s.builds(), s.proxy()
		a.rounds(14, p)
		pause()
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(a.body())))
		if w.Code != http.StatusUnprocessableEntity || w.Body.String() != refusal || refusals != 1 {
			t.Errorf("%d %s, after %d refusals", w.Code, w.Body, refusals)
		}
	})
}

// closable is a body that cannot be read after it is closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Read(b []byte) (int, error) {
	if c.closed {
		return 0, io.ErrClosedPipe
	}
	return c.Reader.Read(b)
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// Nothing is cleared under other policies, if clearing is turned off, if the proxy only observes, in a conversation with tools of
// a server, and where thinking is not checked.
func TestClearsOnlyThere(t *testing.T) {
	for name, set := range map[string]func(s *strict, a *session){
		"lossless":          func(s *strict, _ *session) { s.config.History.Policy = trim.Lossless },
		"turned off":        func(s *strict, _ *session) { s.config.KeepResults = true },
		"observed":          func(s *strict, _ *session) { s.config.Observe = true },
		"tools of a server": func(_ *strict, a *session) { a.extra = `,"metadata":{"server_tool_use":"yes"}` },
		"of another server": func(_ *strict, a *session) { a.extra = `,"metadata":{"mcp_tool_use":"yes"}` },
		"no thinking":       func(s *strict, a *session) { a.model = "claude-sonnet-4-5" },
	} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				a := s.builds()
				set(s, a)
				p := s.proxy()
				a.rounds(14, p)
				pause()
				a.rounds(3, p)
				for i, n := range s.clearedCalls(s.model.Requests()) {
					if n > 0 {
						t.Errorf("request %d has %d calls cleared", i, n)
					}
				}
			})
		})
	}
}

// WIRE-2: the provider counts calls of its own tools too, so that nothing can be cleared behind the first of them. Where a request offers such
// tools, clearing does not begin: what was cleared would be there again as soon as the model calls one.
func TestClearsNotBeforeServerTools(t *testing.T) {
	strictly(t, func(s *strict) {
		a := s.builds()
		a.extra = `,"mcp_servers":[{"type":"url","url":"https://mcp.test","name":"mcp"}]`
		builds := s.does
		s.does = func(req *llm.Request) (llm.Response, error) {
			answer, err := builds(req)
			if len(req.Messages) > 36 {
				call := llm.Part{Kind: llm.Opaque, Raw: `{"type":"mcp_tool_use","id":"m","name":"n","server_name":"mcp","input":{}}`}
				result := llm.Part{Kind: llm.Opaque, Raw: `{"type":"mcp_tool_result","tool_use_id":"m","content":[]}`}
				answer.Message.Parts = slices.Insert(answer.Message.Parts, 1, call, result)
			}
			return answer, err
		}
		p := s.proxy()
		a.rounds(14, p)
		pause()
		a.rounds(8, p)
		got := s.clearedCalls(s.model.Requests())
		if !slices.IsSorted(got[1:]) || s.refused() > 0 {
			t.Errorf("what was cleared did not stay so: %v; %d requests were refused", got, s.refused())
		}
	})
}

// turnless is a store that has lost all turns, and the cold points with them.
type turnless struct{ *recordtest.Memory }

func (turnless) Turns(context.Context, []uint64) ([]record.Turn, error) { return nil, nil }

// WIRE-2: what the provider was asked to clear is cleared in each later request, under every policy, and also if the cold points
// are lost. Later results do not point to it.
func TestClearsStay(t *testing.T) {
	for name, set := range map[string]func(c *Config){
		"lossless":    func(c *Config) { c.History.Policy = trim.Lossless },
		"keep-latest": func(c *Config) { c.History.Policy = trim.KeepLatest },
		"finish":      func(c *Config) { c.History.Policy = trim.Finish },
		"off":         func(c *Config) { c.History.Policy = trim.Off },
		"observe":     func(c *Config) { c.Observe = true },
		"no turns":    func(c *Config) { c.Store = turnless{c.Store.(*recordtest.Memory)} },
		"other rules": func(c *Config) { c.History.KeepReads = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				a := s.builds()
				p := s.proxy()
				a.rounds(14, p)
				pause()
				a.rounds(4, p)
				synctest.Wait()
				before := len(s.model.Requests())
				calls := s.clearedCalls(s.model.Requests())[before-1]
				c := s.config
				c.Store, c.Transport, c.Upstreams = s.store, s, llm.Upstreams{llm.Messages: "http://model.test"}.Or(c.Upstreams)
				set(&c)
				a.answers = 0 // the commands print again what was cleared
				for range 2 { // the second proxy goes on with what the first one stored
					p, err := New(c)
					if err != nil {
						s.t.Fatal(err)
					}
					s.proxies = append(s.proxies, p)
					a.rounds(3, p)
					synctest.Wait()
				}
				got := s.clearedCalls(s.model.Requests()[before:])
				if want := slices.Repeat([]int{calls}, 12); calls == 0 || !slices.Equal(got, want) || s.refused() > 0 {
					s.t.Errorf("%d calls were cleared, then %v; %d requests were refused", calls, got, s.refused())
				}
				if strings.Contains(s.sent(), "shown above") {
					s.t.Error("a result points to what is cleared")
				}
			})
		})
	}
}
