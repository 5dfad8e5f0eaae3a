package proxy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

// cache models a provider's cache. It reads the longest beginning of a request that was sent within its lifetime, at a price of
// 0.1, and writes the rest, at 1.25, or at 2 if it is to live for an hour.
type cache struct {
	lifetime time.Duration
	used     map[uint64]use // beginnings of prompts, by their hash
	cost     float64
	toolless bool // the tools are not part of its key
	headless bool // of the system text only the length is part of its key
	ends     bool // it only finds the ends of earlier requests
	least    int  // in tokens; it keeps no shorter prompt
}

// use says when something was read or written last, and how long it lives.
type use struct {
	at    time.Time
	lives time.Duration
}

func (u use) alive(at time.Time) bool { return u.lives > 0 && at.Sub(u.at) <= u.lives }

// keep records that a beginning is read or written.
func (c *cache) keep(key uint64, at time.Time, lives time.Duration) {
	if was := c.used[key]; was.alive(at) {
		lives = was.lives
	}
	c.used[key] = use{at, lives}
}

func (c *cache) ask(req *llm.Request, at time.Time) (u record.Usage) {
	var h prefix.Hasher
	lives, price := c.lifetime, 1.25
	if req.Caching.Lifetime == time.Hour {
		lives, price = max(lives, time.Hour), 2
	}
	part := func(text string) {
		if prefix.Volatile(text) {
			return
		}
		h.Text(text)
		key := h.Sum64()
		u.CacheWrite += len(text) / 4
		if c.used[key].alive(at) {
			u.CacheRead, u.CacheWrite = u.CacheRead+u.CacheWrite, 0
		}
		if !c.ends {
			c.keep(key, at, lives)
		}
	}
	part(req.Model)
	for _, tool := range req.Tools {
		if !c.toolless && !tool.Deferred {
			part(tool.Name + tool.Description)
		}
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if c.headless && m.Role == llm.System {
				p.Text = strings.Repeat(" ", len(p.Text))
			}
			part(p.Text + p.Args)
		}
	}
	if prompt := u.CacheRead + u.CacheWrite; prompt < c.least {
		c.cost += float64(prompt)
		return record.Usage{Input: prompt}
	}
	c.keep(h.Sum64(), at, lives)
	c.cost += 0.1*float64(u.CacheRead) + price*float64(u.CacheWrite)
	return u
}

// trial is a conversation that is sent twice: through a proxy to one cache, and past the proxy to another cache of the same kind.
type trial struct {
	*testing.T
	proxy        *Proxy
	with, direct *cache
	at           time.Time
	model        string
	system       []string
	tools        string
	later        string // a tool that the model must search for; "": there is none
	marked       bool
	responses    bool // uses the Responses API, not Messages
	forks        bool // there are so many forks that the account may say too much, because it goes by the request before
	said         []llm.Message
	rows         []record.Request
	dearest      float64 // the most that the bill through the proxy was above the other one, as a share of that
}

func newTrial(t *testing.T, lifetime time.Duration, change ...func(*Config)) *trial {
	c := func() *cache { return &cache{lifetime: lifetime, used: map[uint64]use{}} }
	p := newProxy(t, append(change, func(c *Config) { c.History.Policy = trim.Adaptive })...)
	return &trial{T: t, proxy: p, with: c(), direct: c(), at: noon, model: "claude-sonnet-4-5", system: []string{"You help. " + strings.Repeat("rule ", 1100)}}
}

// body returns a request of the conversation with says as the last message.
func (k *trial) body(says ...string) []byte {
	k.Helper()
	req := &llm.Request{Model: k.model, MaxTokens: 9, Messages: []llm.Message{{Role: llm.System}}}
	for _, s := range k.system {
		req.Messages[0].Parts = append(req.Messages[0].Parts, llm.Part{Text: s})
	}
	req.AddTool("Bash", "runs"+k.tools, []byte(`{"type":"object"}`))
	req.Messages = append(req.Messages, k.said...)
	if len(says) > 0 {
		req.Messages = append(req.Messages, words(llm.User, says...))
	}
	body, err := k.to().codec.Encode(req)
	if err != nil {
		k.Fatal(err)
	}
	if k.later != "" {
		body = bytes.Replace(body, []byte(`"tools":[`), fmt.Appendf(nil, `"tools":[{"name":%q,"defer_loading":true,"input_schema":{"type":"object"}},`, k.later), 1)
	}
	if k.marked {
		body = markLast(body)
	}
	return body
}

func (k *trial) to() endpoint {
	if k.responses {
		return k.proxy.endpoints.responses
	}
	return k.proxy.endpoints.messages
}

// decode returns what the provider decodes from a body.
func (k *trial) decode(body []byte) *llm.Request {
	k.Helper()
	req, err := k.to().codec.Decode(body)
	if err != nil {
		k.Fatal(err)
	}
	return req
}

