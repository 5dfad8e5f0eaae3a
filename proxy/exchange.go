package proxy

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// The values of record.Request.Passed.
const (
	passedEncoded   = "encoded"
	passedLarge     = "large"
	passedMalformed = "malformed"
	passedChained   = "chained"
	passedPatch     = "patch"
	passedPanic     = "panic"
)

// exchange is one request and its answer on their way through.
type exchange struct {
	endpoint
	row      record.Request
	received []byte // the body, or of a partial one the beginning
	partial  bool
	send     []byte       // what goes upstream; nil: the client's body as it comes
	outgoing outgoing     // send on its way
	borrowed [][]byte     // buffers to give back at the end
	streamed atomic.Int64 // bytes of the client's body that were sent on as they came

	conversation *conversation // nil if it is not known
	chain        chain
	request      *llm.Request // decoded; nil if it could not be
	plan         *history.Plan
	settled      chan struct{} // closed when nothing goes on beside the request
	beside       bool          // something does

	meter  llm.Meter
	ended  bool // the answer came to its end
	broken bool // the upstream broke it off
}

type exchangeKey struct{}

// finish writes the account of x, once the answer is through.
func (p *Proxy) finish(x *exchange) {
	if !x.beside {
		p.account(x)
		return
	}
	select {
	case <-x.settled:
		p.account(x)
	default:
		p.work.Add(1) // the request itself is still counted, so this is no race with Wait
		go func() {
			defer p.work.Done()
			<-x.settled
			p.account(x)
		}()
	}
}

func (p *Proxy) account(x *exchange) {
	defer p.giveBack(x)
	if x.codec == nil {
		p.metrics.request(x.api, x.row.Status)
		return
	}
	row := &x.row
	row.ID = uuid.Must(uuid.NewV7()).String()
	row.BytesIn += x.streamed.Load()
	row.BytesOut = row.BytesIn
	if x.send != nil {
		row.BytesOut = int64(len(x.send))
	}
	usage, stopped := readMeter(x.meter)
	row.Usage = record.Usage(usage)
	// Clients may hang up once they know that the answer is complete.
	row.Cut = row.Status != 0 && !x.ended && (x.broken || !stopped)
	var trims []record.Trim
	if x.plan != nil && x.api != record.CountTokens {
		row.Reads, row.Repeats, row.Dangling = x.plan.Reads, x.plan.Repeats, x.plan.Dangling
		row.Trimmed = len(x.plan.Trims)
		for _, t := range x.plan.Trims {
			trims = append(trims, record.Trim{
				Request: row.ID, Time: row.Time, Conversation: row.Conversation, CallID: t.CallID, Paths: t.Paths,
				Reason: string(t.Reason), Before: t.Before, After: t.After, Observe: row.Observe,
			})
		}
	}
	p.metrics.account(row, trims)
	fresh := p.table.leave(x.conversation, *row, trims)
	p.writer.add(record.Batch{Requests: []record.Request{*row}, Trims: fresh})
	p.log.Debug("request", "conversation", row.Conversation, "agent", row.Agent, "api", row.API, "model", row.Model,
		"upstream", row.Upstream, "status", row.Status, "passed", row.Passed, "cut", row.Cut, "trimmed", row.Trimmed,
		"new", len(fresh), "tokens_off", row.TokensOff, "tokens", row.Tokens, "prompt", row.Usage.Prompt(),
		"output", row.Usage.Output, "added", row.Added, "took", time.Since(row.Time))
}

// giveBack ends all use of the request's body.
func (p *Proxy) giveBack(x *exchange) {
	x.outgoing.close()
	x.received, x.send = nil, nil
	for _, b := range x.borrowed {
		p.buffers.put(b)
	}
	x.borrowed = nil
}

// readMeter asks a meter, which may be nil and is allowed to fail, for the usage
// and whether the model said why it stopped.
func readMeter(m llm.Meter) (usage llm.Usage, stopped bool) {
	defer func() {
		if recover() != nil {
			usage, stopped = llm.Usage{}, false
		}
	}()
	if m == nil {
		return usage, false
	}
	usage, _ = m.Usage()
	return usage, m.StopReason() != ""
}

// clients are the agents that say who they are, by a header of their own or
// the beginning of their User-Agent. It is a hint for reports alone: some say
// that they are another.
var clients = []struct{ header, prefix, name string }{
	{"X-Claude-Code-Session-Id", "", "claude-code"},
	{"Originator", "codex", "codex"},
	{"User-Agent", "opencode/", "opencode"},
	{"User-Agent", "codex", "codex"},
	{"User-Agent", "QwenCode/", "qwen-code"},
	{"User-Agent", "claude-cli/", "claude-cli"},
	{"User-Agent", "Cline/", "cline"},
	{"User-Agent", "Continue/", "continue"},
	{"User-Agent", "ai-sdk/", "ai-sdk"},
	{"User-Agent", "OpenAI/", "openai-sdk"},
	{"User-Agent", "Anthropic/", "anthropic-sdk"},
}

func clientOf(h http.Header) string {
	for _, c := range clients {
		if v := h.Get(c.header); v != "" && strings.HasPrefix(v, c.prefix) {
			return c.name
		}
	}
	return ""
}
