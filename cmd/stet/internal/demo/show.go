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
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim"
)

// Show is the content of stet serve --demo: a workspace, and two agents with scripted models. Everything else is real: their
// requests go through the proxy, and their calls through the tools, policy, approvals and the audit trail. The first agent is done
// when the page is shown. The second one waits for a person.
type Show struct {
	dir    string // a temporary directory in the state directory, with the workspace
	models [2]*llmtest.Server

	stop    context.CancelFunc // ends the second agent
	working sync.WaitGroup
}

// Model names of the agents: they decide the prices of the scripted usage.
const (
	firstModel  = "claude-sonnet-4-5"
	secondModel = "gpt-5-mini"
)

// OpenShow makes the files and the models.
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
	for i, script := range []llmtest.Script{firstScript(), secondScript()} {
		if d.models[i], err = llmtest.Start(llmtest.Config{Script: script}); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Environment returns variables for the server: a separate state, an empty configuration, and the scripted models as upstreams.
func (d *Show) Environment() []string {
	return []string{
		"XDG_STATE_HOME=" + d.dir, "XDG_CONFIG_HOME=" + filepath.Join(d.dir, "config"), "STET_MODEL=" + ModelName, "STET_UPSTREAM=",
		"STET_UPSTREAM_MESSAGES=" + d.models[0].URL, "STET_UPSTREAM_CHAT=" + d.models[1].URL, "STET_UPSTREAM_RESPONSES=" + d.models[1].URL,
	}
}

// Workspace is the directory of the workspace.
func (d *Show) Workspace() string { return filepath.Join(d.dir, "garden") }

// Site is the server that the agents work with.
type Site struct {
	ModelURL  string // base URL of the proxy, with a token
	Handler   *approval.Handler
	Files     *filetools.Tools
	Queue     *approval.Queue
	Sessions  session.Store
	Variables []agent.Variable // of the agents' prompts
	Log       *slog.Logger
	Say       func(format string, args ...any) // says something to the person
}

// Play runs the first agent to its end, and the second one to its first question. It says to the person what the second agent does
// later.
func (d *Show) Play(ctx context.Context, s Site) error {
	s.Handler.Timeout = -1 // a person who looks around needs time
	first := d.agentOf(s, firstModel, endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: s.ModelURL, Key: "none", Model: firstModel}})
	second := d.agentOf(s, secondModel, endpoint.Client{API: openai.ChatAPI, Config: endpoint.Config{BaseURL: s.ModelURL + "/v1", Key: "none", Model: secondModel}})

	approving, approved := context.WithCancel(ctx)
	sub := s.Queue.Subscribe()
	var asked sync.WaitGroup
	asked.Go(func() { approveAll(approving, sub) })
	err := work(ctx, first, firstTask, nil)
	approved()
	asked.Wait()
	if err = errors.Join(err, sub.Close()); err != nil {
		return fmt.Errorf("demo: %w", err)
	}

	sub = s.Queue.Subscribe()
	defer sub.Close()
	ended := make(chan error, 1)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.working.Go(func() {
		defer stop()
		ended <- work(working, second, secondTask, func(e agent.Event) {
			if e.Kind == agent.CallEnds && (e.Call.Name == "edit_file" || e.Call.Name == "write_file") && working.Err() == nil {
				s.Say("the demo's agent was told of its %s: %s", e.Call.Name, report.OneLine(report.Cropped(e.Result.Text, 200)))
			}
		})
	})
	for {
		waiting, done := context.WithCancel(ctx)
		over := context.AfterFunc(working, done)
		e, err := sub.Next(waiting)
		over()
		done()
		switch {
		case err == nil && e.Opened == nil:
		case err == nil || ctx.Err() != nil:
			return ctx.Err()
		default:
			return fmt.Errorf("demo: the second agent ended before it asked: %w", <-ended)
		}
	}
}

// agentOf returns an agent with the site's tools and store. Nothing is left out of its requests: the proxy does that.
func (d *Show) agentOf(s Site, name string, model llm.Model) *agent.Agent {
	return &agent.Agent{
		Model: model, Name: name, Tools: s.Handler, Store: s.Sessions, Dir: d.Workspace(), Files: s.Files,
		Engine: trim.Config{Policy: trim.Off, Root: d.Workspace()}, Prompt: agent.Prompt{Variables: s.Variables},
		Client: "demo", Log: s.Log,
	}
}

// work runs a task with an agent.
func work(ctx context.Context, a *agent.Agent, task string, each func(agent.Event)) error {
	talk, err := a.New(ctx)
	if err != nil {
		return err
	}
	out, err := talk.Run(ctx, []llm.Part{{Kind: llm.Text, Text: task}}, each)
	if err == nil && out.End != agent.Done {
		err = fmt.Errorf("the agent ended: %s", out.End)
	}
	return err
}

// approveAll approves all questions until ctx ends.
func approveAll(ctx context.Context, sub *approval.Subscription) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if q := e.Opened; q != nil {
			// A late answer finds the question closed.
			_ = sub.Answer(ctx, q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal, By: "the demo"})
		}
	}
}

// Tell describes the demo.
func (d *Show) Tell(say func(format string, args ...any)) {
	say("this is a demo, with scripted models: the page has a write to decide on, two sessions, and what was saved")
	say("its files are in %s until it ends; Ctrl-C ends it", d.dir)
}

// End ends the second agent.
func (d *Show) End() {
	d.stop()
	d.working.Wait()
}

// Close ends the models, and removes the temporary directory.
func (d *Show) Close() error {
	d.End()
	var errs []error
	for _, m := range d.models {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
