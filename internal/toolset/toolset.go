// Package toolset puts the file tools over a workspace together with everything that
// watches over them: policy, approvals, the audit trail and undo. Each command that
// gives out tools opens a [Set].
package toolset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/approval/socket"
	"github.com/stet-dev/stet/filetools"
	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// writeLimit is the size of the largest file that is written, in bytes.
const writeLimit = 5 << 20

// Options are what the tools go by.
type Options struct {
	Policy    policy.Policy
	Suspicion policy.Suspicion
	Rate      int // calls a minute; negative is any number
	Dedupe    bool
	AuditDays int // how long entries of the trail are kept; 0 is for ever

	State   string // the state directory
	Trail   string // file of the audit trail
	Log     *slog.Logger
	LogFile io.Closer // is closed with the set; nil: there is none
	Version string    // of the program

	// Elsewhere says that the caller sets whom the tools ask. No socket is made for
	// answers.
	Elsewhere bool
}

// FromConfig returns the options that the configuration says.
func FromConfig(c *config.Config) (Options, error) {
	rules, err := c.FilePolicy()
	return Options{
		Policy: rules, Suspicion: policy.Suspicion{Do: c.Suspicion}, Rate: c.CallRate(),
		Dedupe: c.Dedupe, AuditDays: c.AuditDays,
	}, err
}

// Set is the file tools over one workspace.
type Set struct {
	Root    *workspace.Root
	Files   *filetools.Tools
	Handler *approval.Handler
	Memory  *budget.Budget  // of the calls; nil: each front end has one of its own
	Queue   *approval.Queue // of what a person decides; nil: no person is asked
	Trail   *sqlite.Store
	Plain   bool // results are plain text
	Log     *slog.Logger

	logFile io.Closer
	version string
	stop    context.CancelFunc // ends what serves the approvals
	serving sync.WaitGroup
}

// Open opens a workspace and makes the tools for it.
func Open(ctx context.Context, dir string, o Options) (_ *Set, err error) {
	h := &Set{stop: func() {}, Log: o.Log, logFile: o.LogFile, version: o.Version}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.openTree(ctx, dir, o); err != nil {
		return nil, err
	}
	set := new(tool.Set)
	if err := set.Add(h.Files.All()...); err != nil {
		return nil, err
	}
	for name, of := range h.Files.Aliases() {
		set.Alias(name, of)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.serving.Go(func() { KeepTrail(serving, h.Trail, o.AuditDays, h.Log) })
	h.Handler = &approval.Handler{
		Tools: set, Policy: &o.Policy, Root: h.Root.Dir(), Version: h.Files.Version, Rate: o.Rate, Suspicion: o.Suspicion,
		Journal:  &record.Journal{Trail: h.Trail, Log: h.Log},
		RollBack: h.rollBack,
		Log:      h.Log,
	}
	if o.Policy.Unattended || o.Elsewhere {
		return h, nil
	}
	h.Queue = new(approval.Queue)
	h.Handler.Approver = mcpserver.Relay{Next: h.Queue}
	listener, err := socket.Listen(o.State)
	if err != nil {
		return nil, err
	}
	server := &approval.Server{Queue: h.Queue, Root: h.Root.Dir(), Log: h.Log}
	h.serving.Go(func() {
		defer listener.Remove()
		if err := server.Serve(serving, listener); err != nil {
			h.Log.Error("approvals", "err", err)
		}
	})
	return h, nil
}

// openTree opens the workspace, its tools and the audit trail.
func (h *Set) openTree(ctx context.Context, dir string, o Options) (err error) {
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return config.StateError(err)
	}
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if h.Trail, err = sqlite.Open(opening, o.Trail); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	if h.Root, err = OpenWorkspace(dir, o.State, h.Log); err != nil {
		return err
	}
	c := filetools.Config{Root: h.Root, Hidden: o.Policy.Hides, Log: h.Log}
	if o.Dedupe {
		c.Dedupe = &filetools.Dedupe{Count: tokens.Estimate{}.Count}
	}
	h.Files, err = filetools.New(c)
	return err
}

// Server makes an MCP server that gives out the tools.
func (h *Set) Server(over mcpserver.HTTP) (*mcpserver.Server, error) {
	var caller tool.Starter = h.Handler
	if h.Plain {
		caller = filetools.PlainCaller{Starter: caller}
	}
	return mcpserver.New(mcpserver.Config{
		Caller: caller, Aliases: h.Files.Aliases(), Version: h.version, Await: h.Handler.Approver != nil,
		End: h.End, HTTP: over, Memory: h.Memory, Logger: h.Log,
	})
}

// End forgets a client session.
func (h *Set) End(session string) {
	h.Handler.End(session)
	h.Files.End(session)
}

// Close writes down what the calls came to, and lets go of everything. No call is
// under way any more.
func (h *Set) Close() error {
	var errs []error
	if h.Handler != nil {
		errs = append(errs, h.Handler.Journal.Close())
	}
	h.stop()
	h.serving.Wait()
	if h.Trail != nil {
		errs = append(errs, h.Trail.Close())
	}
	if h.Root != nil {
		errs = append(errs, h.Root.Close())
	}
	if h.logFile != nil {
		errs = append(errs, h.logFile.Close())
	}
	return errors.Join(errs...)
}
