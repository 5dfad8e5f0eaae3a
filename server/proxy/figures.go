package proxy

import (
	"cmp"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

// This file counts: estimated tokens, tools and their calls, the sums since the start (Totals), and the metrics.

// maxThrough is the largest number of paths that Totals.Through counts separately.
const maxThrough = 20

// OtherPaths is the key of Totals.Through for all paths beyond maxThrough.
const OtherPaths = "other paths"

// Totals are sums over the work of a [Proxy] since its start.
type Totals struct {
	Requests      int            // requests to models, without token counting and without requests passed through
	ByAPI         map[string]int // the same by record.Request.API, and also record.CountTokens
	Conversations int            // conversations of these Requests
	Errors        int            // Requests with a status of 400 and above, or without an answer
	Refused       int            // requests of every kind that stet answered with an error of its own
	Why           string         // the newest of these errors

	// Passed counts the Requests without a plan, by cause (docs/proxy.md lists them). All but the "incomplete" went untouched.
	Passed map[string]int
	// Through counts requests to no known API by path, without the query: the first 20 paths, and the rest under OtherPaths.
	Through map[string]int

	// TokensOff is the estimated size of all prompts as the clients sent them, and Tokens as planned. With Config.Observe, plans count
	// as if they had been sent.
	TokensOff, Tokens int
	Usage             record.Usage // as the providers reported it
	// USD is what these requests cost, and Saved what they would have cost more with all that was left out; not those of Unpriced requests,
	// whose price is not known.
	USD, Saved float64
	Unpriced   int
	// Unknown counts requests with members of usage that stet does not know, by their names: at most maxThrough of them.
	Unknown map[string]int

	// Reads are successful reads of files, each counted once. Each conversation adds the largest number that one of its requests had.
	Reads int
	// Shortened counts shortened results by reason (record.Trim.Reason). Each result counts once, however many requests contain it.
	Shortened map[string]int
	// Moments counts requests that were planned again because the provider's cache was assumed to be cold, by reason
	// (record.Cache.Moment). Alive counts those whose answer showed that the cache was warm.
	Moments map[string]int
	Alive   int
	// Limits are the sentences that were said of Caps, with how often: at most maxThrough of them.
	Limits map[string]int
	// Newest is the newest request of an agent itself, not of a sub-agent, that has usage; the zero value: there is none.
	Newest record.Request
	// Bound: a conversation was shortened before thinking that the provider checks. The provider may refuse it
	// when it is continued without stet.
	Bound bool
}

// add counts a request and its new trims.
func (t *Totals) add(row *record.Request, fresh []record.Trim) {
	increase(&t.ByAPI, row.API)
	for i := range fresh {
		increase(&t.Shortened, fresh[i].Reason)
	}
	if row.API == record.CountTokens {
		return
	}
	t.Requests++
	if row.Status == 0 || row.Status >= 400 {
		t.Errors++
	}
	if row.Passed != "" {
		increase(&t.Passed, row.Passed)
	}
	if row.Cache.Moment != "" {
		increase(&t.Moments, row.Cache.Moment)
	}
	if row.Cache.Alive {
		t.Alive++
	}
	t.TokensOff += row.TokensOff
	t.Tokens += row.Tokens
	t.Usage = t.Usage.Add(row.Usage)
	if row.Agent == "" && row.Usage.Prompt() > 0 && row.Time.After(t.Newest.Time) && (row.Conversation != t.Newest.Conversation || !row.Beside(&t.Newest)) {
		t.Newest = *row
	}
}

// answered counts what a request cost, and the members of its usage that are not known.
func (t *Totals) answered(b bill, names []string) {
	t.USD += b.usd
	t.Saved += b.saved
	if !b.known {
		t.Unpriced++
	}
	for _, name := range names {
		if t.Unknown[name] > 0 || len(t.Unknown) < maxThrough {
			increase(&t.Unknown, name)
		}
	}
}

// through counts a request to no known API.
func (t *Totals) through(path string) {
	if path = clip(path, 200); t.Through[path] == 0 && len(t.Through) >= maxThrough {
		path = OtherPaths
	}
	increase(&t.Through, path)
}

// limit counts a sentence that is said of a limit.
func (t *Totals) limit(text string) {
	if len(t.Limits) < maxThrough {
		increase(&t.Limits, text)
	}
}

// counted returns an error with which stet answers a request, and counts it.
func (p *Proxy) counted(f *failure) *failure {
	p.conversations.count(func(t *Totals) {
		t.Refused++
		t.Why = strings.TrimPrefix(f.message, "stet: ")
	})
	return f
}

func (t *Totals) bind() { t.Bound = true }

// Add returns the sums of t and of the totals of another proxy.
func (t Totals) Add(more Totals) Totals {
	out := t.clone()
	from := more.byName()
	for i, to := range out.byName() {
		for key, n := range *from[i] {
			if *to == nil {
				*to = map[string]int{}
			}
			(*to)[key] += n
		}
	}
	out.Requests += more.Requests
	out.Conversations += more.Conversations
	out.Errors += more.Errors
	out.Refused += more.Refused
	out.Why = cmp.Or(more.Why, out.Why)
	out.TokensOff += more.TokensOff
	out.Tokens += more.Tokens
	out.Usage = out.Usage.Add(more.Usage)
	out.USD += more.USD
	out.Saved += more.Saved
	out.Unpriced += more.Unpriced
	out.Reads += more.Reads
	out.Alive += more.Alive
	out.Bound = out.Bound || more.Bound
	if more.Newest.Time.After(out.Newest.Time) {
		out.Newest = more.Newest
	}
	return out
}

func (t *Totals) clone() Totals {
	out := *t
	for _, m := range out.byName() {
		*m = maps.Clone(*m)
	}
	return out
}

// byName returns the counts that have names.
func (t *Totals) byName() []*map[string]int {
	return []*map[string]int{&t.ByAPI, &t.Passed, &t.Through, &t.Unknown, &t.Shortened, &t.Moments, &t.Limits}
}

func increase(m *map[string]int, key string) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key]++
}

