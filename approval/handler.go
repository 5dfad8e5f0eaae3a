// Package approval runs tool calls: it has them planned, decides by policy,
// asks a person where it must, applies what was approved, and writes all of it
// down.
//
// [Handler] is the tool.Caller that does so: see run.go for the steps of a call. It
// asks an [Approver]. [Queue] is the approver whose questions front ends answer;
// [Server] and [Client] carry a queue to another process.
//
// No lock is held while a person is asked: a question without an answer holds up its
// own call and no other.
package approval

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// Handler is the tool.Caller that plans, decides, asks, applies and records.
// Its fields are not to be changed once it is in use.
type Handler struct {
	Tools    *tool.Set
	Policy   *policy.Policy  // nil: reads are allowed, writes are asked for
	Approver Approver        // nil: there is no person to ask, and what would be asked for is refused
	Journal  *record.Journal // nil: nothing is recorded
	Root     string          // the workspace's absolute path, for the audit trail

	// Version is the content hash of a file now, "" where there is none: it settles
	// whether a write was done whose outcome is not recorded (tool.Call.Once). Nil: that
	// is never known.
	Version func(ctx context.Context, path string) (string, error)

	// Rate is how many calls a session may make a minute; 0: 100, negative:
	// any number. (FILE-10)
	Rate int

	// Timeout is how long a question waits for its answer; 0: 600 s, negative:
	// for ever. (FILE-4)
	Timeout time.Duration

	// Suspicion says when a session's refused calls look like an attempt to
	// get out, and what is done then. (FILE-11)
	Suspicion policy.Suspicion

	// RollBack undoes a session's writes, as far as that can be done, for
	// policy.RollBack. It should do so by Apply, so that it is recorded. Nil: the
	// session is suspended and no more.
	RollBack func(ctx context.Context, session string) error

	Log *slog.Logger // nil: silence

	mu       sync.Mutex
	sessions map[string]*session
	accounts map[string]*account // by tool.Call.Account

	order order
}

var _ tool.Starter = (*Handler)(nil)

// ErrClosed is what a closed Subscription or Client answers.
var ErrClosed = errors.New("closed")

// Specs implements tool.Caller.
func (h *Handler) Specs() []tool.Spec { return h.Tools.Specs() }

// Call implements tool.Caller. What ended before anything was written (a
// rejection, a timeout, the end of ctx) is a failed Result. An error says that
// something broke.
func (h *Handler) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	return h.Start(c)(ctx)
}

// Start implements tool.Starter.
func (h *Handler) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	t, _ := h.Tools.Get(c.Name)
	return h.start(c, t).call
}

// Apply does what needs no leave: a person who undoes writes wants it, or policy does.
// It is not decided about, nor asked for, but recorded like any write, with by for who
// it was ("person desk", "policy"). A plan that is done, or whose file has changed,
// writes nothing: see tool.Plan.
func (h *Handler) Apply(ctx context.Context, c tool.Call, p *tool.Plan, by string) (tool.Result, error) {
	r := &run{h: h, c: c, path: tool.PathIn(c.Arguments), decision: "approved", by: by}
	if p.Done != nil {
		return r.finish(p, p.Result())
	}
	return r.write(ctx, p)
}

func (h *Handler) policy() *policy.Policy {
	if h.Policy == nil {
		return &policy.Policy{}
	}
	return h.Policy
}

func (h *Handler) journal() *record.Journal {
	if h.Journal == nil {
		return &record.Journal{}
	}
	return h.Journal
}

func (h *Handler) log() *slog.Logger {
	if h.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Log
}

func (h *Handler) timeout() time.Duration {
	if h.Timeout == 0 {
		return 600 * time.Second
	}
	return h.Timeout
}
