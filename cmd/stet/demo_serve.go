package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
)

// serveDemo is what stet serve has to show by itself: a workspace, and two agents
// whose models are scripted. All else is real: their requests go through the proxy,
// their calls through the tools, policy, approvals and the audit trail. The first
// agent is done when it is shown; the second one waits for a person.
type serveDemo struct {
	dir    string // of the state; the workspace is in it
	kept   bool   // the directory was given, and stays
	models [2]*llmtest.Server

	stop    context.CancelFunc // ends the second agent
	working sync.WaitGroup
}

// Models of the agents: they price what the scripted ones are said to use.
const (
	demoFirst  = "claude-sonnet-4-5"
	demoSecond = "gpt-5-mini"
)

// openServeDemo makes the files and the models. dir is "" for a temporary
// directory. What is returned beside it is the program as it runs there: with a
// state of its own, nobody's configuration, and the scripted models upstream.
func (p *program) openServeDemo(dir string) (_ *serveDemo, there *program, err error) {
	d := &serveDemo{dir: dir, kept: dir != "", stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("demo: %w", err), d.close())
		}
	}()
	if d.kept {
		d.dir, err = demoDir(p.absolute(dir))
	} else {
		d.dir, err = os.MkdirTemp("", "stet-demo-")
	}
	if err != nil {
		return nil, nil, err
	}
	if err := writeSample(d.dir); err != nil {
		return nil, nil, err
	}
	for i, script := range []llmtest.Script{firstScript(), secondScript()} {
		if d.models[i], err = llmtest.Start(llmtest.Config{Script: script}); err != nil {
			return nil, nil, err
		}
	}
	own := *p
	own.dir = d.garden()
	own.env = append(own.env[:len(own.env):len(own.env)],
		"XDG_STATE_HOME="+d.dir, "XDG_CONFIG_HOME="+filepath.Join(d.dir, "config"), "STET_MODEL="+scriptedModel, "STET_UPSTREAM=",
		"STET_UPSTREAM_MESSAGES="+d.models[0].URL, "STET_UPSTREAM_CHAT="+d.models[1].URL, "STET_UPSTREAM_RESPONSES="+d.models[1].URL)
	return d, &own, nil
}

// garden is the workspace.
func (d *serveDemo) garden() string { return filepath.Join(d.dir, "garden") }

// demoDir is dir if it is fit for a demo: new, empty, or of one before.
func demoDir(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	for _, of := range []string{"garden", filepath.Join("stet", "stet.db")} { // a state directory in use has the second
		if _, err := os.Stat(filepath.Join(dir, of)); err != nil && len(entries) > 0 {
			return "", fmt.Errorf("%s has files that are none of a demo's", dir)
		}
	}
	return dir, nil
}

// writeSample writes the sample's files as they are at first.
func writeSample(dir string) error {
	return fs.WalkDir(sample, "sample", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel("sample", filepath.FromSlash(name))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, below)
		if e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := sample.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}

// play has the first agent work to its end, and the second one as far as its first
// question. What that one does then, it tells p's person.
func (d *serveDemo) play(ctx context.Context, p *program, s *site) error {
	s.hands.handler.Timeout = -1 // whoever looks around has all the time
	proxied := s.server.base + "/p/" + url.PathEscape(s.agent)
	first := d.agentOf(s, demoFirst, anthropic.Client{Endpoint: endpoint.Config{BaseURL: proxied, Key: "none", Model: demoFirst}})
	second := d.agentOf(s, demoSecond, openai.ChatClient{Endpoint: endpoint.Config{BaseURL: proxied + "/v1", Key: "none", Model: demoSecond}})

	approving, approved := context.WithCancel(ctx)
	sub := s.queue.Subscribe()
	var asked sync.WaitGroup
	asked.Go(func() { approveAll(approving, sub) })
	err := work(ctx, first, firstTask, nil)
	approved()
	asked.Wait()
	if err = errors.Join(err, sub.Close()); err != nil {
		return fmt.Errorf("demo: %w", err)
	}

	sub = s.queue.Subscribe()
	defer sub.Close()
	ended := make(chan error, 1)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.working.Go(func() {
		defer stop()
		ended <- work(working, second, secondTask, func(e agent.Event) {
			if e.Kind == agent.CallEnds && (e.Call.Name == "edit_file" || e.Call.Name == "write_file") && working.Err() == nil {
				p.say("the demo's agent was told of its %s: %s", e.Call.Name, oneLine(cropped(e.Result.Text, 200)))
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

// agentOf is an agent with the site's tools and store. It leaves nothing out of its
// requests: that is the proxy's to do.
func (d *serveDemo) agentOf(s *site, name string, model llm.Model) *agent.Agent {
	return &agent.Agent{
		Model: model, Name: name, Tools: s.hands.handler, Store: s.sessions, Dir: d.garden(), Files: s.hands.tools,
		Engine: history.Config{Policy: history.Off, Root: d.garden()}, Prompt: agent.Prompt{Variables: variables(d.garden())},
		Client: "demo", Log: s.log,
	}
}

// work has an agent do a task.
func work(ctx context.Context, a *agent.Agent, task string, each func(agent.Event)) error {
	talk, err := a.New(ctx)
	if err != nil {
		return err
	}
	out, err := talk.Run(ctx, said(task), each)
	if err == nil && out.End != agent.Done {
		err = fmt.Errorf("the agent ended: %s", out.End)
	}
	return err
}

// approveAll approves whatever is asked until ctx ends.
func approveAll(ctx context.Context, sub *approval.Subscription) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if q := e.Opened; q != nil {
			// An answer that comes too late finds the question closed.
			_ = sub.Answer(ctx, q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal, By: "the demo"})
		}
	}
}

// tell says what there is to see.
func (d *serveDemo) tell(p *program) {
	p.say("this is a demo, with scripted models: the page has a write to decide on, two sessions, and what was saved")
	if d.kept {
		p.say("its files stay in %s; commands see it with XDG_STATE_HOME=%s", d.dir, d.dir)
	} else {
		p.say("its files are in %s until it ends; Ctrl-C ends it", d.dir)
	}
}

// end ends the second agent.
func (d *serveDemo) end() {
	d.stop()
	d.working.Wait()
}

// close ends the models, and takes a temporary directory away.
func (d *serveDemo) close() error {
	d.end()
	var errs []error
	for _, m := range d.models {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	if !d.kept && d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