// metrics holds the metrics served at /metrics.
type metrics struct {
	requests *prometheus.CounterVec   // api, status
	bytes    *prometheus.CounterVec   // api, side: client, upstream
	tokens   *prometheus.CounterVec   // api, side: off, sent
	usage    *prometheus.CounterVec   // api, kind
	trims    *prometheus.CounterVec   // reason
	passed   *prometheus.CounterVec   // cause
	dangling prometheus.Counter       //
	cut      *prometheus.CounterVec   // api
	added    *prometheus.HistogramVec // api
	lost     prometheus.Counter       //
	refused  *prometheus.CounterVec   // form
	dropped  prometheus.Counter       //
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	var errs []error
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stet_" + name, Help: help}, labels)
		errs = append(errs, r.Register(c))
		return c
	}
	m := &metrics{
		requests: counter("requests_total", "Requests by API and status; status 0: the client went away before.", "api", "status"),
		bytes:    counter("request_bytes_total", "Bytes of request bodies, as clients sent them and as they went upstream.", "api", "side"),
		tokens:   counter("prompt_tokens_total", "Estimated tokens of prompts, as clients sent them (off) and as planned (sent).", "api", "side"),
		usage:    counter("usage_tokens_total", "Tokens as the providers reported them.", "api", "kind"),
		trims:    counter("trims_total", "Results that were shortened in requests, by reason.", "reason"),
		passed:   counter("passthroughs_total", "Requests that went untouched because of a doubt, by cause.", "cause"),
		dangling: counter("dangling_total", "Lines left in place of content that is nowhere in their request.").WithLabelValues(),
		cut:      counter("cut_total", "Answers that broke off.", "api"),
		added: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stet_added_seconds", Help: "Time that stet took before the request went upstream.",
			Buckets: prometheus.ExponentialBuckets(0.00005, 4, 9),
		}, []string{"api"}),
		lost:    counter("records_lost_total", "Rows that could not be recorded.").WithLabelValues(),
		refused: counter("bound_refusals_total", "Requests that the provider refused because of what is before thinking, by the form in which it took them then.", "form"),
		dropped: counter("thinking_dropped_total", "Blocks of thinking that the provider dropped because of what is before them.").WithLabelValues(),
	}
	return m, errors.Join(append(errs, r.Register(m.added))...)
}

func (m *metrics) request(api string, status int) {
	m.requests.WithLabelValues(api, strconv.Itoa(status)).Inc()
}

// account counts a request that has a row.
func (m *metrics) account(r *record.Request, trims []record.Trim) {
	m.request(r.API, r.Status)
	m.bytes.WithLabelValues(r.API, "client").Add(float64(r.BytesIn))
	m.bytes.WithLabelValues(r.API, "upstream").Add(float64(r.BytesOut))
	m.tokens.WithLabelValues(r.API, "off").Add(float64(r.TokensOff))
	m.tokens.WithLabelValues(r.API, "sent").Add(float64(r.Tokens))
	for _, u := range []struct {
		kind string
		n    int
	}{
		{"input", r.Usage.Input}, {"cache_read", r.Usage.CacheRead}, {"cache_write", r.Usage.CacheWrite},
		{"output", r.Usage.Output}, {"reasoning", r.Usage.Reasoning},
	} {
		m.usage.WithLabelValues(r.API, u.kind).Add(float64(max(u.n, 0)))
	}
	for _, t := range trims {
		m.trims.WithLabelValues(t.Reason).Inc()
	}
	m.dangling.Add(float64(r.Dangling))
	if r.Cut {
		m.cut.WithLabelValues(r.API).Inc()
	}
	m.added.WithLabelValues(r.API).Observe(r.Added.Seconds())
}

