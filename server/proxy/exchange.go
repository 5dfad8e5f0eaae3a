package proxy

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

// cause says why no plan was made for a request. It is a value of record.Request.Passed. docs/proxy.md lists the values.
type cause string

const (
	planned    cause = "" // a plan was made
	encoded    cause = "encoded"
	large      cause = "large"
	malformed  cause = "malformed"
	chained    cause = "chained"
	threaded   cause = "thread"
	managed    cause = "managed"
	misfit     cause = "patch"
	panicked   cause = "panic"
	incomplete cause = "incomplete"
	held       cause = "holdout"
)

// exchange is a request and its answer on their way through the proxy.
type exchange struct {
	endpoint
	path         string // the client's path
	row          record.Request
	body         upload
	arriving     *httpguard.Body     // the body as it comes from the client; nil: there is none, or it is a socket's
	keeps        bool                // the provider stores the conversation, even if the request does not ask for it
	conversation *conversation       // nil if it is not known
	pending      *cachestate.Pending // nil if the request was not understood, or only counts tokens
	compared     cachestate.Comparison
	omissions    []trim.Omission // what was left out, or would have been
	stored       <-chan struct{} // closed when the rows that later requests need are stored; nil: there is nothing to wait for
	reading      *reading        // what was planned; nil: the request goes untouched
	background   chan struct{}   // closed when the background work for the request ends; nil: it has not begun, or there is none
	outgoing     *sent.Outgoing  // the form sent upstream; nil: it is not remembered
	shadow       *sent.Outgoing  // the form in which it would have gone with Config.Observe off; nil: none
	recovery     *recovery       // what to do if the provider refuses the request's thinking; nil: nothing
	meter        llm.Meter       // of the answer; nil if it is not read
	assembly     *llm.Assembly   // puts the answer together until it is whole; nil: it is not put together
	tools        toolUse         // tools that the request offers, and calls in it
	clearing     clearing        // what the provider is asked to clear
	stopped      bool            // it did not go upstream
	over         bool            // it goes on in a loop of tools though a cap is reached
	streams      bool            // the answer is a stream of events
	ended        bool            // the answer was read to its end
	broken       bool            // the upstream ended the answer early
}

type exchangeKey struct{}

// wallClock returns the time without its monotonic reading. The monotonic clock stops while the machine sleeps, but the provider's
// cache still expires during that time.
func wallClock() time.Time { return time.Now().Round(0) }

// newExchange starts the row of a request.
func (p *Proxy) newExchange(to endpoint, r *http.Request) *exchange {
	return &exchange{
		endpoint: to,
		path:     r.URL.Path,
		row: record.Request{
			Time: wallClock(), API: to.api, Upstream: to.upstream.Host, Client: clientOf(r.Header),
			Policy: string(p.policy), Observe: p.config.Observe, Conversation: "unknown",
		},
	}
}

// finish writes the row of x once the answer is complete and no background work is left.
func (p *Proxy) finish(x *exchange) {
	p.reports(x)
	if x.background == nil {
		p.account(x)
		return
	}
	if p.caps.Hard { // what the request cost is known before the client sees its end
		<-x.background
	}
	select {
	case <-x.background:
		p.account(x)
	default:
		p.work.Add(1) // the request itself is still counted, so this is no race with Wait
		go func() {
			defer p.work.Done()
			<-x.background
			p.account(x)
		}()
	}
}

func (p *Proxy) account(x *exchange) {
	defer x.body.release(&p.buffers)
	if x.codec == nil {
		p.metrics.request(x.api, x.row.Status)
		p.conversations.count(func(t *Totals) { t.through(x.path) })
		return
	}
	row := &x.row
	row.ID = uuid.Must(uuid.NewV7()).String()
	row.BytesIn, row.BytesOut = x.body.sizes()
	if x.stopped {
		row.BytesOut = 0
	}
	complete := false
	var read llm.Reading
	if x.meter != nil {
		read = x.meter.Reading()
		row.Usage, complete = read.Usage, read.StopReason != ""
		if x.regional && row.Usage.Region == "" {
			row.Usage.Region = llm.RegionCloud
		}
		limits.Cut(&row.Usage)
		p.countDropped(x)
	}
	// Clients may hang up once they know that the answer is complete. A server between may end a stream properly before that.
	whole := complete || x.ended && !(x.streams && x.meter != nil)
	row.Cut = row.Status != 0 && (x.broken && !x.ended || !whole)
	p.checkCleared(x)
	row.Trimmed = len(x.omissions)
	var trims []record.Trim
	for _, t := range x.omissions {
		trims = append(trims, record.Trim{
			Request: row.ID, Time: row.Time, Conversation: row.Conversation, CallID: t.CallID, Paths: t.Paths,
			Reason: string(t.Reason), Before: t.Before, After: t.After, Observe: row.Observe,
		})
	}
	turns := p.settle(x, wallClock())
	if x.meter != nil {
		b := p.rules.bill(row, p.conversations.before(x.conversation, row))
		p.conversations.count(func(t *Totals) { t.answered(b, read.Unknown) })
	}
	p.caps.spent(x)
	p.metrics.account(row, trims)
	fresh := p.conversations.leave(x.conversation, row, trims)
	for i := range fresh {
		limits.Cut(&fresh[i])
	}
	rows := p.conversations.newToolUse(x.conversation, row, x.tools)
	rows.Requests, rows.Trims, rows.Turns = []record.Request{*row}, fresh, turns
	p.writer.add(rows)
	if p.log.Enabled(p.base, slog.LevelDebug) {
		p.log.Debug("request", "conversation", row.Conversation, "agent", row.Agent, "api", row.API, "model", row.Model,
			"upstream", row.Upstream, "status", row.Status, "passed", row.Passed, "cut", row.Cut, "trimmed", row.Trimmed,
			"new", len(fresh), "moment", row.Cache.Moment, "gap", row.Cache.Gap, "broke", row.Cache.Broke, "tokens_off", row.TokensOff, "tokens", row.Tokens, "prompt", row.Usage.Prompt(),
			"output", row.Usage.Output, "added", row.Added, "took", time.Since(row.Time))
	}
}

// clients lists the agents that identify themselves, by a header of their own or by the prefix of their User-Agent. The name is
// used in reports only: some agents claim to be another.
var clients = []struct{ header, prefix, name string }{
	{"X-Claude-Code-Session-Id", "", "claude-code"},
	{"Originator", "codex", "codex"},
	{"User-Agent", "opencode/", "opencode"},
	{"User-Agent", "codex", "codex"},
	{"User-Agent", "QwenCode/", "qwen-code"},
	{"User-Agent", "GeminiCLI", "gemini-cli"},
	{"User-Agent", "claude-cli/", "claude-cli"},
	{"User-Agent", "Cline/", "cline"},
	{"User-Agent", "Continue/", "continue"},
	{"User-Agent", "ai-sdk/", "ai-sdk"},
	{"User-Agent", "OpenAI/", "openai-sdk"},
	{"User-Agent", "Anthropic/", "anthropic-sdk"},
	{"User-Agent", "stet", "stet"},
}

func clientOf(h http.Header) string {
	for _, c := range clients {
		if v := h.Get(c.header); v != "" && strings.HasPrefix(v, c.prefix) {
			return c.name
		}
	}
	return ""
}
