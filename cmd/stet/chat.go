package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// chatCommand is stet chat.
type chatCommand struct {
	command
	agentFlags
	resume  string // a session, "latest", or chooseSession; "": a new one
	newest  bool   // --continue
	allowed []string
}

// chooseSession is --resume without a session.
const chooseSession = "?"

func newChat(p *program) *cobra.Command {
	c := &chatCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "chat [flags]",
		Short: "Work with stet's own agent in this terminal",
		Long: `Work with an agent that reads and changes files in the directory --root, and nowhere
else. You see each change before it is written, and decide. Writes are recorded
("stet audit") and can be taken back ("stet undo"). The conversation is stored, and you
can continue it later, also after a crash.

If standard input or output is not a terminal, the input is one prompt, and the answer
is written as plain text. Writes that need a person are refused then.

Exit codes: 0 you left, 1 failure, 2 a wrong command line or configuration, 3 a person
had to decide and there was none, or the model refused, 130 Ctrl-C.`,
		Example: `# No key needed
stet chat --model scripted

# Go on with the newest session of this directory, or choose one
stet chat --continue
stet chat --resume`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && c.resume != chooseSession {
				return usage(cmd, fmt.Errorf("unexpected argument %q; \"stet run\" does one task", args[0]))
			}
			if len(args) > 1 {
				return usage(cmd, fmt.Errorf("unexpected argument %q", args[1]))
			}
			return nil
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	addAgentFlags(f, &c.agentFlags)
	addAllow(f, &c.allowed)
	f.StringVarP(&c.resume, "resume", "r", "", "continue this session; without a name you choose from a list")
	f.Lookup("resume").NoOptDefVal = chooseSession
	f.BoolVarP(&c.newest, "continue", "c", false, "continue the newest session of this directory")
	return cmd
}

// toolsInWords describes which tools the agent has.
func toolsInWords(h *localagent.Agent) string {
	said := "has tools for files, none for commands or the web ([[mcp]] adds tools)"
	if h.More > 0 {
		said = fmt.Sprintf("has tools for files, and %d of MCP servers", h.More)
	}
	return strings.Join(append([]string{said}, h.Missing...), "\n")
}

func addAllow(f *pflag.FlagSet, into *[]string) {
	f.StringSliceVar(into, "allow", nil, "write to paths that match this pattern, such as docs/**, without asking; control files are still asked about")
}

func (c *chatCommand) Run(ctx context.Context) (err error) {
	if len(c.args) == 1 {
		c.resume = c.args[0]
	}
	if c.newest && c.resume != "" {
		return c.usage(errors.New("--continue and --resume: choose one"))
	}
	if c.newest {
		c.resume = "latest"
	}
	attended := isTerminal(c.in)
	if c.resume == chooseSession && (!attended || !isTerminal(c.out)) {
		return c.usage(errors.New("--resume: name the session; there is no terminal in which to choose one"))
	}
	ctx, stop := process.UntilEnded(ctx)
	defer stop()
	opening, said := c.command, &later{}
	if attended && isTerminal(c.out) { // log output would disturb the display
		quiet := *c.program
		quiet.err = said
		opening.program = &quiet
	}
	c.agentFlags.servers = true
	h, err := opening.openAgent(ctx, c.agentFlags)
	defer func() {
		if h != nil {
			err = errors.Join(err, h.Close())
		}
		_, _ = c.err.Write(said.text.Bytes())
	}()
	if err != nil {
		return err
	}
	if err := c.allow(h, c.allowed); err != nil {
		return err
	}
	talk, err := begin(ctx, h, c.resume)
	if err != nil {
		return err
	}
	if note := cutOffNote(talk); note != "" && (!attended || !isTerminal(c.out)) { // a terminal shows the conversation
		c.say("%s; /continue lets the agent go on", note)
	}
	chat := &terminal.Chat{
		In: c.in, Out: c.out, Err: c.err, Env: c.env, Editor: c.editor(),
		Talk: talk, Tools: toolsInWords(h), Model: h.Agent.Name, Policy: asksAbout(h.Handler.Policy), Choose: c.resume == chooseSession,
		Sessions: func(ctx context.Context) ([]session.Info, error) {
			return h.Store.List(ctx, session.Query{Dir: h.Root.Dir(), Open: true, Limit: 200})
		},
		Resume: func(ctx context.Context, id string) (terminal.Talk, error) { return h.Resume(ctx, id) },
		Undo: func(ctx context.Context, t terminal.Talk, since time.Time) (string, error) {
			return h.UndoSince(ctx, t.State().Info, since)
		},
	}
	alone := new(unattended)
	if h.Queue != nil && attended {
		sub := h.Queue.Subscribe()
		defer sub.Close()
		chat.Questions = byTerminal{sub}
		h.Handler.Timeout = -1 // the person is at the terminal
	} else if h.Queue != nil {
		h.Handler.Approver = alone
	}
	err = chat.Run(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, terminal.ErrInterrupted):
		return &exitError{code: exitSignal + int(syscall.SIGINT)} // the person knows the reason
	}
	if err == nil {
		err = alone.refused()
	}
	return err
}

