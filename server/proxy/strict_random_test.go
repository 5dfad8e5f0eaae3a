package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// cutStore refuses the writes of a killed process.
type cutStore struct {
	*recordtest.Memory
	killed atomic.Bool
}

func (c *cutStore) Append(ctx context.Context, b record.Batch) error {
	if c.killed.Load() {
		return errors.New("the process was killed")
	}
	return c.Memory.Append(ctx, b)
}

// twin is the same conversation twice: through proxies, and without a proxy.
type twin struct {
	with, without []json.RawMessage // messages
	model         string
	deferred      int    // number of tools that are deferred
	extra         string // more members of the body
	strips        bool   // the client sends no thinking, although it has it
	name          string // the id by which the client tells its conversations apart; "": it sends none
}

func (w *twin) clone() *twin {
	c := *w
	c.with, c.without = slices.Clone(w.with), slices.Clone(w.without)
	return &c
}

func (w *twin) say(text string) {
	m := json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text))
	w.with, w.without = append(w.with, m), append(w.without, m)
}

func (w *twin) cut(n int) { w.with, w.without = w.with[:n:n], w.without[:n:n] }

// withoutThinking returns a message without its thinking.
func withoutThinking(m json.RawMessage) json.RawMessage {
	var v struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(m, &v) != nil {
		return m
	}
	v.Content = slices.DeleteFunc(v.Content, func(b json.RawMessage) bool { return strings.Contains(string(b), `"type":"thinking"`) })
	out, _ := json.Marshal(v) // it was decoded from JSON
	return out
}

// forget removes the thinking of the first n messages from the client's copy.
func (w *twin) forget(n int) {
	for i := range n {
		w.with[i], w.without[i] = withoutThinking(w.with[i]), withoutThinking(w.without[i])
	}
}

func (w *twin) body(messages []json.RawMessage) string {
	var said []string
	for _, m := range messages {
		if w.strips {
			m = withoutThinking(m)
		}
		said = append(said, string(m))
	}
	tools := `{"name":"Bash","input_schema":{}},{"name":"Read","input_schema":{}},{"name":"Edit","input_schema":{}},{"name":"Write","input_schema":{}}`
	for i := range w.deferred {
		tools += fmt.Sprintf(`,{"name":"more_%d","description":%q,"input_schema":{},"defer_loading":true}`, i, strings.Repeat("It helps. ", 50))
	}
	extra := w.extra
	if w.name != "" {
		extra += fmt.Sprintf(`,"metadata":{"user_id":"user_x_session_%s"}`, w.name)
	}
	return fmt.Sprintf(`{"model":%q%s,"max_tokens":99,"cache_control":{"type":"ephemeral"},"system":%q,"tools":[%s],"messages":[%s]}`,
		w.model, extra, "You help in /home/me/project. "+strings.Repeat("Follow the rule. ", 100), tools, strings.Join(said, ","))
}

// boundSession does random things in a session with a provider that binds thinking.
type boundSession struct {
	*strict
	*rand.Rand
	seed     uint64
	now      *twin
	others   []*twin
	stores   *cutStore // the store of the proxy
	proxy    *Proxy
	second   *Proxy
	secondOf *cutStore
	policies []trim.Policy
	did      []string
	lose     bool // the answer to the next request is lost on its way
	failed   bool
}

func (b *boundSession) start() (*Proxy, *cutStore) {
	store := &cutStore{Memory: b.store}
	c := b.config
	c.Store, c.Transport, c.Upstreams = store, b, llm.Upstreams{llm.Messages: "http://model.test"}.Or(c.Upstreams)
	c.History.Policy = b.policies[b.IntN(len(b.policies))]
	c.Memory = []int64{0, -1, 1 << 17}[b.IntN(3)]
	p, err := New(c)
	if err != nil {
		b.t.Fatal(err)
	}
	b.proxies = append(b.proxies, p)
	return p, store
}

// RoundTrip implements http.RoundTripper: it asks the model, and loses the answer if lose is set.
func (b *boundSession) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.strict.RoundTrip(r)
	if b.lose && r.URL.Path == "/v1/messages" {
		b.lose = false
		return nil, errors.New("the connection broke off")
	}
	return resp, err
}

