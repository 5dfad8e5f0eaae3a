package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/agent/mcpclient"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/llm"
)

// agentFlags are the flags of stet chat, stet run and stet acp that are not configuration keys.
type agentFlags struct {
	root      string
	named     bool // the root is not the default, although no flag names it
	window    int
	unwatched bool // --write-without-asking
	servers   bool // the agent gets the tools of the MCP servers in the configuration; no flag
}

// leastWindow is the smallest --window, in tokens. A smaller window has hardly any capacity next to the descriptions of the tools.
const leastWindow = 4096

// addAgentFlags adds the flags that the commands share which run the agent.
func addAgentFlags(f *pflag.FlagSet, a *agentFlags) {
	f.StringVar(&a.root, "root", ".", "the directory that the agent works in")
	f.IntVar(&a.window, "window", 0, "the model's context window in tokens; 0 takes what stet knows of the model")
	f.BoolVar(&a.unwatched, "write-without-asking", false, "write without asking, for tests and temporary directories; control files (which make something run) are refused")
	config.AddFlags(f, "model", "base-url", "api", "policy", "project-notes", "rate", "log", "store")
	f.Lookup("policy").Usage = "what may be left out of requests: off, keep-latest, lossless, adaptive, bold (\"stet help wrap\" explains them)"
}

// openAgent opens the agent with its workspace and model.
func (c *command) openAgent(ctx context.Context, f agentFlags) (*localagent.Agent, error) {
	if f.window < 0 || f.window > 0 && f.window < leastWindow {
		return nil, c.usage(fmt.Errorf("--window %d: the least is %d tokens, and 0 is what is known of the model", f.window, leastWindow))
	}
	root, err := c.workspaceDir(f.root)
	if err == nil {
		err = c.mayServe(root, f.named || c.cmd.Flags().Changed("root"))
	}
	if err != nil {
		return nil, c.usage(err)
	}
	settings, err := c.settings(root)
	if err != nil {
		return nil, err
	}
	model, err := c.model(settings)
	if err != nil {
		return nil, err
	}
	tools, err := c.toolOptions(settings)
	if err != nil {
		return nil, err
	}
	tools.Policy.Unattended = f.unwatched
	o := localagent.Options{
		Settings: settings, Model: model, Dir: root, Tools: tools, Window: f.window, Getenv: c.getenv, Say: c.say,
	}
	if f.servers {
		o.Servers = &mcpclient.Config{Version: version(), Environ: c.environForOthers()}
	}
	return localagent.Open(ctx, o)
}

// model returns the configured model. It checks that there is a key, or an endpoint that may need none.
func (c *command) model(s *config.Config) (localagent.Model, error) {
	m, err := localagent.ChooseModel(s)
	if err != nil {
		return m, c.usage(err)
	}
	_, stop, err := m.Open(c.getenv)
	if err != nil {
		return m, misconfigured(err)
	}
	stop()
	return m, nil
}

// modelReady returns what is missing before the model can be used.
func (c *command) modelReady() error {
	s, err := c.settings("")
	if err == nil {
		_, err = c.model(s)
	}
	return err
}

// said returns a person's text as message parts.
func said(text string) []llm.Part { return []llm.Part{{Kind: llm.Text, Text: text}} }
