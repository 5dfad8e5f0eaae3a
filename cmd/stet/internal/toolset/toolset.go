// Package toolset builds the file tools over a workspace, with policy, approvals, the audit trail and undo. Each command that
// offers tools opens a [Set].
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

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/cmd/stet/internal/socket"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/tool"
)

// Options configure the tools.
type Options struct {
	Policy    policy.Policy
	Suspicion policy.Suspicion
	Rate      int // calls in a minute; negative: no limit
	Dedupe    bool
	Relative  bool // absolute paths are refused
	Notify    notify.Config
	Secret    []byte // of the page that has the questions; nil: there is none
	AuditDays int    // how long entries of the trail are kept; 0: without limit
	Limits    Limits

	State   string // the state directory
	Trail   string // address of the audit trail and the sessions, as in store.Open
	Log     *slog.Logger
	LogFile io.Closer // closed with the set; may be nil
	Version string    // version of the program

	// Seen returns what an agent did to a file with its own tools: see filetools.Config.Elsewhere.
	Seen func(ctx context.Context, c tool.Call, file string) []freshness.Observation

	// Elsewhere says that the caller sets the approver. Then no socket for answers is made.
	Elsewhere bool
}

// FromConfig returns the configured options.
func FromConfig(c *config.Config) (Options, error) {
	rules, err := c.FilePolicy()
	return Options{
		Policy: rules, Suspicion: policy.Suspicion{Do: c.Suspicion}, Rate: c.CallRate(),
		Dedupe: c.Dedupe, Relative: c.Relative, Notify: c.Notify, AuditDays: c.AuditDays, Limits: LimitsOf(c),
	}, err
}

// Set has the file tools over one workspace.
type Set struct {
	Root    *workspace.Root
	Files   *filetools.Tools
	Handler *approval.Handler
	Memory  *limits.Budget  // of the calls; nil: each front end has its own
	Queue   *approval.Queue // for a person's decisions; nil: no person is asked
	Trail   store.Store
	Plain   bool // results are plain text
	Log     *slog.Logger

	logFile io.Closer
	version string
	stop    context.CancelFunc // ends the approval server
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
		Tools: set, Policy: &o.Policy, Root: s.Root.Dir(), Relative: s.Root.Relative, Version: s.Files.Version, Rate: o.Rate, Suspicion: o.Suspicion,
		Journal:  &record.Journal{Trail: s.Trail, Log: s.Log},
		RollBack: s.rollBack,
		Log:      s.Log,
	}
	if o.Policy.Unattended || o.Elsewhere {
		return s, nil
	}
	s.Queue = new(approval.Queue)
	s.serving.Go(func() { o.Notify.Follow(serving, s.Queue, false, o.Secret, s.Log) })
	s.Handler.Approver = mcpserver.Relay{Next: s.Queue}
	listener, err := socket.Listen(o.State)
	if err != nil {
		return nil, err
	}
	page := &web.Handler{Queue: s.Queue, Root: s.Root.Dir(), Version: o.Version, Log: s.Log}
	s.serving.Go(func() {
		defer listener.Remove()
		if err := page.ServeLocal(serving, listener); err != nil {
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
	if s.Root, err = OpenWorkspace(dir, o.State, o.Limits, s.Log); err != nil {
		return err
	}
	c := filetools.Config{
		Root: s.Root, Hidden: o.Policy.Hides, ShowSecrets: o.Policy.Secrets == policy.Allow, Relative: o.Relative, Log: s.Log, Elsewhere: o.Seen,
	}
	if o.Dedupe {
		c.Dedupe = &filetools.Dedupe{Count: tokens.Estimate{}.Count}
	}
	s.Files, err = filetools.New(c)
	return err
}

// Server makes an MCP server for the tools.
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

// Close stores the outcomes of the calls, and closes everything. No call may be running.
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