func (b *boundSession) post(h http.Handler, path, body string) (int, string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Anthropic-Beta", strictmodel.ManagingBeta)
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// ask sends the conversation through the proxy and without it. It reports whether it passed without a proxy.
func (b *boundSession) ask(h http.Handler) bool {
	w := b.now
	plain := w.body(w.without)
	if code, _ := b.post(b.strict.model, "/v1/messages/count_tokens", plain); code != 200 {
		return false
	}
	if b.IntN(3) == 0 {
		if code, answer := b.post(h, "/v1/messages/count_tokens", w.body(w.with)); code != 200 {
			b.refused("count_tokens", answer)
			return true
		}
	}
	code, answer := b.post(h, "/v1/messages", w.body(w.with))
	for tries := 0; code >= 500 && tries < 3; tries++ {
		code, answer = b.post(h, "/v1/messages", w.body(w.with))
	}
	if code != 200 {
		b.refused("messages", answer)
		return true
	}
	_, bare := b.post(b.strict.model, "/v1/messages", plain)
	w.with, w.without = b.hear(w.with, answer), b.hear(w.without, bare)
	time.Sleep(time.Duration(b.IntN(3)) * 5 * time.Second)
	return true
}

func (b *boundSession) refused(what, answer string) {
	b.failed = true
	b.t.Errorf("seed %d, %s: %s\n%s", b.seed, what, answer, strings.Join(b.did, ", "))
}

// hear adds an answer and the results of its calls.
func (b *boundSession) hear(messages []json.RawMessage, answer string) []json.RawMessage {
	var got struct {
		Content json.RawMessage `json:"content"`
	}
	var blocks []struct {
		Type, ID, Name string
		Input          json.RawMessage
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(got.Content, &blocks); err != nil {
		b.t.Fatal(err)
	}
	messages = append(messages, json.RawMessage(`{"role":"assistant","content":`+string(got.Content)+`}`))
	var results []string
	for _, call := range blocks {
		if call.Type == "tool_use" {
			results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, call.ID, resultOf(call.Name, string(call.Input), len(messages))))
		}
	}
	if results == nil {
		return append(messages, json.RawMessage(`{"role":"user","content":"Go on."}`))
	}
	return append(messages, json.RawMessage(`{"role":"user","content":[`+strings.Join(results, ",")+`]}`))
}

// resultOf returns what a call prints at a point of the conversation.
func resultOf(name, args string, at int) string {
	var b strings.Builder
	switch name {
	case "Read":
		for i := range 60 {
			fmt.Fprintf(&b, "%6d\tline %d of a file %s that is read more than once\n", i+1, i+1, args)
		}
	case "Bash":
		for i := range 60 {
			fmt.Fprintf(&b, "%d ok: built one more of the targets of %s\n", i+at/12, args)
		}
	default:
		return "The file was changed."
	}
	return b.String()
}

// does is the model. Its answer depends only on the length and the words of the conversation.
func (b *boundSession) does(req *llm.Request) (llm.Response, error) {
	h := fnv.New64a()
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
		for _, p := range m.Parts {
			if p.Kind == llm.Text {
				_, _ = h.Write([]byte(p.Text))
			}
		}
	}
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(n)))
	parts := []llm.Part{{Kind: llm.Thinking, Text: fmt.Sprintf("thought %d %s", n, strings.Repeat("and on ", r.IntN(60)))}, {Text: fmt.Sprintf("I go on with %d.", r.IntN(1000))}}
	if b.quiet {
		parts = parts[1:]
	}
	if r.IntN(4) == 0 && !b.quiet {
		parts = slices.Insert(parts, 1, llm.Part{Kind: llm.Opaque, Raw: `{"type":"redacted_thinking","data":"x"}`})
	}
	for i := range r.IntN(4) { // without a call, the loop of tools ends
		if r.IntN(4) == 0 && !b.quiet {
			parts = append(parts, llm.Part{Kind: llm.Thinking, Text: "and then"})
		}
		c := llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprintf("c%d_%d_%d", n, i, r.IntN(1000))}
		file := fmt.Sprintf("/home/me/project/%c.go", 'a'+r.IntN(3))
		switch r.IntN(6) {
		case 0, 1:
			c.Name, c.Args = "Read", fmt.Sprintf(`{"file_path":%q}`, file)
		case 2:
			c.Name, c.Args = "Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"%s","new_string":"x%d"}`, file, strings.Repeat("old text ", 60), n)
		case 3:
			c.Name, c.Args = "Write", fmt.Sprintf(`{"file_path":%q,"content":"%s"}`, file, strings.Repeat("new text ", 60))
		default:
			c.Name, c.Args = "Bash", fmt.Sprintf(`{"command":"make %d"}`, r.IntN(3))
		}
		parts = append(parts, c)
	}
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
}

// turn returns a random place at which the conversation can be cut: behind a message of the user.
func (b *boundSession) turn() int { return 1 + 2*b.IntN((len(b.now.with)+1)/2) }

