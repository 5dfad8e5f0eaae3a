package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/site"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/llm"
)

// userConfig returns the path of the user's file, which may not exist.
func (p *program) userConfig() string {
	return p.xdg("XDG_CONFIG_HOME", ".config", "config.toml")
}

// xdg returns the path of stet's file under an XDG base directory; "" if there is no home. A relative base is ignored, as the XDG
// specification requires.
func (p *program) xdg(variable, fallback, name string) string {
	base := p.getenv(variable)
	if !filepath.IsAbs(base) {
		base = p.below(fallback)
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "stet", name)
}

// machine returns the environment in which agents run: this machine.
func (p *program) machine() agents.Machine { return agents.Machine{Env: p.env, Dir: p.dir} }

// agentMachine returns the machine with what a redirection also depends on: the agents' versions, and the upstreams of o,
// which may be nil.
func (p *program) agentMachine(ctx context.Context, o *config.Config) agents.Machine {
	m := p.machine()
	m.Version = func(program string) string {
		path, err := process.LookPath(program)
		if err != nil {
			return ""
		}
		return p.versions(ctx, []string{path})[0]
	}
	if o != nil {
		m.Upstream = func(api string, found string) string {
			return o.Routed(llm.Upstreams{api: found})[api]
		}
	}
	return m
}

// systemCertificates returns the authorities of the system, or none.
func systemCertificates() *x509.CertPool {
	if pool, err := x509.SystemCertPool(); err == nil {
		return pool
	}
	return x509.NewCertPool()
}

// roots returns the authorities of the system, and those that a person gives agents: the authority of a company's proxy that opens TLS is one.
// nil: the person gives none.
func (p *program) roots() (pool *x509.CertPool) {
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"} {
		file := p.getenv(name)
		if file == "" {
			continue
		}
		if pool == nil {
			pool = systemCertificates()
		}
		_ = site.AddCertificates(pool, p.absolute(file)) // agents say what is wrong with it
	}
	return pool
}

// setupFile records which agents always go through the proxy.
func (p *program) setupFile() string { return p.xdg("XDG_STATE_HOME", ".local/state", "setup.json") }

// serversFile records where stet setup has added the file tools.
func (p *program) serversFile() string {
	return p.xdg("XDG_STATE_HOME", ".local/state", "servers.json")
}

// lasting returns the agents that always go through the proxy.
func (p *program) lasting() (agents.Lasting, error) {
	return agents.ReadLasting(p.setupFile())
}

// home returns the home directory, empty when there is none.
func (p *program) home() string { return p.machine().Home() }

// below returns a path in the home directory, empty when there is no home.
func (p *program) below(names ...string) string { return p.machine().BelowHome(names...) }

// absolute makes a path absolute, relative to the working directory.
func (p *program) absolute(path string) string { return p.machine().Absolute(path) }

// config reads the configuration; the flags of cmd have priority. dir is where the search for the project's file begins. workspace
// is the directory whose rules apply; "" for commands without file tools.
func (p *program) config(cmd *cobra.Command, dir, workspace string) (*config.Config, error) {
	c, err := config.Load(config.Source{
		Dir: dir, Workspace: workspace, Home: p.home(), User: p.userConfig(),
		Getenv: p.getenv, Flags: cmd.Flags(), Warn: p.say,
		Servers: cmd.Name() == "acp", // sessions name servers of their own
	})
	var flag *config.FlagError
	switch {
	case errors.As(err, &flag):
		return nil, usage(cmd, err)
	case err != nil:
		return nil, misconfigured(err)
	}
	for _, wrong := range config.Misspelt(p.env) {
		p.say("%s", wrong)
	}
	return c, nil
}

// keyVariables hold secrets for a model's provider, a gateway or a database.
var keyVariables = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STET_TOKEN", "STET_STORE"}

// environForOthers returns the environment for other programs, without stet's keys. A program that needs a key gets it explicitly.
func (p *program) environForOthers() []string {
	return slices.DeleteFunc(slices.Clone(p.env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(keyVariables, name)
	})
}

// realPath resolves the links in the existing part of path.
func (p *program) realPath(path string) string {
	if dir, err := p.workspaceDir(path); err == nil {
		return dir
	}
	return p.absolute(path) // a removed directory may still be in the trail
}

// say prints a message for the person on standard error.
func (p *program) say(format string, args ...any) {
	fmt.Fprintf(p.err, "stet: "+format+"\n", args...)
}

// logFile returns the path of the log; "": none.
func (p *program) logFile(name string) string {
	if name == "" {
		return ""
	}
	return p.absolute(name)
}

// openLog opens the log of --log; without it, errors go to standard error.
func (p *program) openLog(name string) (*slog.Logger, io.Closer, error) {
	if name == "" {
		return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelError})), io.NopCloser(nil), nil
	}
	log, file, err := config.OpenLog(p.absolute(name))
	if err != nil {
		return nil, nil, misconfigured(err)
	}
	return log, file, nil
}

// stateDir returns stet's state directory.
func (p *program) stateDir() (string, error) {
	dir := p.xdg("XDG_STATE_HOME", ".local/state", "")
	if dir == "" {
		return "", misconfigured(errors.New("there is no home directory (HOME) for locks, versions and the audit trail"))
	}
	return dir, nil
}

// trailFile returns the file of the audit trail; "" if there is no home.
func (p *program) trailFile() string { return p.xdg("XDG_STATE_HOME", ".local/state", "stet.db") }

// toolOptions returns the configured options of the file tools, with the program's own files.
func (p *program) toolOptions(c *config.Config) (o toolset.Options, err error) {
	if o, err = toolset.FromConfig(c); err != nil {
		return o, misconfigured(err)
	}
	if o.State, err = p.stateDir(); err != nil {
		return o, err
	}
	o.Trail, o.Version = p.storeOf(c), version()
	o.Log, o.LogFile, err = p.openLog(c.Log)
	return o, err
}
