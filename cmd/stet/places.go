package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/agentconfig"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/toolset"
)

// userConfig returns where the user's file is, or would be.
func (p *program) userConfig() string {
	return p.xdg("XDG_CONFIG_HOME", ".config", "config.toml")
}

// xdg returns stet's file of that name under an XDG base directory, empty
// when there is no home to put it in. A relative base is ignored, as the XDG
// specification wants it.
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

// machine is where agents run: here.
func (p *program) machine() agentconfig.Machine { return agentconfig.Machine{Env: p.env, Dir: p.dir} }

// setupFile says which agents go through the proxy for good.
func (p *program) setupFile() string { return p.xdg("XDG_STATE_HOME", ".local/state", "setup.json") }

// serversFile says where stet setup has put the file tools.
func (p *program) serversFile() string {
	return p.xdg("XDG_STATE_HOME", ".local/state", "servers.json")
}

// lasting are the agents that go through the proxy for good.
func (p *program) lasting() (agentconfig.Lasting, error) {
	return agentconfig.ReadLasting(p.setupFile())
}

// home returns the home directory, empty when there is none.
func (p *program) home() string { return p.machine().Home() }

// below returns a path in the home directory, empty when there is no home.
func (p *program) below(names ...string) string { return p.machine().BelowHome(names...) }

// absolute returns a path as one that begins at the working directory.
func (p *program) absolute(path string) string { return p.machine().Absolute(path) }

// config reads the configuration, the flags given to cmd above all. dir is where
// the project's file is looked for. workspace is the directory whose rules count;
// empty is for commands that have no file tools.
func (p *program) config(cmd *cobra.Command, dir, workspace string) (*config.Config, error) {
	c, err := config.Load(config.Source{
		Dir: dir, Workspace: workspace, Home: p.home(), User: p.userConfig(),
		Getenv: p.getenv, Flags: cmd.Flags(), Warn: p.say,
	})
	var flag *config.FlagError
	switch {
	case errors.As(err, &flag):
		return nil, usage(cmd, err)
	case err != nil:
		return nil, misconfigured(err)
	}
	return c, nil
}

// keyVariables hold secrets for a model's provider, a gateway or a database.
var keyVariables = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STET_TOKEN", "STET_STORE"}

// environForOthers is the environment for programs of others, which get no key of
// ours. One that needs a key is given it by name.
func (p *program) environForOthers() []string {
	return slices.DeleteFunc(slices.Clone(p.env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(keyVariables, name)
	})
}

// realPath is path with its links resolved, as far as it is there.
func (p *program) realPath(path string) string {
	if dir, err := p.workspaceDir(path); err == nil {
		return dir
	}
	return p.absolute(path) // what is gone may still be in the trail
}

// say tells the person something, on standard error.
func (p *program) say(format string, args ...any) {
	fmt.Fprintf(p.err, "stet: "+format+"\n", args...)
}

// logFile is where the log is written to; empty for none.
func (p *program) logFile(name string) string {
	if name == "" {
		return ""
	}
	return p.absolute(name)
}

// openLog opens the log of --log; without it, standard error is told what breaks.
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

// toolOptions are the options of file tools that the configuration says, with the
// program's own files.
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
