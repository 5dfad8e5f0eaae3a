package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
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
               that saves more than it costs; under wrap also lines of long outputs
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

` + policiesHelp,
		Example: `stet wrap -- claude
stet wrap -- codex exec "fix the build"
stet wrap --observe -- opencode
stet wrap --upstream http://127.0.0.1:11434/v1 -- qwen`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, errors.New("no command to run: put it after --"))
			}
			return nil
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.SetInterspersed(false) // arguments after the command belong to the command
	config.AddFlags(f, proxyKeys...)
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
	listener, err := proxyserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	m := c.agentMachine(ctx, o)
	if m.Lasting, err = c.lasting(); err != nil {
		c.say("%v", err) // if the agent also uses another proxy, it is started anyway
	}
	r := m.Redirect(c.args, "http://"+listener.Addr().String())
	defer r.Clean()
	if err := checkFound(r, o.Upstream); err != nil {
		return errors.Join(err, listener.Close())
	}
	o.Route(foundUpstreams(r.Found))
	pc := proxyserver.Config{Root: cmp.Or(o.ProjectRoot, c.dir)}
	s, err := c.startProxy(ctx, o, listener, pc)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	for _, note := range r.Notes {
		c.say("%s", note)
	}
	code, err := c.runAgent(ctx, path, r.Args, r.Env, signals)
	r.Clean()
	closing, stop := process.LastCall(ctx, signals)
	defer stop()
	closeErr := s.Close(closing, lingering)
	if err != nil {
		return errors.Join(err, closeErr)
	}
	s.Summary().Print(c.err)
	if closeErr != nil {
		c.say("%v", closeErr)
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// runAgent runs the agent on the program's own streams.
func (c *wrapCommand) runAgent(ctx context.Context, path string, args, env []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env, cmd.Dir = env, c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, unchecked(c.out), c.err
	return process.Run(ctx, cmd, signals)
}

// foundUpstreams returns the base URLs in an agent's own configuration.
func foundUpstreams(found map[agents.API]string) config.Upstreams {
	return config.Upstreams{
		Messages: found[agents.Messages], Chat: found[agents.Chat], Responses: found[agents.Responses],
		Gemini: found[agents.Gemini],
		Vertex: found[agents.Vertex], Azure: found[agents.Azure],
	}
}

// checkFound returns an error if one of the base URLs found is invalid and used. A given URL for an API has priority over a found
// one.
func checkFound(r *agents.Redirect, given config.Upstreams) error {
	byAPI := map[agents.API]string{
		agents.Messages: given.Messages, agents.Chat: given.Chat, agents.Responses: given.Responses,
		agents.Gemini: given.Gemini,
		agents.Vertex: given.Vertex, agents.Azure: given.Azure,
	}
	for _, api := range agents.APIs() {
		if byAPI[api] != "" {
			continue
		}
		if err := config.CheckBaseURL(r.Found[api]); err != nil {
			return misconfigured(fmt.Errorf("%s: %w", r.Source[api], err))
		}
	}
	return nil
}
