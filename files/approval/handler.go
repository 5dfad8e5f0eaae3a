// Package approval runs tool calls. It plans a call, decides by policy, asks a person if needed, applies an approved plan, and
// records each step.
//
// [Handler] is the tool.Caller for this; run.go has the steps of a call. It asks an [Approver]. [Queue] is the approver whose
// questions front ends answer. [Question] and [Answer] are the same everywhere, in this process and as JSON.
//
// No lock is held while a person is asked. A question without an answer blocks only its own call.
package approval

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// Handler is the tool.Caller that plans, decides, asks, applies and records calls. Its fields must not be changed in use.
type Handler struct {
	Tools    *tool.Set
	Policy   *policy.Policy  // nil: reads are allowed, writes are asked about
	Approver Approver        // nil: there is no person; a call that would be asked about is refused
	Journal  *record.Journal // nil: no record
	Root     string          // the workspace's absolute path, for the audit trail

	// Relative returns the path of a call relative to Root, as far as that is known without planning it. Calls that touch the same
	// files are kept in order by it. nil: the path as it is.
	Relative func(path string) string

	// Version returns the content hash of a file now, or "" if there is no file. It decides whether a write without a recorded
	// outcome was done (tool.Call.Once). nil: this is not known.
	Version func(ctx context.Context, path string) (string, error)

	// Rate is the limit of a session's calls in a minute; 0: 100, negative: no limit.
	Rate int

	// Tokens counts the calls and questions of each token (tool.Call.Account). All that accepts calls in this process should share
	// it. nil: the handler has its own.
	Tokens *limits.Tokens

	// Timeout is how long a question waits for its answer if its call has no Patience; 0: 600 s, negative: without limit.
	Timeout time.Duration

	// Suspicion says when the number of a session's refused calls is suspicious, and what to do then.
	Suspicion policy.Suspicion

	// RollBack undoes a session's writes as far as possible, for policy.RollBack. It should use Apply, so that it is recorded. nil:
	// the session is only suspended.
	RollBack func(ctx context.Context, session string) error

	Log *slog.Logger // nil: no logging

	mu       sync.Mutex
	sessions map[string]*session

	counting sync.Once // sets the limits of rates
	tokens   *limits.Tokens
	rates    limits.Rates

	order order
}

var _ tool.Starter = (*Handler)(nil)

// ErrClosed is the error of a closed Subscription, or of one in another process.
var ErrClosed = errors.New("closed")

// Specs implements tool.Caller.
func (h *Handler) Specs() []tool.Spec { return h.Tools.Specs() }

// Call implements tool.Caller. If a call ends before it writes (a rejection, a timeout, the end of ctx), the Result has failed. An
// error says that something broke.
func (h *Handler) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	return h.Start(c)(ctx)
}

// Start implements tool.Starter.
func (h *Handler) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	t, _ := h.Tools.Get(c.Name)
	return h.start(c, t).call
}

// Apply applies a plan that needs no approval: a person undoes writes, or policy does. The plan is recorded like any write; by
// names who wanted it ("person desk", "policy"). A plan that is already done, or whose file has changed, writes nothing: see
// tool.Plan.
func (h *Handler) Apply(ctx context.Context, c tool.Call, p *tool.Plan, by string) (tool.Result, error) {
	r := &run{h: h, c: c, path: tool.PathIn(c.Arguments), decision: "approved", by: by}
	if p.Done != nil {
		return r.finish(p, p.Result())
	}
	return r.write(ctx, p)
}

func (h *Handler) policy() *policy.Policy {
	return cmp.Or(h.Policy, &policy.Policy{})
}

func (h *Handler) journal() *record.Journal {
	return cmp.Or(h.Journal, &record.Journal{})
}

func (h *Handler) log() *slog.Logger {
	return cmp.Or(h.Log, slog.New(slog.DiscardHandler))
}

// patience returns how long a person may take for a question about the call; below 0: without limit.
func (r *run) patience() time.Duration {
	return cmp.Or(r.c.Patience, r.h.Timeout, 600*time.Second)
}