// counters estimates tokens. Counts are cached by the hash of the text, so counting a conversation again is cheap.
// Models with the same estimate share a counter.
type counters struct {
	mu   sync.Mutex
	made map[tokens.Counter]*tokens.Memo
}

func (c *counters) of(model string) *tokens.Memo {
	c.mu.Lock()
	defer c.mu.Unlock()
	plain := tokens.EstimateFor(model)
	memo := c.made[plain]
	if memo == nil {
		if c.made == nil {
			c.made = map[tokens.Counter]*tokens.Memo{}
		}
		memo = &tokens.Memo{Counter: plain}
		c.made[plain] = memo
	}
	return memo
}

// tokensOf counts the tokens of the messages of a request. If it continues a held request, only the new messages are counted.
func tokensOf(counter *tokens.Memo, d *reading) (n int) {
	all := d.request.Messages
	if h := d.base; h != nil && d.common == len(h.request.Messages) && h.request.Model == d.request.Model {
		if n = int(h.tokens.Load()); n > 0 {
			all = all[d.common:]
		}
	}
	for _, m := range all {
		for i := range m.Parts {
			part := &m.Parts[i]
			n += counter.Count(part.Text) + counter.Count(part.Name) + counter.Count(part.Args)
			if part.Kind == llm.Thinking {
				n += hiddenThinking(part)
			}
		}
	}
	if d.now != nil {
		d.now.tokens.Store(int64(n))
	}
	return n
}

// estimate estimates the tokens of a request as it came (off), and as planned (sent).
func estimate(counter *tokens.Memo, d *reading, plan *trim.Plan) (off, sent int) {
	req := d.request
	off = tokensOf(counter, d)
	for i := range req.Tools {
		tool := &req.Tools[i]
		off += counter.Count(tool.Name) + counter.Count(tool.Description) + counter.Count(string(tool.Schema))
	}
	sent = off
	for _, e := range plan.Edits {
		part := &req.Messages[e.Message].Parts[e.Part]
		was := part.Text
		switch part.Kind {
		case llm.ToolCall:
			was = part.Args
		case llm.Thinking:
			sent -= hiddenThinking(part)
		}
		sent -= counter.Count(was) - counter.Count(e.Text)
	}
	return off, sent
}

// hiddenThinking estimates the tokens of thinking that the part does not show.
func hiddenThinking(p *llm.Part) int {
	return max(0, trim.ThinkingSize(p)-len(p.Text)) * 10 / 36
}

// toolUse holds the tools that a request offers, and how often the conversation has called each.
type toolUse struct {
	offered record.ToolSet
	calls   map[string]int
}

// toolUseOf counts the tools of a request.
func toolUseOf(counter *tokens.Memo, req *llm.Request) (u toolUse) {
	var h prefix.Hasher
	for i := range req.Tools {
		t := &req.Tools[i]
		size := 0
		if !t.Deferred {
			size = counter.Count(t.Name) + counter.Count(t.Description) + counter.Count(string(t.Schema))
		}
		h.Text(t.Name)
		if len(u.offered.Tools) == limits.List {
			continue
		}
		h.Number(uint64(size))
		u.offered.Tools = append(u.offered.Tools, record.OfferedTool{Name: limits.Clip(t.Name, limits.Name), Tokens: size})
	}
	if len(req.Tools) > 0 {
		u.offered.ID = max(h.Sum64(), 1)
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if p := &req.Messages[i].Parts[j]; p.Kind == llm.ToolCall {
				if u.calls == nil {
					u.calls = map[string]int{}
				}
				if name := limits.Clip(p.Name, limits.Name); len(u.calls) < limits.List || u.calls[name] > 0 {
					u.calls[name]++
				}
			}
		}
	}
	return u
}

// newToolUse returns the rows about tools that were not recorded before in the conversation v, which may be nil. They share
// no memory with the request.
func (t *conversations) newToolUse(v *conversation, row *record.Request, u toolUse) (b record.Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v == nil {
		v = &conversation{}
	}
	if u.offered.ID != 0 && u.offered.ID != v.toolSet {
		v.toolSet = u.offered.ID
		for i := range u.offered.Tools {
			u.offered.Tools[i].Name = strings.Clone(u.offered.Tools[i].Name)
		}
		b.ToolSets = append(b.ToolSets, u.offered)
	}
	for name, n := range u.calls {
		if n <= v.calls[name] {
			continue
		}
		name = strings.Clone(name)
		if v.calls == nil || len(v.calls) >= maxRemembered {
			v.calls = map[string]int{}
		}
		v.calls[name] = n
		b.ToolCalls = append(b.ToolCalls, record.ToolCalls{
			Conversation: row.Conversation, Agent: row.Agent, Tool: name, Time: row.Time, Calls: n,
		})
	}
	return b
}
