package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
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

The model is scripted, and so are its calls of tools and what commands print. The
agent, its requests over HTTP, the proxy and the files are real. The files are in a
temporary directory. Nothing leaves this machine, and no key is needed.`,
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
			report.Print(c.screen(c.out), columns(c.out))
		}
		return err
	})
}

// session runs the demo's session, and removes its files.
func (c *demoCommand) session(ctx context.Context, o *config.Config) (_ *demo.Report, err error) {
	d, err := demo.OpenSession()
	defer func() { err = errors.Join(err, d.Close()) }()
	if err != nil {
		return nil, err
	}
	listener, err := proxyserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o.Upstream = config.Upstreams{Messages: d.ModelURL}
	o.Record, o.Observe = false, false
	s, err := c.startProxy(ctx, o, listener, proxyserver.Config{Root: d.Dir})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	runErr := d.Run(ctx, s.Base)
	if err := errors.Join(runErr, s.Close(ctx, time.Second)); err != nil {
		return nil, err
	}
	return d.Report(string(o.Policy), s.Proxy.Totals())
}
