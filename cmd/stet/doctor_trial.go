package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// Time limits of a run of an agent.
const (
	runTime   = 2 * time.Minute
	afterTime = 3 * time.Second // after its first request with tools
)

// mostRuns is how often an agent runs in a way whose differences stet does not know: on a busy machine it may ask before its MCP servers are there.
const mostRuns = 3

// comparedPrompt is what the agent is asked.
const comparedPrompt = "stet doctor asks: what is here?"

// trialRuns runs an agent once in each way.
type trialRuns struct {
	*doctorCommand
	name, dir string
	settings  *config.Config
	version   string
	servers   []string // of the agent
}

// way is a way from the agent to its provider.
type way struct {
	name string
	// open changes a run to go this way, and returns what ends what serves it.
	open func(ctx context.Context, run *trialRun) (end func() error, err error)
}

// trialRun is a run of the agent: what starts it, and the provider that it asks.
type trialRun struct {
	*agents.Redirect
	dir      string
	provider *llmtest.Provider
}

// all runs the agent in all ways.
func (t *trialRuns) all(ctx context.Context) (*comparison, error) {
	directly := func(context.Context, *trialRun) (func() error, error) { return func() error { return nil }, nil }
	direct, _, err := t.run(ctx, way{agents.Directly, directly})
	if err != nil {
		return nil, err
	}
	again, _, err := t.run(ctx, way{agents.Directly + ", once more", directly})
	if err != nil {
		return nil, err
	}
	out := &comparison{Agent: t.name, Version: t.version, API: direct.API, Servers: t.servers}
	out.Ways = []wayRow{{Way: agents.Directly, Tools: direct.Tools, Bytes: direct.Bytes}}
	var kept []string
	for _, w := range []way{{agents.ByBaseURL, t.byBaseURL(false)}, {agents.ByVariables, t.byBaseURL(true)}, {agents.ByConnect, t.byConnect}} {
		if w.name == agents.ByVariables && len(kept) == 0 {
			continue // the agent has none
		}
		var row wayRow
		for range mostRuns {
			got, variables, err := t.run(ctx, w)
			if err != nil {
				return nil, err
			}
			kept = variables
			row = wayRow{Way: w.name, Tools: got.Tools, Bytes: got.Bytes, Differences: agents.Compare(direct, again, got, t.name, t.version, w.name)}
			if row.unexpected() == 0 {
				break
			}
		}
		if w.name == agents.ByVariables {
			row.Variables = kept
		}
		out.Ways = append(out.Ways, row)
	}
	return out, nil
}

// run runs the agent in one way, and returns its first request, and the variables that keep its own behaviour.
func (t *trialRuns) run(ctx context.Context, w way) (_ *agents.Capture, kept []string, err error) {
	t.say("%s, %s ...", t.name, w.name)
	asked, answer := context.WithCancel(ctx)
	defer answer()
	p, err := llmtest.StartProvider(llmtest.Config{Handler: func(r *llm.Request) (llm.Response, error) {
		if len(r.Tools) > 0 {
			answer()
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}}}, nil
	}}, agents.ProviderHosts...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	work := filepath.Join(t.dir, "run") // the same for all ways, because agents name it in their requests
	if err := os.RemoveAll(work); err != nil {
		return nil, nil, err
	}
	server := []string{ownCommand(), "doctor", "--serve-tools"}
	if t.mine {
		server = nil
	}
	trial, err := t.machine().Trial(t.name, work, p, server, comparedPrompt)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	if t.version == "" {
		t.version, t.servers = versionOf(ctx, trial.Command[0], trial.Dir, trial.Env), trial.Servers
	}
	run := &trialRun{&agents.Redirect{Args: trial.Command, Env: trial.Env}, trial.Dir, p}
	end, err := w.open(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	said, err := run.once(ctx, asked)
	run.Clean()
	err = errors.Join(err, end())
	got, none := agents.FirstRequest(p.Model.Requests(), comparedPrompt)
	if err = errors.Join(err, context.Cause(ctx), none); err != nil {
		return nil, nil, fmt.Errorf("%s, %s: %w; it said:\n%s", t.name, w.name, err, said)
	}
	return got, run.Kept, nil
}

// once runs the agent until it has ended, or a while after it has asked. It returns the end of what the agent printed.
func (r *trialRun) once(ctx, asked context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.Args[0], r.Args[1:]...)
	process.Group(cmd)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = r.dir, r.Env, &said, &said, time.Second
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer context.AfterFunc(asked, func() { time.AfterFunc(afterTime, cancel) })()
	_ = cmd.Wait() // what it asked counts, not how it ended
	if cmd.Cancel != nil {
		_ = cmd.Cancel() // what it started may go on
	}
	return said.String()[max(0, said.Len()-2000):], nil
}

// byBaseURL is the way under stet wrap, with the variables that keep the agent's own behaviour or without them.
func (t *trialRuns) byBaseURL(variables bool) func(context.Context, *trialRun) (func() error, error) {
	return func(ctx context.Context, run *trialRun) (func() error, error) {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		m := agents.Machine{Env: run.Env, Dir: run.dir, Version: func(string) string { return t.version }}
		run.Redirect = m.Redirect(run.Args, "http://"+listener.Addr().String())
		o := *t.settings
		o.Upstream = run.Found
		s, err := t.startProxy(ctx, &o, listener, proxyserver.Config{Root: run.dir, Transport: run.provider.Transport()})
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		for _, note := range run.Notes {
			t.say("%s", note)
		}
		if !variables {
			run.Env = slices.DeleteFunc(run.Env, func(s string) bool {
				name, _, _ := strings.Cut(s, "=")
				return slices.Contains(run.Kept, name)
			})
		}
		return func() error { return s.Close(context.WithoutCancel(ctx), time.Second) }, nil
	}
}

// byConnect is the way under stet wrap with via = "connect".
func (t *trialRuns) byConnect(ctx context.Context, run *trialRun) (func() error, error) {
	authority, err := proxyserver.OpenAuthority(filepath.Join(t.dir, "authority"))
	if err != nil {
		return nil, err
	}
	var at [2]net.Listener // of the proxy, and of the forward proxy
	for i := range at {
		if at[i], err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	o := *t.settings
	o.Upstream = llm.Upstreams{}
	s, err := t.startProxy(ctx, &o, at[0], proxyserver.Config{Root: run.dir, Transport: run.provider.Transport(), Agents: proxyserver.HostUpstreams(&o, nil)})
	if err != nil {
		return nil, errors.Join(err, at[0].Close(), at[1].Close())
	}
	run.Redirect, err = agents.Machine{Env: run.Env, Dir: run.dir}.Forward(run.Args, "http://"+at[1].Addr().String(), func(own []byte) (string, error) {
		file := filepath.Join(t.dir, "trusted.pem")
		return file, os.WriteFile(file, slices.Concat(own, []byte("\n"), authority.Certificate()), 0o600)
	})
	if err != nil {
		return nil, errors.Join(err, at[1].Close(), s.Close(context.WithoutCancel(ctx), time.Second))
	}
	forward := proxyserver.Forward{Authority: authority, Upstream: run.provider.Transport(), Logger: s.Log}.InProcess(s.Proxy)
	forward.Serve(at[1])
	return func() error {
		forward.Close()
		return s.Close(context.WithoutCancel(ctx), time.Second)
	}, nil
}
