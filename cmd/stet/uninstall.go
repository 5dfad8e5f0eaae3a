package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
)

// uninstallCommand is stet uninstall.
type uninstallCommand struct {
	command
	dry, state, yes bool
}

func newUninstall(p *program) *cobra.Command {
	c := &uninstallCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "uninstall [flags]",
		Short: "Remove what setup, guard and service put on this machine",
		Long: `Put the agents' configurations back as they were before "stet setup --proxy", take out
the file tools that "stet setup --write" added and the hooks of "stet guard", and remove
the service and the authority of the forward proxy. To remove the program itself, remove
the package that it came in.

Records, sessions, versions of files and the audit trail stay, unless --state is given. The
configuration of stet itself stays, and copies of settings that were changed by hand since.
What stays is named.`,
		Example: `stet uninstall --dry-run
stet uninstall
stet uninstall --state --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.yes && !c.state {
				return usage(cmd, errors.New("--yes belongs to --state"))
			}
			return noArgs(cmd, args)
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.dry, "dry-run", false, "only say what would be done")
	f.BoolVar(&c.state, "state", false, "remove records, sessions and the audit trail too")
	f.BoolVar(&c.yes, "yes", false, "with --state: remove without asking")
	return cmd
}

func (c *uninstallCommand) Run(ctx context.Context) error {
	s, _, err := c.serviceAsConfigured()
	if err != nil {
		return err
	}
	dir, err := c.stateDir()
	if err != nil {
		return err
	}
	if c.state && !c.yes && !c.dry {
		return c.usage(fmt.Errorf("%s holds all records, sessions, versions of files and the audit trail: add --yes to remove them for good, or leave --state out", dir))
	}
	lasting, err := c.lasting()
	if err != nil {
		return err
	}
	servers, err := agents.ReadServers(c.serversFile())
	if err != nil {
		return err
	}
	var failed error
	touched := map[string]bool{}
	undone := func(done agents.Proxied, err error) {
		failed = errors.Join(failed, err)
		if err != nil {
			return
		}
		touched[done.File] = true
		for _, change := range done.Changes {
			c.say("%s: %s", done.File, change)
		}
		if done.Note != "" {
			c.say("%s: %s", done.File, done.Note)
		}
	}
	for _, name := range lasting.Names() {
		undone(c.machine().RemoveProxy(name, c.setupFile(), c.dry))
	}
	for _, added := range servers {
		undone(c.machine().RemoveServer(added, c.serversFile(), c.dry))
	}
	guarded, err := c.removeHooks(touched)
	failed = errors.Join(failed, err)
	if failed != nil {
		return failed // the service stays: an agent may still use it
	}
	removed, err := proxyserver.RemoveAuthority(dir, c.dry)
	if err == nil && c.dry {
		if at := s.Address(); at != "" {
			removed = append(removed, "the service at http://"+at)
		}
	} else if err == nil {
		var files []string
		files, err = s.Remove(ctx)
		removed = append(removed, files...)
	}
	if _, missing := os.Stat(dir); err == nil && c.state && missing == nil {
		removed = append(removed, dir)
		if !c.dry {
			err = os.RemoveAll(dir)
		}
	}
	says := "removed: %s"
	if c.dry {
		says = "%s would be removed"
	}
	for _, what := range removed {
		c.say(says, what)
	}
	for _, file := range slices.Sorted(maps.Keys(touched)) {
		for _, name := range agents.Copies(file) {
			if !c.dry { // without it some of the copies would be put back
				c.say("%s has what the file held earlier: remove it when you do not need it", name)
			}
		}
	}
	switch {
	case err != nil:
	case len(lasting)+len(servers)+guarded+len(removed) == 0:
		c.say("nothing of stet is set up here: there is nothing to remove")
	case c.dry:
		c.say("nothing was changed: without --dry-run this is done")
	}
	if _, missing := os.Stat(dir); missing == nil && !c.state {
		c.say("%s stays: records, sessions, versions of files and the audit trail; --state removes it", dir)
	}
	if _, missing := os.Stat(c.userConfig()); missing == nil {
		c.say("%s stays: your configuration of stet", c.userConfig())
	}
	return err
}

// removeHooks takes the guard's hooks out of the agents' files, for the user and for projects. It returns how many had any, and adds their
// names to touched.
func (c *uninstallCommand) removeHooks(touched map[string]bool) (n int, err error) {
	for _, name := range agents.GuardedAgents() {
		agent, _ := agents.GuardOf(name)
		for _, project := range append([]string{""}, c.guardedProjects()...) {
			if is, _ := agent.Installed(c.machine(), project); !is || project != "" && !agent.Local {
				continue
			}
			edit, eerr := agent.Remove(c.machine(), project)
			if eerr == nil && !c.dry {
				_, eerr = edit.Write()
			}
			if err = errors.Join(err, eerr); eerr == nil {
				n, touched[edit.File] = n+1, true
				c.say("%s: the guard's hooks are taken out", edit.File)
			}
		}
	}
	return n, err
}
