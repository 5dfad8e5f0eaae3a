package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/acp"
	"github.com/stet-dev/stet/store"
)

// acpCommand is stet acp.
type acpCommand struct {
	command
	agentFlags
	within string // --root: the directory that sessions may work in; empty: any
}

func newACP(p *program) *cobra.Command {
	c := &acpCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "acp [flags]",
		Short: "Serve stet's own agent to an editor over ACP",
		Long: `Serve stet's agent on standard input and output to an editor that speaks the Agent
Client Protocol. The editor starts it, and names the directory of each session. The
agent reads and writes nothing outside of that directory. The editor shows changes before
they are made. A change to a control file (a file that makes something run) is decided
in a terminal, with "stet approve". Writes are recorded ("stet audit") and can be taken
back ("stet undo"). "stet sessions" lists the conversations.

The key and the address of the model come from the environment that the editor gives
to stet.`,
		Example: `# What Zed's settings.json says
"agent_servers": {"stet": {"type": "custom", "command": "stet", "args": ["acp", "--model", "scripted"]}}`,
		Args: noArgs,
	}, &c.command, c.Run)
	f := cmd.Flags()
	addAgentFlags(f, &c.agentFlags)
	root := f.Lookup("root")
	root.Usage, root.DefValue = "refuse sessions in directories that are not below this one", ""
	return cmd
}

func (c *acpCommand) Run(ctx context.Context) (err error) {
	if c.cmd.Flags().Changed("root") {
		if c.within, err = c.servedDir(c.root); err != nil {
			return err
		}
	}
	name, err := c.cmd.Flags().GetString("log")
	if err != nil {
		return err
	}
	log, file, err := c.openLog(name)
	if err != nil {
		return err
	}
	running, stop := process.UntilEnded(ctx)
	defer stop()
	if isTerminal(c.in) {
		c.say("stet acp waits for an editor on standard input; see \"stet acp --help\"")
	}
	where, err := c.store()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	sessions, err := store.OpenSessions(running, where)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	err = acp.Serve(running, acp.Config{
		Open: func(ctx context.Context, dir string) (*acp.Workspace, error) {
			return c.openWorkspace(ctx, dir)
		},
		Store: sessions, Relays: !c.unwatched, Version: version(), Log: log,
		Ready: func() error { return c.modelReady() },
		Image: c.image(), Environ: c.environForOthers(),
	}, c.in, c.out)
	if running.Err() != nil {
		err = nil // a signal ended it
	}
	return errors.Join(err, sessions.Close(), file.Close())
}

// image returns a function that makes image parts for the configured model; nil if the model accepts no images.
func (c *acpCommand) image() func(mime, data string) (llm.Part, bool) {
	s, err := c.settings("")
	if err != nil {
		return nil
	}
	m, err := localagent.ChooseModel(s)
	if err != nil || m.API == "" {
		return nil
	}
	return m.Image
}

// openWorkspace opens the directory that a session of the editor's works in.
func (c *acpCommand) openWorkspace(ctx context.Context, dir string) (*acp.Workspace, error) {
	real, err := c.workspaceDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", acp.ErrDirectory, strings.TrimPrefix(err.Error(), "--root: "))
	}
	if rel, err := filepath.Rel(c.within, real); c.within != "" && (err != nil || !filepath.IsLocal(rel)) {
		return nil, fmt.Errorf("%w: %s is not below %s", acp.ErrDirectory, workspace.Quote(real), workspace.Quote(c.within))
	}
	if real != c.within {
		if err := c.mayServe(real, false); err != nil {
			return nil, fmt.Errorf("%w: %s", acp.ErrDirectory, strings.TrimPrefix(err.Error(), "--root: "))
		}
	}
	flags := c.agentFlags
	flags.root, flags.named = real, true
	h, err := c.openAgent(context.WithoutCancel(ctx), flags)
	if err != nil {
		return nil, err
	}
	if h.Queue != nil {
		h.Handler.Approver = acp.Approver{Next: h.Queue}
	}
	all, err := policy.ParsePattern("*")
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.Handler.Policy.Relay = []policy.Pattern{all} // it does not hold if a caution made stet ask
	return &acp.Workspace{
		Agent: h.Agent, Close: h.Close, Text: textOf(h.Root), With: h.Handler.With,
		End: h.End,
	}, nil
}

// textOf returns a function that reads the text of a file on disk.
func textOf(root *workspace.Root) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		path, err := root.Path(name)
		if err != nil {
			return "", err
		}
		c, err := root.ReadAll(ctx, path)
		if err != nil {
			return "", err
		}
		text, _, err := c.Text(workspace.Encoding{})
		return text, err
	}
}
