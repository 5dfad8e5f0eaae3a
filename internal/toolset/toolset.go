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
	"github.com/stet-dev/stet/internal/notify"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
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
	Notify    notify.Config
	AuditDays int // how long entries of the trail are kept; 0 is for ever

	State   string // the state directory
	Trail   string // where the audit trail and the sessions are, as store.Open has it
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
		Dedupe: c.Dedupe, Notify: c.Notify, AuditDays: c.AuditDays,
	}, err
}

// Set is the file tools over one workspace.
type Set struct {
	Root    *workspace.Root
	Files   *filetools.Tools
	Handler *approval.Handler
	Memory  *budget.Budget  // of the calls; nil: each front end has one of its own
	Queue   *approval.Queue // of what a person decides; nil: no person is asked
	Trail   store.Store
	Plain   bool // results are plain text
	Log     *slog.Logger

	logFile io.Closer
	version string
	stop    context.CancelFunc // ends what serves the approvals
	serving sync.WaitGroup
}

// Open opens a workspace and makes the tools for it.
func Open(ctx context.Context, dir string, o Options) (_ *Set, err error) {
	s := &Set{stop: func() {}, Log: o.Log, logFile: o.LogFile, version: o.Version}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.openTree(ctx, dir, o); err != nil {
		return nil, err
	}
	set := new(tool.Set)
	if err := set.Add(s.Files.All()...); err != nil {
		return nil, err
	}
	for name, of := range s.Files.Aliases() {
		set.Alias(name, of)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.serving.Go(func() { KeepTrail(serving, s.Trail, o.AuditDays, s.Log) })
	s.Handler = &approval.Handler{
		Tools: set, Policy: &o.Policy, Root: s.Root.Dir(), Version: s.Files.Version, Rate: o.Rate, Suspicion: o.Suspicion,
		Journal:  &record.Journal{Trail: s.Trail, Log: s.Log},
		RollBack: s.rollBack,
		Log:      s.Log,
	}
	if o.Policy.Unattended || o.Elsewhere {
		return s, nil
	}
	s.Queue = new(approval.Queue)
	s.serving.Go(func() { o.Notify.Follow(serving, s.Queue, s.Log) })
	s.Handler.Approver = mcpserver.Relay{Next: s.Queue}
	listener, err := socket.Listen(o.State)
	if err != nil {
		return nil, err
	}
	server := &approval.Server{Queue: s.Queue, Root: s.Root.Dir(), Log: s.Log}
	s.serving.Go(func() {
		defer listener.Remove()
		if err := server.Serve(serving, listener); err != nil {
			s.Log.Error("approvals", "err", err)
		}
	})
	return s, nil
}

// openTree opens the workspace, its tools and the audit trail.
func (s *Set) openTree(ctx context.Context, dir string, o Options) (err error) {
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return config.StateError(err)
	}
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.Trail, err = store.Open(opening, o.Trail); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	if s.Root, err = OpenWorkspace(dir, o.State, s.Log); err != nil {
		return err
	}
	c := filetools.Config{Root: s.Root, Hidden: o.Policy.Hides, Log: s.Log}
	if o.Dedupe {
		c.Dedupe = &filetools.Dedupe{Count: tokens.Estimate{}.Count}
	}
	s.Files, err = filetools.New(c)
	return err
}

// Server makes an MCP server that gives out the tools.
func (s *Set) Server(over mcpserver.HTTP) (*mcpserver.Server, error) {
	var caller tool.Starter = s.Handler
	if s.Plain {
		caller = filetools.PlainCaller{Starter: caller}
	}
	return mcpserver.New(mcpserver.Config{
		Caller: caller, Aliases: s.Files.Aliases(), Version: s.version, Await: s.Handler.Approver != nil,
		End: s.End, HTTP: over, Memory: s.Memory, Logger: s.Log,
	})
}

// End forgets a client session.
func (s *Set) End(session string) {
	s.Handler.End(session)
	s.Files.End(session)
}

// Close writes down the outcomes of the calls, and closes everything. No call is
// under way any more.
func (s *Set) Close() error {
	var errs []error
	if s.Handler != nil {
		errs = append(errs, s.Handler.Journal.Close())
	}
	s.stop()
	s.serving.Wait()
	if s.Trail != nil {
		errs = append(errs, s.Trail.Close())
	}
	if s.Root != nil {
		errs = append(errs, s.Root.Close())
	}
	if s.logFile != nil {
		errs = append(errs, s.logFile.Close())
	}
	return errors.Join(errs...)
}