func (b *boundSession) all() map[string]func() {
	return map[string]func(){
		"work":  func() {},
		"pause": func() { time.Sleep([]time.Duration{310 * time.Second, 62 * time.Minute, 30 * time.Hour}[b.IntN(3)]) },
		"restart": func() {
			if err := b.proxy.Close(context.Background()); err != nil {
				b.t.Error(err)
			}
			b.proxy, b.stores = b.start()
		},
		"kill": func() { b.stores.killed.Store(true); b.proxy, b.stores = b.start() },
		"midkill": func() {
			b.lose = true
			b.post(b.proxy, "/v1/messages", b.now.body(b.now.with))
			b.stores.killed.Store(true)
			b.lose = false
			b.proxy, b.stores = b.start()
		},
		"lost": func() { b.lose = true },
		"through": func() {
			if b.second == nil {
				b.second, b.secondOf = b.start()
			}
			b.proxy, b.stores, b.second, b.secondOf = b.second, b.secondOf, b.proxy, b.stores
		},
		"fork": func() {
			b.others = append(b.others, b.now.clone())
			b.now.name = fmt.Sprint(b.IntN(1000))
			b.now.cut(b.turn())
			b.now.say(fmt.Sprint("another way: ", b.Int()))
		},
		"new": func() {
			b.others = append(b.others, b.now.clone())
			b.now = &twin{model: b.now.model}
			b.now.say(fmt.Sprint("go on with ", b.Int()))
		},
		"turn": func() {
			if n := len(b.others); n > 0 {
				i := b.IntN(n)
				b.now, b.others[i] = b.others[i], b.now
			}
		},
		"back":  func() { b.now.cut(b.turn()); b.now.say(fmt.Sprint("in other words: ", b.Int())) },
		"again": func() { b.now.cut(b.turn()) },
		"edit": func() { // changes an older message, and removes all thinking from there on
			n := b.turn() - 1
			w := b.now
			m := json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, fmt.Sprint("cleared ", b.Int())))
			if n == 0 {
				w.with[0], w.without[0] = m, m
			}
			for i := n; i < len(w.with); i++ {
				w.with[i], w.without[i] = withoutThinking(w.with[i]), withoutThinking(w.without[i])
			}
		},
		"model": func() {
			b.now.model = []string{"claude-opus-5-5", "claude-fable-5-1", "claude-sonnet-4-5", "claude-opus-5", "my-own-model"}[b.IntN(5)]
		},
		"tools":   func() { b.now.deferred = b.IntN(20) },
		"strip":   func() { b.now.strips = !b.now.strips },
		"forget":  func() { b.now.forget(b.turn()) },
		"quiet":   func() { b.quiet = !b.quiet },
		"compact": func() { b.now.cut(0); b.now.say(fmt.Sprint("So far: ", b.Int())) },
		"manage": func() {
			if b.now.extra == "" {
				b.now.extra = `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`
			} else {
				b.now.extra = ""
			}
		},
		"direct": func() { // goes past the proxy, as long as the provider accepts it
			for range 1 + b.IntN(3) {
				w := b.now
				if code, _ := b.post(b.strict.model, "/v1/messages/count_tokens", w.body(w.with)); code == 200 {
					b.ask(b.strict.model)
				}
			}
		},
	}
}

// plays does n random actions of the named kinds.
func (b *boundSession) plays(n int, kinds []string) {
	all := b.all()
	for range n {
		name := kinds[b.IntN(len(kinds))]
		if b.IntN(3) == 0 {
			name = "work"
		}
		before := b.now.clone()
		all[name]()
		b.did = append(b.did, fmt.Sprintf("%s (%d)", name, len(b.now.with)))
		for i := range 1 + b.IntN(4) {
			passed := b.ask(b.proxy)
			if b.failed {
				return
			}
			if !passed {
				b.did = append(b.did, "undone")
				if i == 0 {
					b.now = before
				}
				break
			}
		}
	}
}

// WIRE-1, WIRE-2: in random sessions no request is refused that would pass without stet.
func TestNothingIsRefusedAtRandom(t *testing.T) {
	from, seeds, steps, policies := uint64(1), uint64(1), 10, []trim.Policy{trim.Adaptive, trim.Bold}
	if first, long := soaks(); long {
		from, seeds, steps, policies = first, 20, 25, trim.Policies()
	}
	for _, kinds := range []string{
		"pause restart kill midkill lost", "fork turn back again new edit pause", "fork turn back again kill restart", "model pause kill", "tools pause restart",
		"strip forget pause restart", "quiet manage pause kill", "direct pause kill", "through pause fork turn", "compact pause restart strip model",
		"pause restart kill midkill lost fork turn back again new edit model tools strip forget quiet manage direct through compact",
	} {
		for _, policy := range policies {
			t.Run(kinds+"/"+string(policy), func(t *testing.T) {
				for seed := from; seed < from+seeds; seed++ {
					playBoundSession(t, seed, steps, strings.Fields(kinds), policy)
				}
			})
		}
	}
}

func playBoundSession(t *testing.T, seed uint64, steps int, kinds []string, policies ...trim.Policy) {
	strictly(t, func(s *strict) { playBoundSessionBy(s, seed, steps, kinds, policies...) })
}

func playBoundSessionBy(s *strict, seed uint64, steps int, kinds []string, policies ...trim.Policy) {
	b := &boundSession{strict: s, Rand: rand.New(rand.NewPCG(seed, 7)), seed: seed, policies: policies}
	s.config.History = trim.Config{KeepReads: 1}
	s.does = b.does
	b.now = &twin{model: "claude-opus-5-5"}
	b.now.say("go on")
	b.proxy, b.stores = b.start()
	b.plays(steps, kinds)
	synctest.Wait()
}

// WIRE-1, WIRE-2: the agent takes answers back, lets the provider manage its context, and gets the same answers again. After that
// it sends messages that were sent before.
func TestManagedAgain(t *testing.T) {
	kinds := strings.Fields("pause restart kill midkill lost fork turn back again new edit model tools strip forget quiet manage direct through compact")
	for _, policy := range trim.Policies() {
		t.Run(string(policy), func(t *testing.T) { playBoundSession(t, 4, 16, kinds, policy) })
	}
}
