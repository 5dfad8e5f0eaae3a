package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/llm/llmtest"
)

func (p *program) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "See it work, without a key",
		Long: `Run a small session between an agent and a model with stet in between, and show
request by request what the agent sent and what reached the model.

The model is scripted and so is what it asks for; the agent, its requests over
HTTP, the proxy and the files are real. The files are copies of two of the
working directory's own: nothing in it is changed, and nothing leaves this
machine.`,
		Example: "stet demo\nstet demo --policy off",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.config(cmd, p.dir, "")
			if err != nil {
				return err
			}
			return p.runDemo(cmd.Context(), o)
		},
	}
	config.AddFlags(cmd.Flags(), "policy", "keep")
	return cmd
}

// runDemo has the session first and speaks then: whoever does not listen to the
// end, as in "stet demo | head", ends the program there.
func (p *program) runDemo(ctx context.Context, o *config.Config) error {
	signals := notify(endSignals)
	defer signal.Stop(signals)
	ctx, stop := lastCall(ctx, signals)
	defer stop()
	report, err := p.demoSession(ctx, o)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	report.print(p.screen(p.out), columns(p.out))
	return nil
}

// demoSession has the demo's session, and leaves nothing behind.
func (p *program) demoSession(ctx context.Context, o *config.Config) (report *demoReport, err error) {
	files, from := demoFiles(p.dir)
	dir, err := copyFiles(files)
	if dir != "" {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err != nil {
		return nil, fmt.Errorf("copy the files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()

	model, err := llmtest.Start(llmtest.Config{Script: demoScript(files)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	listener, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o.Upstream = config.Upstreams{Messages: model.URL}
	o.Record, o.Observe = false, false
	s, err := p.serve(ctx, o, listener, dir, nil)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	agent := newDemoAgent(s.base, root)
	words, runErr := agent.run(ctx)
	agent.http.CloseIdleConnections()
	if err := errors.Join(runErr, s.close(ctx, time.Second)); err != nil {
		return nil, err
	}
	report = &demoReport{
		from: from, base: s.base, policy: string(o.Policy), words: words, totals: s.proxy.Totals(),
	}
	return report, report.compare(agent.turns, model.Requests())
}

// demoScript is what the model says in the demo's session.
func demoScript(files []demoFile) llmtest.Script {
	a, b := files[0], files[1]
	from, to := 10, 35
	line := uniqueLine(a.text)
	return llmtest.Script{
		Turns: []llmtest.Turn{
			llmtest.Say("I read the first file.", llmtest.Read(a.name)),
			llmtest.Say("And the second.", llmtest.Read(b.name)),
			llmtest.Say("What did the first one say?", llmtest.Read(a.name)),
			llmtest.Say("I insist: I want to see it again.", llmtest.Read(a.name)),
			llmtest.Say("Some lines of it.", llmtest.ReadLines(a.name, from, to)),
			llmtest.Say("I mark the line that matters.", llmtest.Edit(a.name, line, line+" <- this one")),
			llmtest.Say("I check the file after the edit.", llmtest.Read(a.name)),
			llmtest.Say("And the second one, which nobody has touched.", llmtest.Read(b.name)),
		},
		End: "The line is marked.",
	}
}
