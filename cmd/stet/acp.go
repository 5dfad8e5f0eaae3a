package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/acp"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/workspace"
)

// acpFlags are the flags of stet acp that are no settings.
type acpFlags struct {
	agentFlags
	within    string // --root: the directory that sessions may work in; empty: any
	elsewhere bool   // --approve-elsewhere
}

func (p *program) acpCommand() *cobra.Command {
	var a acpFlags
	cmd := &cobra.Command{
		Use:   "acp [flags]",
		Short: "Offer the agent to an editor over ACP",
		Long: `Serve stet's agent to an editor that speaks the Agent Client Protocol, on standard
input and output. The editor starts it and names the directory of each session;
the agent reaches nothing outside of that. Changes are shown in the editor before
they are made. A change to a file that makes something run, or says what may, is
decided in a terminal, with "stet approve". What is written is recorded ("stet
audit") and can be taken back ("stet undo"). Conversations are stored, and are the
same that "stet sessions" lists.

Key and endpoint of the model come from the environment that the editor gives it.`,
		Example: `# What Zed's settings.json says
"agent_servers": {"stet": {"type": "custom", "command": "stet", "args": ["acp", "--model", "scripted"]}}`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runACP(cmd, a) },
	}
	f := cmd.Flags()
	addAgentFlags(f, &a.agentFlags)
	root := f.Lookup("root")
	root.Usage, root.DefValue = "refuse sessions in directories that are not below this one", ""
	f.BoolVar(&a.elsewhere, "approve-elsewhere", false, "let no answer in the editor suffice: all changes wait for \"stet approve\"")
	return cmd
}

func (p *program) runACP(cmd *cobra.Command, a acpFlags) (err error) {
	if cmd.Flags().Changed("root") {
		if a.within, err = p.workspaceDir(a.root); err != nil {
			return usage(cmd, err)
		}
	}
	log, file, err := p.acpLog(cmd)
	if err != nil {
		return err
	}
	running, stop := untilEnded(cmd.Context())
	defer stop()
	if isTerminal(p.in) {
		p.say("this speaks ACP on standard input, and waits for an editor there; see \"stet acp --help\"")
	}
	store, err := sqlite.OpenSessions(running, p.trailFile())
	if err != nil {
		return errors.Join(err, file.Close())
	}
	err = acp.Serve(running, acp.Config{
		Open: func(ctx context.Context, dir string) (*acp.Workspace, error) {
			return p.openForEditor(ctx, cmd, a, dir)
		},
		Store: store, Relays: !a.elsewhere && !a.unwatched, Version: version(), Log: log,
		Ready: func() error { return p.modelReady(cmd) },
		Image: p.imagePart(cmd), Environ: p.environForOthers(),
	}, p.in, p.out)
	if running.Err() != nil {
		err = nil // a signal ended it
	}
	return errors.Join(err, store.Close(), file.Close())
}

// acpLog is the log of --log; without it, standard error is told what breaks.
func (p *program) acpLog(cmd *cobra.Command) (*slog.Logger, io.Closer, error) {
	name, err := cmd.Flags().GetString("log")
	if err != nil || name == "" {
		return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelError})), io.NopCloser(nil), err
	}
	return p.openLog(name)
}

// modelReady says what is missing before the model can be asked.
func (p *program) modelReady(cmd *cobra.Command) error {
	c, err := p.config(cmd, p.dir, "")
	if err != nil {
		return err
	}
	h := &house{stop: func() {}}
	_, err = p.openModel(cmd, c, h)
	h.stop()
	return err
}

// openForEditor opens the directory that a session of the editor's works in.
func (p *program) openForEditor(ctx context.Context, cmd *cobra.Command, a acpFlags, dir string) (*acp.Workspace, error) {
	real, err := p.workspaceDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", acp.ErrDirectory, strings.TrimPrefix(err.Error(), "--root: "))
	}
	if rel, err := filepath.Rel(a.within, real); a.within != "" && (err != nil || !filepath.IsLocal(rel)) {
		return nil, fmt.Errorf("%w: %s is not below %s", acp.ErrDirectory, workspace.Quote(real), workspace.Quote(a.within))
	}
	flags := a.agentFlags
	flags.root = real
	h, err := p.openHouse(context.WithoutCancel(ctx), cmd, flags)
	if err != nil {
		return nil, err
	}
	if h.queue != nil {
		h.handler.Approver = acp.Approver{Next: h.queue}
	}
	if !a.elsewhere {
		all, err := policy.ParsePattern("*")
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		h.handler.Policy.Relay = []policy.Pattern{all} // never where a caution made us ask
	}
	return &acp.Workspace{
		Agent: h.agent, Close: h.close, Text: textOf(h.hands), With: h.handler.With,
		End: func(session string) {
			h.handler.End(session)
			h.tools.End(session)
		},
	}, nil
}

// textOf tells the text of a file as it is on disk.
func textOf(h *hands) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		path, err := h.root.Path(name)
		if err != nil {
			return "", err
		}
		c, err := h.root.ReadAll(ctx, path)
		if err != nil {
			return "", err
		}
		text, _, err := c.Text(workspace.Encoding{})
		return text, err
	}
}
