package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
)

// setupCommand is stet setup.
type setupCommand struct {
	command
	write                      bool
	proxy, remove, dry, forced bool
}

func newSetup(p *program) *cobra.Command {
	c := &setupCommand{}
	names := agents.ServerAgents()
	all := strings.Join(names, "|")
	cmd := p.runs(&cobra.Command{
		Use:   "setup " + all,
		Short: "Give an agent the file tools, or send it through the proxy for good",
		Long: `File tools: print the lines by which an agent starts "stet mcp", and the file that
they belong in. Nothing is written without --write. With it stet adds these lines,
leaves the rest of the file as it is, and keeps a copy of the old file next to it. An
entry called stet that is there already is not changed; stet says what differs in it.
The file is that of the project in the working directory; Codex has one for all
projects.

Proxy: with --proxy, write into the agent's own configuration that its requests go
through stet's proxy, in every project and however the agent is started. Claude Code
uses it as its forward proxy, so that it loses nothing (via = "base-url" in stet's
configuration: by a base URL). --remove puts back what was there. These agents can be sent there:
` + strings.Join(agents.ProxyAgents(), ", ") + `.
Run "stet service install" first: then the system starts the proxy whenever an agent
needs it. While no proxy runs, the agent cannot ask its model.`,
		Example: `stet setup opencode
stet setup claude --write
stet setup --proxy codex
stet setup --proxy codex --remove`,
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			known := names
			if c.proxy {
				known = agents.ProxyAgents()
			}
			switch {
			case c.proxy && len(args) == 1 && !slices.Contains(known, args[0]):
				return usage(cmd, fmt.Errorf("%q cannot be sent through the proxy for good: choose one of %s, or start it with \"stet wrap\"",
					args[0], strings.Join(known, ", ")))
			case !c.proxy && (c.remove || c.dry || c.forced):
				return usage(cmd, errors.New("--remove, --dry-run and --force belong to --proxy"))
			case c.proxy && c.write:
				return usage(cmd, errors.New("--proxy writes by itself: leave --write out"))
			}
			return agentArg(cmd, args, known)
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.write, "write", false, "add the lines to the agent's configuration file")
	f.BoolVar(&c.proxy, "proxy", false, "send the agent through the proxy for good")
	f.BoolVar(&c.remove, "remove", false, "with --proxy: put back what was there")
	f.BoolVar(&c.dry, "dry-run", false, "with --proxy: only say what would change")
	f.BoolVar(&c.forced, "force", false, "with --proxy: change the configuration even if no service starts the proxy")
	return cmd
}

func (c *setupCommand) Run(ctx context.Context) error {
	if c.proxy {
		return c.runProxy(ctx)
	}
	tell := c.machine().Server
	if c.write {
		tell = c.machine().AddServer
	}
	done, err := tell(c.args[0], ownCommand())
	switch {
	case errors.Is(err, agents.ErrNoHome):
		return misconfigured(err)
	case err != nil:
		return err
	case !c.write:
		c.say("this belongs in %s (--write puts it there):", done.File)
		if _, err := c.out.Write(done.Snippet); err != nil {
			return err
		}
	case !done.Changed:
		c.say("%s has it already", done.File)
		return nil
	default:
		c.say("written to %s", done.File)
		if done.Kept != "" {
			c.say("what it held is in %s", done.Kept)
		}
		if state := c.serversFile(); state != "" {
			if err := agents.NoteServer(state, done.Added); err != nil {
				c.say("\"stet uninstall\" will not find it: %v", err)
			}
		}
	}
	if done.Note != "" {
		c.say("%s", done.Note)
	}
	c.say("\"stet approve\" in another terminal shows what the agent wants to write")
	return nil
}

// ownCommand returns the command with which an agent should start this program: only its name if that finds it.
func ownCommand() string {
	self, err := os.Executable()
	if err != nil || onPath(self) != "" {
		return "stet"
	}
	return self
}

// ownPath returns a path at which the system finds this program, whose file is self. The path stays the same when another version
// is installed.
func ownPath(self string) string { return cmp.Or(onPath(self), self) }

// onPath returns the path at which the system finds the file self by the name stet; "": it does not.
func onPath(self string) string {
	if found, err := exec.LookPath("stet"); err == nil && filepath.IsAbs(found) {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return found
		}
	}
	return ""
}
