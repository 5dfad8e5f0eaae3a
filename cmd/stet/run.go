package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/tui"
)

// runFlags are the flags of stet run that are no settings.
type runFlags struct {
	agentFlags
	resume  string
	asJSON  bool
	allowed []string
}

func (p *program) runCommand() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "run TASK [flags]",
		Short: "Have an agent do one task",
		Long: `Have an agent do one task in the directory --root: what the model says goes to
standard output, all else to standard error. The task "-" is read from standard
input. What the agent wants to write is asked about on the terminal; where there is
none it is refused, but for what --allow names.

With --json there is an object a line for all that happens. Each has "type":
  text, thinking   "text": a piece of the answer
  call             "id", "name", "arguments": a call begins
  result           "id", "name", "ok", "code", "text", "ms": and ends
  answer           "text", "usage": an answer is whole
  asking           "session", "used", "window": a request goes out; tokens
  changed          "paths": somebody else changed files
  compacted        "session": the conversation goes on there, summed up
  note             "text": what a person might want to know
  outcome          "status", "exit", "session", "text", "turns", "usage", "usd", "error"
The last line is the outcome; status is done, failed, alone (a person would have had
to decide, or the model refused) or interrupted. With "task" it happened to a
sub-agent. What is not UTF-8 appears as U+FFFD.

Exit codes: 0 done, 1 failed, 2 the command line or the configuration is wrong,
3 a person would have had to decide, or the model refused, 130 interrupted.`,
		Example: `stet run --model scripted "show me what you do"
stet run --allow 'docs/**' --json "bring the docs up to date"
git diff | stet run -`,
		Args: nArgs(1, 1, "the task, or - to read it from standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			task := args[0]
			if task == "-" {
				b, err := io.ReadAll(p.in)
				if err != nil {
					return err
				}
				task = string(b)
			}
			if strings.TrimSpace(task) == "" {
				return usage(cmd, errors.New("the task is empty"))
			}
			return p.runRun(cmd, r, task, args[0] != "-")
		},
	}
	f := cmd.Flags()
	addAgentFlags(f, &r.agentFlags)
	addAllow(f, &r.allowed)
	f.StringVarP(&r.resume, "resume", "r", "", "go on with this session, or with \"latest\"")
	f.BoolVar(&r.asJSON, "json", false, "print JSON, an object a line")
	return cmd
}

// runRun does a task. free says that standard input can be asked for answers.
func (p *program) runRun(cmd *cobra.Command, r runFlags, task string, free bool) (err error) {
	defer outliveReader()()
	signals := notify(endSignals)
	defer signal.Stop(signals)
	ctx, stop := lastCall(cmd.Context(), signals)
	defer stop()
	h, err := p.openHouse(ctx, cmd, r.agentFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := h.allow(cmd, r.allowed); err != nil {
		return err
	}
	talk, err := h.begin(ctx, r.resume)
	if err != nil {
		return err
	}
	alone := new(unattended)
	var desk tui.Source
	if h.queue != nil && free && isTerminal(p.in) && isTerminal(p.err) {
		sub := h.queue.Subscribe()
		defer sub.Close()
		desk = sub
	} else if h.queue != nil {
		h.handler.Approver = alone
	}
	report := p.reporter(talk, r.asJSON)
	if note := cutOffNote(talk); note != "" {
		report.note(note)
	}
	var out agent.Outcome
	do := func(ctx context.Context) error {
		var err error
		out, err = talk.Run(ctx, said(task), report.Tell)
		return err
	}
	if desk == nil {
		err = do(ctx)
	} else {
		d := p.dialog()
		d.Out, d.Color = p.err, p.colors(p.err)
		err = d.During(ctx, desk, do)
	}
	err = verdict(ctx, out, err, alone)
	report.end(out, err)
	return err
}

// verdict is the error that a run ends with.
func verdict(ctx context.Context, out agent.Outcome, err error, alone *unattended) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case out.End == agent.Refused:
		return &exitError{code: exitAlone, err: errors.New("the model refused to go on")}
	case out.End != agent.Done:
		return fmt.Errorf("not done: %s", out.End)
	case alone.asked():
		return errAlone
	}
	return nil
}

// cutOffNote says that a session that is gone on with ended before the agent was done,
// by SIGKILL for instance; "" where it did not.
func cutOffNote(talk *agent.Conversation) string {
	if !tui.CutOff(talk.State().Messages) {
		return ""
	}
	return fmt.Sprintf("session %s ended before the agent was done: it goes on from what is stored", talk.ID())
}

// reporter tells what a run does, in lines for people or for programs.
type reporter interface {
	note(text string)
	Tell(agent.Event)
	end(out agent.Outcome, err error)
}

func (p *program) reporter(talk *agent.Conversation, asJSON bool) reporter {
	if asJSON {
		return &jsonReport{p.out, talk}
	}
	return plainReport{&tui.Lines{Out: p.out, Err: p.err, Color: p.colors(p.err)}, p, talk}
}

type plainReport struct {
	*tui.Lines
	p    *program
	talk *agent.Conversation
}

func (r plainReport) note(text string) { r.p.say("%s", text) }

func (r plainReport) end(agent.Outcome, error) {
	r.End()
	if id := r.talk.ID(); id != "" {
		r.p.say("session %s", id)
	}
}

// colors reports whether v is a terminal that shows colours.
func (p *program) colors(v any) bool {
	return isTerminal(v) && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
}
