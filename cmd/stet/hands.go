package main

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

// toolOptions are what the file tools go by.
type toolOptions struct {
	policy    policy.Policy
	suspicion policy.Suspicion
	rate      int // calls a minute; negative is any number
	dedupe    bool
	log       string
	auditDays int // how long entries of the trail are kept; 0 is for ever

	// elsewhere says that the caller sets whom the tools ask; no socket is made
	// for answers.
	elsewhere bool
}

func toolOptionsOf(c *config.Config) (*toolOptions, error) {
	rules, err := c.FilePolicy()
	if err != nil {
		return nil, misconfigured(err)
	}
	return &toolOptions{
		policy: rules, suspicion: policy.Suspicion{Do: c.Suspicion}, rate: c.CallRate(),
		dedupe: c.Dedupe, log: c.Log, auditDays: c.AuditDays,
	}, nil
}

// hands are the file tools over one workspace, with all that watches over
// them.
type hands struct {
	root    *workspace.Root
	tools   *filetools.Tools
	handler *approval.Handler
	memory  *budget.Budget  // of the calls; nil: each front end has one of its own
	queue   *approval.Queue // of what a person decides; nil: nobody is asked
	trail   *sqlite.Store
	plain   bool // results are plain text
	log     *slog.Logger
	logFile io.Closer

	stop    context.CancelFunc // ends what serves the approvals
	serving sync.WaitGroup
}

// openHands opens a workspace and makes the tools for it.
func (p *program) openHands(ctx context.Context, dir string, o *toolOptions) (_ *hands, err error) {
	h := &hands{stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	state, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	if h.log, h.logFile, err = p.openLog(o.log); err != nil {
		return nil, err
	}
	if err := h.openTree(ctx, p, dir, state, o); err != nil {
		return nil, err
	}
	set := new(tool.Set)
	if err := set.Add(h.tools.All()...); err != nil {
		return nil, err
	}
	for name, of := range h.tools.Aliases() {
		set.Alias(name, of)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.serving.Go(func() { keepTrail(serving, h.trail, o.auditDays, h.log) })
	h.handler = &approval.Handler{
		Tools: set, Policy: &o.policy, Root: h.root.Dir(), Version: h.tools.Version, Rate: o.rate, Suspicion: o.suspicion,
		Journal:  &record.Journal{Trail: h.trail, Log: h.log},
		RollBack: h.rollBack,
		Log:      h.log,
	}
	if o.policy.Unattended || o.elsewhere {
		return h, nil
	}
	h.queue = new(approval.Queue)
	h.handler.Approver = mcpserver.Relay{Next: h.queue}
	listener, err := socket.Listen(state)
	if err != nil {
		return nil, err
	}
	server := &approval.Server{Queue: h.queue, Root: h.root.Dir(), Log: h.log}
	h.serving.Go(func() {
		defer listener.Remove()
		if err := server.Serve(serving, listener); err != nil {
			h.log.Error("approvals", "err", err)
		}
	})
	return h, nil
}

// openTree opens the workspace, its tools and the audit trail.
func (h *hands) openTree(ctx context.Context, p *program, dir, state string, o *toolOptions) (err error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return config.StateError(err)
	}
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if h.trail, err = sqlite.Open(opening, p.trailFile()); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	if h.root, err = openWorkspace(dir, state, h.log); err != nil {
		return err
	}
	c := filetools.Config{Root: h.root, Hidden: o.policy.Hides, Log: h.log}
	if o.dedupe {
		c.Dedupe = &filetools.Dedupe{Count: tokens.Estimate{}.Count}
	}
	h.tools, err = filetools.New(c)
	return err
}

// server makes an MCP server that gives out the tools.
func (h *hands) server(c mcpConfig) (*mcpserver.Server, error) {
	var caller tool.Starter = h.handler
	if h.plain {
		caller = filetools.PlainCaller{Starter: caller}
	}
	return mcpserver.New(mcpserver.Config{
		Caller: caller, Aliases: h.tools.Aliases(), Version: version(), Await: h.handler.Approver != nil,
		End: func(session string) {
			h.handler.End(session)
			h.tools.End(session)
		},
		HTTP: c.http, Memory: h.memory, Logger: h.log,
	})
}

// close writes down what the calls came to, and lets go of everything. No call is
// under way any more.
func (h *hands) close() error {
	var errs []error
	if h.handler != nil {
		errs = append(errs, h.handler.Journal.Close())
	}
	h.stop()
	h.serving.Wait()
	if h.trail != nil {
		errs = append(errs, h.trail.Close())
	}
	if h.root != nil {
		errs = append(errs, h.root.Close())
	}
	if h.logFile != nil {
		errs = append(errs, h.logFile.Close())
	}
	return errors.Join(errs...)
}

// stateDir is where stet keeps what it knows.
func (p *program) stateDir() (string, error) {
	dir := p.xdg("XDG_STATE_HOME", ".local/state", "")
	if dir == "" {
		return "", misconfigured(errors.New("there is no home directory (HOME) for locks, versions and the audit trail"))
	}
	return dir, nil
}

// trailFile is the file of the audit trail, empty when there is no home.
func (p *program) trailFile() string { return p.xdg("XDG_STATE_HOME", ".local/state", "stet.db") }
