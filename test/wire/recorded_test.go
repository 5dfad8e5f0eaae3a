package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// largest is the longest request of a recorded session that is played, in bytes. The session ends there.
const largest = 1 << 20

// recordings returns the recorded sessions, or skips the test.
func recordings(t *testing.T) (all []*transcript.Session) {
	t.Helper()
	dir := os.Getenv("STET_TRANSCRIPTS")
	if dir == "" {
		t.Skip("no recordings: set STET_TRANSCRIPTS to a folder of session files")
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		sessions, err := transcript.Opener{}.Open(path)
		if err == nil {
			all = append(all, sessions...)
		}
		return nil // a file that is not a session is not played
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// setting is how sessions are played.
type setting struct {
	policies []trim.Policy
	proxies  int  // number of proxies with one store
	changes  bool // the policy changes at random turns
	loses    bool // the store is lost at random turns
	account  strictmodel.Account
}

// replayed is a recorded session, played as one whose thinking is bound. The model thinks, and then repeats the recorded answer.
type replayed struct {
	t       *testing.T
	rand    *rand.Rand
	model   *llmtest.Server
	next    llm.Message // the next answer of the model
	store   record.Store
	config  proxy.Config
	running []*proxy.Proxy
	started []*proxy.Proxy
	setting
	now time.Time // in the recording

	tools    []tool.Spec
	head     []llm.Message
	messages []llm.Message
	open     []string // ids of calls without a result
	seen     map[string]bool

	turns, sent, full int
	thread            *thread // the session's message thread; nil: none
}

// RoundTrip implements http.RoundTripper: it asks the model.
func (r *replayed) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if req.URL.Path == "/v1/messages" {
		r.sent += int(req.ContentLength)
	}
	r.model.ServeHTTP(w, req)
	return w.Result(), nil
}

func (r *replayed) start() *proxy.Proxy {
	c := r.config
	c.Store, c.Transport, c.Upstreams = r.store, r, llm.Upstreams{llm.Messages: "http://model.test"}.Or(c.Upstreams)
	p, err := proxy.New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.started = append(r.started, p)
	return p
}

// disturb restarts a proxy at random turns. If the setting asks for it, it also changes the policy or loses the store.
func (r *replayed) disturb() {
	i := r.rand.IntN(len(r.running))
	switch n := r.rand.IntN(60); {
	case n < 2: // the proxy is not closed, as after a kill, so it may not have written its last answers
		r.running[i] = r.start()
	case n < 4:
		if err := r.running[i].Close(context.Background()); err != nil {
			r.t.Error(err)
		}
		r.running[i] = r.start()
	case n < 5 && r.loses:
		r.store = new(recordtest.Memory)
		r.running[i] = r.start()
	case n == 5 && r.changes:
		r.config.History.Policy = trim.Policies()[r.rand.IntN(len(trim.Policies()))]
		r.running[i] = r.start()
	}
}

// play plays the session s. It ends early if the model refuses a request, or if a request becomes too long.
func (r *replayed) play(s *transcript.Session) {
	names := map[string]bool{}
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Kind == llm.ToolCall && !names[p.Name] && p.Name != "" {
				names[p.Name] = true
				r.tools = append(r.tools, tool.Spec{Name: p.Name, Schema: []byte(`{"type":"object"}`)})
			}
		}
	}
	r.head = []llm.Message{{Role: llm.System, Parts: []llm.Part{{Text: "You help. Working directory: " + cmp.Or(s.Dir, "/home/me/project")}}}}
	r.begin()
	for i, m := range s.Messages {
		if m.Local {
			continue
		}
		if slices.Contains(s.Starts, i) {
			r.begin()
		}
		if !m.Time.IsZero() {
			if gap := m.Time.Sub(r.now); !r.now.IsZero() && gap > 0 {
				time.Sleep(min(gap, 3*time.Hour)) // the time of the synctest bubble
			}
			r.now = m.Time
		}
		switch m.Role {
		case llm.Assistant:
			r.settle()
			if last := r.messages; len(last) == 0 || last[len(last)-1].Role == llm.Assistant {
				r.user("go on")
			}
			answer := r.legal(m)
			if slices.Contains(s.Carried, i) {
				r.messages = append(r.messages, answer)
			} else if !r.ask(answer) {
				return
			}
		case llm.Tool:
			r.results(m)
		case llm.User:
			r.settle()
			for _, p := range m.Parts {
				if p.Kind == llm.Text && strings.TrimSpace(p.Text) != "" {
					r.user(p.Text)
				}
			}
		}
	}
}

// begin starts a new context.
func (r *replayed) begin() {
	if r.thread != nil {
		r.thread.previous = ""
	}
	r.messages, r.open, r.seen = nil, nil, map[string]bool{}
}

func (r *replayed) user(text string) {
	r.messages = append(r.messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}})
}

// legal returns a recorded answer in a form that the provider accepts in later requests.
func (r *replayed) legal(m llm.Message) llm.Message {
	out := llm.Message{Role: llm.Assistant}
	for _, p := range m.Parts {
		switch {
		case p.Kind == llm.Text && strings.TrimSpace(p.Text) != "":
			out.Parts = append(out.Parts, llm.Part{Text: p.Text})
		case p.Kind == llm.ToolCall && p.Name != "" && p.CallID != "" && !r.seen[p.CallID]:
			if args := map[string]any{}; json.Unmarshal([]byte(p.Args), &args) != nil {
				text, _ := json.Marshal(map[string]string{"input": p.Args}) // a string can always be encoded
				p.Args = string(text)
			}
			r.seen[p.CallID] = true
			r.open = append(r.open, p.CallID)
			out.Parts = append(out.Parts, llm.Part{Kind: llm.ToolCall, CallID: p.CallID, Name: p.Name, Args: p.Args})
		}
	}
	if len(out.Parts) == 0 {
		out.Parts = []llm.Part{{Text: "Well."}}
	}
	return out
}

