package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm"
)

// lingering is the time limit for requests that run when their agent has ended.
const lingering = 2 * time.Second

// policiesHelp explains the values of --policy. The help of that flag names this command.
const policiesHelp = `The values of --policy say what is left out of requests:
  off          nothing
  keep-latest  of each file, all reads but the newest --keep ones
  lossless     what the same request shows already
  adaptive     also old outputs and reads, once the provider's prompt cache has ended,
               so that no cached text is paid again
  bold         still more; in long conversations also before the cache has ended, if
               that saves more than it costs; also most line numbers of reads
  finish       nothing new; what was shortened before is sent the same way
The line in place of what was left out is called the placeholder.`

// wrapCommand is stet wrap.
type wrapCommand struct{ command }

func newWrap(p *program) *cobra.Command {
	c := &wrapCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "wrap [flags] -- COMMAND [ARG...]",
		Short: "Run an agent behind the proxy",
		Long: `Start the proxy on a free port, run an agent whose requests go through it, and say
at the end what was left out. The agent has the terminal and gets every signal.
stet ends with the agent's exit code: 128+n if signal n ended the agent, 127 if
there is no such command. Put stet's own flags before the --.

The agent gets the address of the proxy in ANTHROPIC_BASE_URL and OPENAI_BASE_URL.
If such a variable is set already, the proxy sends the requests on to that address;
a flag or STET_UPSTREAM overrides it. The variables by which Claude Code finds Vertex
AI and Foundry are treated the same way. If the requests go to the provider's own host,
Claude Code also gets the variable with which it behaves as it does there. Codex, opencode, Gemini CLI, Continue, pi and
Cline do not read these variables; stet configures them for this one run, without
changing their files.

With --via connect the agent asks its provider's own host, and reaches it through a
forward proxy of stet: so it holds nothing back. That is the default for the agents
that lose something at a base URL: Claude Code, pi and Qwen Code.
If the proxy dies, another one takes its place, and the agent asks again.

` + policiesHelp,
		Example: `stet wrap -- claude
stet wrap -- codex exec "fix the build"
stet wrap --observe -- opencode
stet wrap --upstream http://127.0.0.1:11434/v1 -- qwen`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return usage(cmd, errors.New("no command to run: put it after --"))
			}
			return nil
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.SetInterspersed(false) // arguments after the command belong to the command
	config.AddFlags(f, append(proxyKeys, "via")...)
	return cmd
}

func (c *wrapCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	path, err := process.LookPath(c.args[0])
	if err != nil {
		return err
	}
	// From here to the end no signal ends stet before it has cleaned up.
	defer process.OutliveReader()()
	signals := process.Notify(process.Forwarded)
	defer signal.Stop(signals)
	m := c.agentMachine(ctx, o)
	if m.Lasting, err = c.lasting(); err != nil {
		c.say("%v", err) // if the agent also uses another proxy, it is started anyway
	}
	w, err := c.open(ctx, o, m)
	if err != nil {
		return err
	}
	for _, note := range w.run.Notes {
		c.say("%s", note)
	}
	cmd := exec.Command(path, w.run.Args[1:]...)
	cmd.Args[0] = w.run.Args[0]
	cmd.Env, cmd.Dir = w.run.Env, c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, unchecked(c.out), c.err
	code, err := process.Run(ctx, cmd, signals, w.proxy.AgentIs)
	w.run.Clean()
	closing, stop := process.LastCall(ctx, signals)
	defer stop()
	closeErr := w.Close(closing)
	if err != nil {
		return errors.Join(err, closeErr)
	}
	summary := w.proxy.Summary()
	summary.Forward = w.forward != nil
	if catalog, err := c.models(o.Prices); err == nil {
		summary.Warm, _ = report.NextRequest(summary.Newest, catalog)
	}
	summary.Print(c.err)
	if closeErr != nil {
		c.say("%v", closeErr)
	}
	w.tell(c.say)
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// checkFound returns an error if one of the base URLs found is invalid and used. A given URL for an API has priority over a found
// one.
func checkFound(r *agents.Redirect, given llm.Upstreams) error {
	for _, api := range slices.Sorted(maps.Keys(r.Found)) {
		if given[api] != "" {
			continue
		}
		if err := config.CheckBaseURL(r.Found[api]); err != nil {
			return misconfigured(fmt.Errorf("%s: %w", r.Source[api], err))
		}
	}
	return nil
}
