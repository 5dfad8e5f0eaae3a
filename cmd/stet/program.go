package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// program is stet with everything that it uses as fields.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      []string // "NAME=value", as os.Environ has it
	dir      string   // the working directory, absolute
}

// run executes one command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	if len(args) == 3 && args[0] == "hook" { // agents wait for it at each call, so that the other commands are not made
		return p.hook(ctx, args[1], args[2])
	}
	p.out = checked(p.out)
	root := p.root()
	root.SetArgs(args)
	err := settle(p.out, root.ExecuteContext(ctx))
	if err != nil {
		printError(p.err, err)
	}
	return exitCode(err)
}

// getenv returns the value of a variable, empty when it is not set.
func (p *program) getenv(name string) string { return p.machine().Getenv(name) }

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stet",
		Short: "Keep a coding agent's context clean",
		Long: `stet is between a coding agent, your files and its model.

The guard takes back what the agent did with its own tools, shell commands too, and lets
you answer its questions elsewhere. The proxy makes requests smaller: text that the model
can already see is replaced by one line, and old outputs are left out when the provider's
prompt cache has ended anyway. Nothing else changes: not the answers, and not the
conversation that the agent stores.

Exit codes: 0 success, 1 failure, 2 a wrong command line or configuration. "stet
wrap" ends with the exit code of the agent.`,
		Example: `# See it work; no key needed
stet demo

# One session with smaller requests; nothing is changed on this machine
stet wrap -- claude

# Record what an agent's own tools change, and take back the last call
stet service install
stet guard claude
stet undo --last

# What stet would have saved in the sessions on this machine
stet savings

# Everything on one port, with a web page for decisions
stet serve`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
		Version:                    longVersion(),
		SilenceErrors:              true,
		SilenceUsage:               true,
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(badFlag)
	root.SetVersionTemplate(versionLine())
	root.AddCommand(newWrap(p), newWrapped(p), newProxy(p), newSavings(p), newDemo(p), newVersion(p), newMCP(p), newApprove(p), newAudit(p),
		newUndo(p), newGuard(p), newResume(p), newSessions(p), newSetup(p), newService(p), newDoctor(p), newConfig(p), newUninstall(p), newDebug(p), newChat(p), newRun(p), newACP(p), newServe(p), newHost(p),
		newToken(p), newTokens(p), newBench(p), newCache(p), newModel(p), newMigrate(p))
	addHelp(root)
	for _, cmd := range root.Commands() {
		config.CompleteFlags(cmd)
	}
	return root
}
