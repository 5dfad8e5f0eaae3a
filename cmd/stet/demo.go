package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// demoCommand is stet demo.
type demoCommand struct{ command }

func newDemo(p *program) *cobra.Command {
	c := &demoCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "demo [flags]",
		Short: "See stet at work, without a key",
		Long: `Run a small session of an agent and a model with stet between them, and show for
each request what the agent sent and what the model received.

The model is scripted, and so are its calls of tools. The agent, its requests over HTTP,
the proxy, the tools and the files are real. The files are in a temporary directory.
Nothing leaves this machine, and no key is needed.`,
		Example: "stet demo\nstet demo --policy off",
		Args:    noArgs,
	}, &c.command, c.Run)
	config.AddFlags(cmd.Flags(), "policy", "keep")
	return cmd
}

// Run runs the whole session before it prints: if the reader stops early, as in "stet demo | head", the program ends there.
func (c *demoCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error {
		report, err := c.session(ctx, o)
		if err == nil && ctx.Err() == nil {
			report.Print(c.screen(c.out))
		}
		return err
	})
}

// session runs the demo's session, and removes its files.
func (c *demoCommand) session(ctx context.Context, o *config.Config) (_ *demo.Report, err error) {
	d, err := demo.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	quiet := slog.New(slog.DiscardHandler)
	tools, err := toolset.Open(ctx, d.Workspace(), toolset.Options{
		Policy: policy.Policy{Unattended: true}, Rate: -1, Limits: toolset.LimitsOf(o), State: d.Dir, Trail: filepath.Join(d.Dir, "stet.db"), Log: quiet, Version: version(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	listener, err := proxyserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o.Upstream = llm.Upstreams{llm.Messages: d.ModelURL()}
	o.Record, o.Observe = false, false
	s, err := c.startProxy(ctx, o, listener, proxyserver.Config{Root: d.Workspace()})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	r, err := d.Run(ctx, demo.Site{
		ModelURL: s.Base, Handler: tools.Handler, Files: tools.Files, Sessions: new(session.Memory), Variables: localagent.Variables(d.Workspace()), Log: quiet,
	})
	return r, errors.Join(err, s.Close(ctx, time.Second))
}