// results adds the results of calls that have none yet.
func (r *replayed) results(m llm.Message) {
	out := llm.Message{Role: llm.Tool}
	for _, p := range m.Parts {
		if i := slices.Index(r.open, p.CallID); p.Kind == llm.ToolResult && i >= 0 {
			r.open = slices.Delete(r.open, i, i+1)
			out.Parts = append(out.Parts, llm.Part{Kind: llm.ToolResult, CallID: p.CallID, Text: p.Text, IsError: p.IsError})
		}
	}
	if len(out.Parts) > 0 {
		r.messages = append(r.messages, out)
	}
}

// settle adds results for calls that were never answered.
func (r *replayed) settle() {
	out := llm.Message{Role: llm.Tool}
	for _, id := range r.open {
		out.Parts = append(out.Parts, llm.Part{Kind: llm.ToolResult, CallID: id, Text: "interrupted", IsError: true})
	}
	if r.open = nil; len(out.Parts) > 0 {
		r.messages = append(r.messages, out)
	}
}

// ask sends the conversation. answer is what the model answers.
func (r *replayed) ask(answer llm.Message) bool {
	r.next = answer
	if r.turns%7 != 6 { // in one turn of seven the model does not think
		r.next.Parts = append([]llm.Part{{Kind: llm.Thinking, Text: fmt.Sprintf("thought %d", r.turns)}}, answer.Parts...)
	}
	if r.thread != nil {
		r.disturb()
		return r.thread.ask(r)
	}
	req := llm.Request{Model: apis[0].model, MaxTokens: 900, Tools: r.tools, Messages: append(slices.Clone(r.head), r.messages...)}
	body, err := anthropic.Messages{}.Encode(&req)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(body) > largest {
		return false
	}
	r.disturb()
	w := httptest.NewRecorder()
	to := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(string(body)))
	to.Header.Set("Content-Type", "application/json")
	r.running[r.turns%len(r.running)].ServeHTTP(w, to)
	r.turns++
	r.full += len(body)
	if w.Code != http.StatusOK {
		r.t.Errorf("turn %d: %d %.300s", r.turns, w.Code, w.Body)
		return false
	}
	resp, err := anthropic.Messages{}.DecodeResponse(w.Body.Bytes())
	if err != nil {
		r.t.Error(err)
		return false
	}
	r.messages = append(r.messages, resp.Message)
	return true
}

func replay(t *testing.T, set setting) {
	for _, policy := range set.policies {
		sessions, turns, sent, full, refused := 0, 0, 0, 0, 0
		playAll(t, policy, set, func(*replayed) {}, func(r *replayed) {
			sessions, turns, sent, full, refused = sessions+1, turns+r.turns, sent+r.sent, full+r.full, refused+r.refused()
			if most := r.mayRefuse(); r.refused() > most {
				r.t.Errorf("%d requests were refused, where %d may be", r.refused(), most)
			}
		})
		if full > 0 {
			t.Logf("%s: %d sessions, %d turns, %.1f %% of the bytes saved, %d requests refused", policy, sessions, turns, 100*(1-float64(sent)/float64(full)), refused)
		}
	}
}

// refused counts the requests that the model refused.
func (r *replayed) refused() (n int) {
	for _, request := range r.model.Requests() {
		if request.Status == http.StatusBadRequest {
			n++
		}
	}
	return n
}

// mayRefuse returns how many requests the model may refuse without the client seeing it. There are none if the proxy knows the
// form of everything that was sent.
func (r *replayed) mayRefuse() int {
	if r.loses {
		return r.turns
	}
	return 0
}

// playAll plays every recorded session. It calls before and after with each one.
func playAll(t *testing.T, policy trim.Policy, set setting, before, after func(*replayed)) {
	for n, s := range recordings(t) {
		t.Run(fmt.Sprintf("%s/%s/%d", policy, s.Format, n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &replayed{t: t, rand: rand.New(rand.NewPCG(1, uint64(n))), store: new(recordtest.Memory), setting: set}
				r.config.History = trim.Config{Policy: policy}
				before(r)
				var err error
				r.model, err = strictmodel.Start(llmtest.Config{Listener: new(llmtest.Memory), Rules: &strictmodel.Rules{Account: set.account}, Handler: func(*llm.Request) (llm.Response, error) {
					return llm.Response{Message: r.next}, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer r.model.Close()
				defer func() {
					for _, p := range r.started {
						if err := p.Close(context.Background()); err != nil {
							t.Error(err)
						}
					}
				}()
				for range set.proxies {
					r.running = append(r.running, r.start())
				}
				r.play(s)
				after(r)
			})
		})
	}
}

// WIRE-1: no request of a recorded session with signed thinking fails through a proxy that is restarted at random turns.
func TestRecorded(t *testing.T) { replay(t, setting{policies: trim.Policies(), proxies: 1}) }

var adaptive = []trim.Policy{trim.Adaptive}

// The same, through two proxies with one store.
func TestRecordedByTwo(t *testing.T) { replay(t, setting{policies: adaptive, proxies: 2}) }

// The same, with a policy that changes at random turns.
func TestRecordedPolicies(t *testing.T) {
	replay(t, setting{policies: adaptive, proxies: 1, changes: true})
}

// The same, with a store that is lost at random turns.
func TestRecordedUpheavals(t *testing.T) {
	replay(t, setting{policies: adaptive, proxies: 1, loses: true})
}