// ask sends the conversation with says as the last message.
func (k *trial) ask(says ...string) {
	k.Helper()
	body := k.body(says...)
	k.direct.ask(k.decode(body), k.at)
	x := prepareAt(k, k.proxy, k.to(), body, k.at)
	x.row.Usage = k.with.ask(k.decode(bytes.Clone(x.body.text())), k.at)
	row, said := settleAt(k.proxy, x, k.at)
	k.rows = append(k.rows, row)
	k.dearest = max(k.dearest, k.with.cost/k.direct.cost-1)
	if !k.forks && float64(said) > k.direct.cost-k.with.cost+1 {
		k.Errorf("the account says that %d were saved, of %.0f", said, k.direct.cost-k.with.cost)
	}
}

func words(role llm.Role, texts ...string) llm.Message {
	m := llm.Message{Role: role}
	for _, s := range texts {
		m.Parts = append(m.Parts, llm.Part{Text: s})
	}
	return m
}

// runs adds a command with an output of so many lines.
func (k *trial) runs(lines int) {
	i := len(k.said)
	var text strings.Builder
	for n := range lines {
		fmt.Fprintf(&text, "target %d of step %d was built in %d ms\n", n, i, (n*7919+i*104729)%9973)
	}
	id := fmt.Sprint("call_", i)
	k.said = append(k.said,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Bash", Args: fmt.Sprintf(`{"command":"make -j%d"}`, i)}}},
		llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: text.String()}}})
}

func (k *trial) coldPoints() (n int) {
	for _, r := range k.rows {
		if r.Cache.Moment != "" {
			n++
		}
	}
	return n
}

// An agent may do various things between its requests. The bill is not higher than without stet at the end. At no request is it
// higher by more than the share that is allowed for finding out how the provider's cache behaves.
func TestNeverDearer(t *testing.T) {
	for _, test := range []struct {
		name       string
		lifetime   time.Duration
		every      time.Duration
		before     func(k *trial, i int)
		coldPoints int // at most
		dearest    float64
	}{
		{"a header of the provider's", 5 * time.Minute, 20 * time.Second, func(k *trial, i int) {
			k.system = []string{fmt.Sprintf("x-anthropic-billing-header: v=1; cch=%05x;", i*7777), "You help."}
		}, 0, 0},
		{"a system text that is always new", 5 * time.Minute, 20 * time.Second, func(k *trial, i int) {
			k.system[0] = fmt.Sprint("It is ", i, " past noon.")
		}, 1, 0},
		{"models in turn", 5 * time.Minute, 20 * time.Second, func(k *trial, i int) {
			k.model = []string{"claude-sonnet-4-5", "claude-opus-4-5"}[i%2]
		}, 1, 0},
		{"a cache that lives longer", 55 * time.Minute, 6 * time.Minute, func(*trial, int) {}, 6, 0},
		{"and is not seen", 55 * time.Minute, 6 * time.Minute, func(k *trial, i int) {
			k.system[0] = strings.Repeat("rule ", 8_000)
		}, 6, 0},
		{"one pause that it outlives", 55 * time.Minute, 20 * time.Second, func(k *trial, i int) {
			if i == 20 {
				k.at = k.at.Add(6 * time.Minute)
			}
		}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newTrial(t, test.lifetime)
			k.said = []llm.Message{words(llm.User, "go")}
			for i := range 30 {
				test.before(k, i)
				k.ask()
				k.runs(60)
				k.at = k.at.Add(test.every)
			}
			t.Logf("%d cold points, %+.2f %% at worst, %+.2f %% at the end", k.coldPoints(), 100*k.dearest, 100*(k.with.cost/k.direct.cost-1))
			if k.coldPoints() > test.coldPoints || k.dearest > test.dearest || test.dearest == 0 && k.with.cost > k.direct.cost {
				t.Error("too many, or dearer")
			}
		})
	}
}

// TRIM-17: if nothing says for sure how long the cache lives, the first pause that it does not outlive is only observed. The
// second is a guess, at which this conversation has saved too little to have anything leave. The later ones are cold points.
func TestPauseThatTheCacheDoesNotOutlive(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	k.said = []llm.Message{words(llm.User, "go")}
	for range 12 {
		for range 3 {
			k.ask()
			k.runs(60)
			k.at = k.at.Add(20 * time.Second)
		}
		k.at = k.at.Add(15 * time.Minute)
	}
	saved := 1 - k.with.cost/k.direct.cost
	t.Logf("%d cold points, %+.2f %% at worst, %+.2f %% at the end", k.coldPoints(), 100*k.dearest, -100*saved)
	if k.coldPoints() < 8 || k.coldPoints() > 10 || k.dearest > 0 || saved < 0.05 {
		t.Error("too few, or dearer")
	}
}

