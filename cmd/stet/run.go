package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
)

// runCommand is stet run.
type runCommand struct {
	command
	agentFlags
	resume  string
	json    bool
	allowed []string
}

func newRun(p *program) *cobra.Command {
	c := &runCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "run TASK [flags]",
		Short: "Let stet's own agent do one task",
		Long: `Let stet's own agent do one task in the directory --root. The text of the model goes to
standard output, everything else to standard error. The task "-" is read from standard
input. Before a write you are asked in the terminal; without a terminal the write is
refused, unless --allow names its path.

With --json each line is an object with a "type":
  text, thinking   "text": a piece of the answer
  call             "id", "name", "arguments": a call begins
  result           "id", "name", "ok", "code", "text", "ms": and ends
  answer           "text", "usage": an answer is whole
  asking           "session", "used", "window": a request goes out; tokens
  changed          "paths": files that another program changed
  compacted        "session": the session that goes on with a summary
  note             "text": a remark for a person
  outcome          "status", "exit", "session", "text", "turns", "usage", "usd", "error"
The last line is the outcome. Its status is done, failed, alone (a person had to decide
and there was none, or the model refused) or interrupted. Bytes that are
not UTF-8 appear as U+FFFD.

Exit codes: 0 done, 1 failure, 2 a wrong command line or configuration, 3 a person had to
decide and there was none, or the model refused, 130 interrupted.`,
		Example: `stet run --model scripted "show me what you do"
stet run --allow 'docs/**' --json "bring the docs up to date"
git diff | stet run -`,
		Args: nArgs(1, 1, "the task, or - to read it from standard input"),
	}, &c.command, c.Run)
	f := cmd.Flags()
	addAgentFlags(f, &c.agentFlags)
	addAllow(f, &c.allowed)
	f.StringVarP(&c.resume, "resume", "r", "", "continue this session; \"latest\" is the newest of the directory")
	f.BoolVar(&c.json, "json", false, "print JSON, an object a line")
	return cmd
}

func (c *runCommand) Run(ctx context.Context) (err error) {
	task := c.args[0]
	if task == "-" {
		b, err := io.ReadAll(c.in)
		if err != nil {
			return err
		}
		task = string(b)
	}
	if strings.TrimSpace(task) == "" {
		return c.usage(errors.New("the task is empty: say what to do, or - to read it from standard input"))
	}
	ctx, stop := process.UntilEndedLast(ctx)
	defer stop()
	c.agentFlags.servers = true
	h, err := c.openAgent(ctx, c.agentFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	for _, missing := range h.Missing {
		c.say("%s", missing)
	}
	if err := c.allow(h, c.allowed); err != nil {
		return err
	}
	talk, err := begin(ctx, h, c.resume)
	if err != nil {
		return err
	}
	alone := new(unattended)
	var questions terminal.Source
	if h.Queue != nil && c.args[0] != "-" && isTerminal(c.in) && isTerminal(c.err) {
		sub := h.Queue.Subscribe()
		defer sub.Close()
		questions = byTerminal{sub}
	} else if h.Queue != nil {
		h.Handler.Approver = alone
	}
	teller := c.teller(talk)
	if note := cutOffNote(talk); note != "" {
		teller.Note(note)
	}
	var out agent.Outcome
	var screen sync.Mutex
	do := func(ctx context.Context) error {
		var err error
		out, err = talk.Run(ctx, said(task), func(e agent.Event) {
			screen.Lock()
			defer screen.Unlock()
			teller.Tell(e)
		})
		return err
	}
	if questions == nil {
		err = do(ctx)
	} else {
		d := c.dialog()
		d.Out, d.Screen = c.err, &screen
		err = d.During(ctx, questions, do)
	}
	err = verdict(ctx, out, err, alone)
	teller.End(out, status(err), exitCode(err), err)
	return err
}

// status returns how a run ended, in the words of stet run --json.
func status(err error) string {
	switch code := exitCode(err); {
	case code == 0:
		return "done"
	case code == exitAlone:
		return "alone"
	case code > exitSignal:
		return "interrupted"
	}
	return "failed"
}

// verdict returns the error of a run.
func verdict(ctx context.Context, out agent.Outcome, err error, alone *unattended) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case out.End == agent.Refused:
		return &exitError{code: exitAlone, err: errors.New("the model refused to continue: say the task in other words, or name another model (--model)")}
	case out.End != agent.Done:
		return fmt.Errorf("not done: %s; --resume latest goes on from here", ended[out.End])
	}
	return alone.refused()
}

// ended says why an agent stopped before it was done.
var ended = map[agent.End]string{
	agent.Turns:   "the agent asked the model as often as it may for one task",
	agent.Looping: "the same calls had the same results again and again",
	agent.CutOff:  "the model's answers were cut off or empty several times in a row",
}

// cutOffNote says that a resumed session ended before the agent was done, for instance by SIGKILL; "" if it did not.
func cutOffNote(talk *agent.Conversation) string {
	if !terminal.CutOff(talk.State().Messages) {
		return ""
	}
	return fmt.Sprintf("session %s ended before the agent was done: it goes on from what is stored", talk.ID())
}

// teller reports what a run does, as text or as JSON.
type teller interface {
	Note(text string)
	Tell(agent.Event)
	End(out agent.Outcome, status string, code int, err error)
}

func (c *runCommand) teller(talk *agent.Conversation) teller {
	if c.json {
		return &report.RunJSON{Out: c.out, Talk: talk}
	}
	return plainTeller{&terminal.Lines{Out: c.out, Err: c.err, Color: c.colors(c.err)}, c.program, talk}
}

// plainTeller reports as text.
type plainTeller struct {
	*terminal.Lines
	p    *program
	talk *agent.Conversation
}

func (t plainTeller) Note(text string) { t.p.say("%s", text) }

func (t plainTeller) End(agent.Outcome, string, int, error) {
	t.Lines.End()
	if id := t.talk.ID(); id != "" {
		t.p.say("session %s", id)
	}
}

// colors reports whether v is a terminal that shows colours.
func (p *program) colors(v any) bool {
	return isTerminal(v) && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
}
