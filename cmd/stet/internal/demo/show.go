// Package demo has demonstrations that need no key: a session of an agent on a small project ("stet demo"), the same session with a person who decides in
// a browser ("stet serve --demo"), the scripted model of stet's own agent, and a scripted model for other agents ("stet model"). The models are
// scripted; agent, requests, proxy, tools and files are real.
package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
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

// sample is the project that the agent works on.
//
//go:embed sample
var sample embed.FS

// Show is an agent with a scripted model, and its project. The agent's requests go through the proxy, and its calls through the tools, policy, approvals
// and the audit trail.
type Show struct {
	Dir   string // a temporary directory, with the project; also a place for state
	model *llmtest.Server

	stop    context.CancelFunc // ends the agent
	working sync.WaitGroup
}

// showModel is the name of the agent's model: it decides the prices of the scripted usage.
const showModel = "claude-sonnet-4-5"

// Open makes the files and the model.
func Open() (_ *Show, err error) {
	d := &Show{stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("demo: %w", err), d.Close())
		}
	}()
	if d.Dir, err = os.MkdirTemp("", "stet-demo-"); err != nil {
		return nil, err
	}
	files, err := fs.Sub(sample, "sample")
	if err == nil {
		err = os.CopyFS(d.Dir, files)
	}
	if err != nil {
		return nil, err
	}
	d.model, err = llmtest.Start(llmtest.Config{Script: script()})
	return d, err
}

// ModelURL is the base URL of the model.
func (d *Show) ModelURL() string { return d.model.URL }

// Environment returns variables for a server: a separate state, an empty configuration, and the scripted model as upstream.
func (d *Show) Environment() []string {
	return []string{
		"XDG_STATE_HOME=" + d.Dir, "XDG_CONFIG_HOME=" + filepath.Join(d.Dir, "config"), "STET_MODEL=" + ModelName, "STET_UPSTREAM=",
		"STET_UPSTREAM_MESSAGES=" + d.model.URL, "STET_UPSTREAM_CHAT=" + d.model.URL, "STET_UPSTREAM_RESPONSES=" + d.model.URL,
	}
}

// Workspace is the directory of the project.
func (d *Show) Workspace() string { return filepath.Join(d.Dir, "garden") }

// Site is what the agent works with.
type Site struct {
	ModelURL  string // base URL of the proxy, with a token where it needs one
	Handler   *approval.Handler
	Files     *filetools.Tools
	Queue     *approval.Queue // nil: no person is asked
	Sessions  session.Store
	Variables []agent.Variable // of the agent's prompt
	Log       *slog.Logger
	Say       func(format string, args ...any) // says something to the person
}

// talk begins the agent's conversation. transport carries its requests; nil: the default one.
func (d *Show) talk(ctx context.Context, s Site, transport http.RoundTripper) (*agent.Conversation, error) {
	a := &agent.Agent{
		Model: endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: s.ModelURL, Key: "none", Model: showModel, HTTP: &http.Client{Transport: transport}}},
		Name:  showModel, Tools: s.Handler, Store: s.Sessions, Dir: d.Workspace(), Files: s.Files,
		Engine: trim.Config{Policy: trim.Off, Root: d.Workspace()}, // the proxy leaves out what can be left out
		Prompt: agent.Prompt{Variables: s.Variables}, Client: "demo", Log: s.Log,
	}
	return a.New(ctx)
}

// task is what the person says to the agent.
var task = []llm.Part{{Kind: llm.Text, Text: "Rain and mulch should count when the beds are watered."}}

// Run runs the agent to its end, and compares what it sent with what the model received.
func (d *Show) Run(ctx context.Context, s Site) (*Report, error) {
	sent := new(recorder)
	talk, err := d.talk(ctx, s, sent)
	if err != nil {
		return nil, err
	}
	out, err := talk.Run(ctx, task, func(agent.Event) {})
	sent.CloseIdleConnections()
	if err != nil {
		return nil, err
	}
	r := &Report{words: out.Text}
	return r, r.compare(sent.bodies, d.model.Requests())
}

// recorder is a transport that keeps the bodies of requests.
type recorder struct {
	http.Transport
	bodies [][]byte
}

// RoundTrip implements http.RoundTripper.
func (t *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	t.bodies = append(t.bodies, body)
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return t.Transport.RoundTrip(r)
}

// Play runs the agent to its first question. It says to the person what the agent does later.
func (d *Show) Play(ctx context.Context, s Site) error {
	s.Handler.Timeout = -1 // a person who looks around needs time
	talk, err := d.talk(ctx, s, nil)
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
		_, ended = talk.Run(working, task, func(e agent.Event) {
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
	if d.Dir != "" {
		errs = append(errs, os.RemoveAll(d.Dir))
	}
	return errors.Join(errs...)
}