// A prompt at a cold point may be taken back, continue in the same message, or lose the agent's reminder. What was sent at the
// cold point is sent again.
func TestPromptTakenBack(t *testing.T) {
	for _, test := range []struct {
		name        string
		first, then []string
		answered    bool
	}{
		{"taken back", []string{"do X"}, []string{"do Y"}, false},
		{"interrupted", []string{"do X"}, []string{"do X", "[Request interrupted by user]", "do Y"}, false},
		{"reminder", []string{"do X", "<system-reminder>plan mode</system-reminder>"}, []string{"do X"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newTrial(t, 5*time.Minute)
			k.said, k.marked = []llm.Message{words(llm.User, "go")}, true
			for range 24 {
				k.ask()
				k.runs(20)
				k.at = k.at.Add(20 * time.Second)
			}
			k.said = append(k.said, words(llm.Assistant, "done"))
			k.at = k.at.Add(time.Hour)
			k.ask(test.first...)
			if k.rows[24].Cache.Moment != string(trim.Gap) || k.with.cost >= k.direct.cost {
				t.Fatalf("%+v", k.rows[24].Cache)
			}
			with, direct := k.with.cost, k.direct.cost
			k.at = k.at.Add(30 * time.Second)
			if test.answered {
				k.said = append(k.said, words(llm.User, test.then...), words(llm.Assistant, "a plan"))
				test.then = []string{"go on"}
			}
			k.ask(test.then...)
			if row := k.rows[25]; row.Cache.Moment != "" || k.with.cost-with > k.direct.cost-direct {
				t.Errorf("%+v: %.0f, and %.0f without", row.Cache, k.with.cost-with, k.direct.cost-direct)
			}
		})
	}
}

// A change of the tools or the system text is a cold point, until the cache has outlived such a change once.
func TestToolsOrSystemTextChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(k *trial, to int)
	}{
		{"tools", func(k *trial, to int) { k.tools = fmt.Sprint(to) }},
		{"system", func(k *trial, to int) { k.system[1] = fmt.Sprint("Mode ", to) }},
	} {
		for _, outlives := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, outlives %v", test.name, outlives), func(t *testing.T) {
				k := newTrial(t, 5*time.Minute)
				k.said, k.system = []llm.Message{words(llm.User, "go")}, append(k.system, "")
				for _, c := range []*cache{k.with, k.direct} {
					c.toolless, c.headless = outlives && test.name == "tools", outlives && test.name == "system"
				}
				for i := range 60 {
					test.change(k, i/10)
					k.steps(1, 30)
				}
				t.Logf("%d cold points, %+.2f %%", k.coldPoints(), 100*(k.with.cost/k.direct.cost-1))
				if outlives && k.coldPoints() > 1 || !outlives && k.coldPoints() < 4 || k.with.cost > k.direct.cost {
					t.Error("too many, too few, or dearer")
				}
			})
		}
	}
}

// TRIM-17: if another model was asked meanwhile, the cache of a model is cold once that model was not asked for longer than its
// cache lives, even where the provider promises more.
func TestBackToModel(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	k.said = []llm.Message{words(llm.User, "go")}
	k.steps(10, 60)
	k.model = "claude-opus-4-5"
	k.steps(20, 10)
	k.model = "claude-sonnet-4-5"
	k.steps(2, 10)
	if got := k.rows[30].Cache.Moment; got != string(trim.Model) {
		t.Errorf("cold point %q", got)
	}
	k.checkBill(0.1)
}

// If the cache did not outlive several pauses, the shortest of them counts.
func TestShortestPauseCounts(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	k.said = []llm.Message{words(llm.User, "go")}
	for _, pause := range []time.Duration{40, 15, 40, 20} {
		k.steps(6, 60)
		k.at = k.at.Add(pause * time.Minute)
	}
	k.steps(1, 60)
	var coldPoints []string
	for i := 6; i <= 24; i += 6 {
		coldPoints = append(coldPoints, k.rows[i].Cache.Moment)
	}
	if got := fmt.Sprint(coldPoints); got != "[  gap guess]" {
		t.Errorf("%q", got)
	}
}

// Tools that the model must search for are not part of the prompt. A change of them is no cold point.
func TestDeferredTools(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
	for i := range 36 {
		if i >= 30 {
			k.later = fmt.Sprint("tool_", i/3)
		}
		k.steps(1, 60)
	}
	k.checkBill(0)
	if k.coldPoints() != 0 {
		t.Errorf("%d cold points", k.coldPoints())
	}
}

// A prompt that the provider's cache would keep is not made so short that the cache does not keep it: the first messages stay
// whole.
func TestLeastCacheablePrompt(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	k.marked, k.model, k.system = true, "claude-haiku-4-5", []string{"You help."}
	k.with.least, k.direct.least = 4096, 4096
	k.said = []llm.Message{words(llm.User, "go")}
	k.ask()
	k.reads(390)
	again := k.said[1:3]
	k.ask()
	k.said = append(k.said, again...)
	for range 30 {
		k.ask()
		k.runs(1)
		k.at = k.at.Add(20 * time.Second)
	}
	k.checkBill(0)
	k.reads(100) // enough stands before it
	again = k.said[len(k.said)-2:]
	k.ask()
	k.said = append(k.said, again...)
	k.ask()
	if k.with.cost >= k.direct.cost {
		t.Error("nothing is ever shortened")
	}
}
