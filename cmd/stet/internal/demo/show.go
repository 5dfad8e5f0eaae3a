package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim"
)

// Show is the content of stet serve --demo: a workspace, and an agent with a scripted model. Everything else is real: the agent's
// requests go through the proxy, and its calls through the tools, policy, approvals and the audit trail. When the page is shown,
// the agent waits for a person.
type Show struct {
	dir   string // a temporary directory in the state directory, with the workspace
	model *llmtest.Server

	stop    context.CancelFunc // ends the agent
	working sync.WaitGroup
}

// showModel is the name of the agent's model: it decides the prices of the scripted usage.
const showModel = "claude-sonnet-4-5"

// OpenShow makes the files and the model.
func OpenShow() (_ *Show, err error) {
	d := &Show{stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("demo: %w", err), d.Close())
		}
	}()
	if d.dir, err = os.MkdirTemp("", "stet-demo-"); err != nil {
		return nil, err
	}
	if err := writeSample(d.dir); err != nil {
		return nil, err
	}
	d.model, err = llmtest.Start(llmtest.Config{Script: showScript()})
	return d, err
}

// Environment returns variables for the server: a separate state, an empty configuration, and the scripted model as upstream.
func (d *Show) Environment() []string {
	return []string{
		"XDG_STATE_HOME=" + d.dir, "XDG_CONFIG_HOME=" + filepath.Join(d.dir, "config"), "STET_MODEL=" + ModelName, "STET_UPSTREAM=",
		"STET_UPSTREAM_MESSAGES=" + d.model.URL, "STET_UPSTREAM_CHAT=" + d.model.URL, "STET_UPSTREAM_RESPONSES=" + d.model.URL,
	}
}

// Workspace is the directory of the workspace.
func (d *Show) Workspace() string { return filepath.Join(d.dir, "garden") }

// Site is the server that the agent works with.
type Site struct {
	ModelURL  string // base URL of the proxy, with a token
	Handler   *approval.Handler
	Files     *filetools.Tools
	Queue     *approval.Queue
	Sessions  session.Store
	Variables []agent.Variable // of the agent's prompt
	Log       *slog.Logger
	Say       func(format string, args ...any) // says something to the person
}

// Play runs the agent to its first question. It says to the person what the agent does later.
func (d *Show) Play(ctx context.Context, s Site) error {
	s.Handler.Timeout = -1 // a person who looks around needs time
	a := &agent.Agent{
		Model: endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: s.ModelURL, Key: "none", Model: showModel}},
		Name:  showModel, Tools: s.Handler, Store: s.Sessions, Dir: d.Workspace(), Files: s.Files,
		Engine: trim.Config{Policy: trim.Off, Root: d.Workspace()}, // the proxy leaves out what can be left out
		Prompt: agent.Prompt{Variables: s.Variables}, Client: "demo", Log: s.Log,
	}
	talk, err := a.New(ctx)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	sub := s.Queue.Subscribe()
	defer sub.Close()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	var ended error // valid when working is done
	d.working.Go(func() {
		defer stop()
		_, ended = talk.Run(working, []llm.Part{{Kind: llm.Text, Text: showTask}}, func(e agent.Event) {
			if e.Kind == agent.CallEnds && (e.Call.Name == "edit_file" || e.Call.Name == "write_file") && working.Err() == nil {
				s.Say("the demo's agent got the result of its %s: %s", e.Call.Name, report.OneLine(report.Cropped(e.Result.Text, 200)))
			}
		})
	})
	waiting, done := context.WithCancel(ctx)
	defer done()
	defer context.AfterFunc(working, done)()
	if _, err := sub.Next(waiting); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("demo: the agent ended before it asked: %w", ended)
}

// Tell describes the demo.
func (d *Show) Tell(say func(format string, args ...any)) {
	say("this is a demo, with a scripted model: the page has a write to decide on, a session, and what was saved")
	say("its files are in %s until it ends; Ctrl-C ends it", d.dir)
}

// End ends the agent.
func (d *Show) End() {
	d.stop()
	d.working.Wait()
}

// Close ends the model, and removes the temporary directory.
func (d *Show) Close() error {
	d.End()
	var errs []error
	if d.model != nil {
		errs = append(errs, d.model.Close())
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