// begin returns the conversation with which chat begins.
func begin(ctx context.Context, h *localagent.Agent, resume string) (*agent.Conversation, error) {
	if resume == "" || resume == chooseSession {
		return h.Agent.New(ctx)
	}
	c, err := h.Resume(ctx, resume)
	if resume == "latest" && errors.Is(err, session.ErrNotFound) {
		return nil, errors.New("no session was stored in this directory yet: leave --continue out to begin one")
	}
	return c, err
}

// asksAbout describes what a person decides.
func asksAbout(p *policy.Policy) string {
	switch {
	case p.Unattended:
		return "writes without asking"
	case len(p.Rules) > 0:
		return "asks by your rules"
	}
	return "asks before it writes"
}

// later buffers written text until it can be shown.
type later struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *later) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// allow lets writes to these paths run without a question.
func (c *command) allow(h *localagent.Agent, patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	rule, err := allowing(patterns)
	if err != nil {
		return c.usage(fmt.Errorf("--allow: %w", err))
	}
	h.Handler.Policy.Rules = append(h.Handler.Policy.Rules, rule)
	return nil
}

// allowing returns a rule that allows writes to these paths.
func allowing(patterns []string) (policy.Rule, error) {
	r := policy.Rule{On: policy.Write, Do: policy.Allow}
	for _, text := range patterns {
		p, err := policy.ParsePattern(text)
		if err != nil {
			return r, err
		}
		r.Paths = append(r.Paths, p)
	}
	return r, nil
}

// unattended refuses what a person would be asked about, and records it.
type unattended struct {
	mu        sync.Mutex
	questions []approval.Question
}

// Ask implements approval.Approver.
func (n *unattended) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q.Content, q.Diff = nil, tool.Diff{}
	n.questions = append(n.questions, q)
	return approval.Answer{}, approval.ErrNoPerson
}

// refused returns the error of a run in which something was refused because there was no person to ask; nil: nothing was. It says
// what, and what to do: --allow helps where no caution made stet ask.
func (n *unattended) refused() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var allowed, on []string
	for _, q := range n.questions {
		switch {
		case q.Grantable && !q.Outside():
			allowed = append(allowed, q.Subject())
		case len(q.Warnings) > 0:
			on = append(on, q.Subject()+" ("+q.Warnings[0]+")")
		default:
			on = append(on, q.Subject())
		}
	}
	list := func(all []string) string {
		slices.Sort(all)
		all = slices.Compact(all)
		if len(all) > 3 {
			all = append(all[:3], fmt.Sprintf("%d more", len(all)-3))
		}
		return strings.Join(all, ", ")
	}
	var words []string
	if len(allowed) > 0 {
		words = append(words, "name by --allow what may be written, or run it on a terminal, for "+list(allowed))
	}
	if len(on) > 0 {
		words = append(words, "--allow does not decide on "+list(on)+": run it on a terminal")
	}
	if len(words) == 0 {
		return nil
	}
	return &exitError{code: exitAlone, err: errors.New("not everything was done: a person had to decide, and there was none; " + strings.Join(words, "; "))}
}
