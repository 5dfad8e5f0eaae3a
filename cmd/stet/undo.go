package main

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/tool"
)

// undoCommand is stet undo.
type undoCommand struct {
	command
	yes, last, preview bool
	agree              string // what a person is told to do instead, if this is no terminal

	person string          // who undoes; "": who runs this program
	page   bool            // the person is at the page, and has looked at what would change
	sum    hash.Hash       // of what would be taken back: see seal; nil: it is not wanted
	chain  *record.Verdict // of the trail, once it was verified
}

func newUndo(p *program) *cobra.Command {
	c := &undoCommand{agree: "add --yes"}
	cmd := p.runs(&cobra.Command{
		Use:   "undo [SESSION|ID]",
		Short: "Take back what an agent did",
		Long: `Put files back to what they held before one write, or before all writes of a session.
If an agent is guarded ("stet guard"), also take back what it has changed with its own
tools and its shell: in one call, in all calls of a session, or with --last in the newest
call. The number of a write or a call is in the audit trail. You see the changes and
decide. If another program has changed a file since a write, nothing is undone, and stet
names the file; of a call the other files are undone, and stet asks about this one. An
undo is recorded like every write, and can be undone.

Without an argument, list what can be undone.`,
		Example: `# What is there to undo
stet undo

# What the agent did last, its shell included
stet undo --last

# One write or call. The undo of an undo does it again
stet undo 412

# All that a session wrote
stet undo stdio-7F2KQXNA`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.last && len(args) > 0 {
				return usage(cmd, fmt.Errorf("--last chooses the call itself: leave it out, or leave out %q", args[0]))
			}
			return atMostOneArg(cmd, args)
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.yes, "yes", false, "undo without asking")
	f.BoolVar(&c.last, "last", false, "undo the newest call that is not undone: of the project that you are in, if an agent has worked in it")
	f.BoolVar(&c.preview, "preview", false, "only show what would change")
	return cmd
}

func (c *undoCommand) Run(ctx context.Context) error {
	ctx, stop := process.UntilEnded(ctx)
	defer stop()
	return c.withCalls(ctx, func(trail store.Store) error {
		err := c.undo(ctx, trail, c.arg())
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return err
	})
}

func (c *undoCommand) undo(ctx context.Context, trail record.Trail, what string) error {
	all, err := record.Writes(ctx, trail, "", 0)
	if err != nil {
		return err
	}
	left := record.Undoable(all)
	calls, changed, err := standing(ctx, trail)
	if err != nil {
		return err
	}
	if what == "" && !c.last {
		c.list(left, changed)
		return nil
	}
	if c.last {
		// In a project that an agent has worked in, only that project counts.
		here := func(root string) bool { return snapshot.Contains(root, snapshot.Resolve(c.dir)) }
		elsewhere := !slices.ContainsFunc(all, func(w record.Write) bool { return here(w.Root) }) && !slices.ContainsFunc(calls, func(e record.Entry) bool { return here(e.Root) })
		if elsewhere {
			here = func(string) bool { return !c.yes } // a yes that is given before the question is for this project alone
		}
		if what = newest(left, changed, here); what == "" {
			c.say("there is nothing to undo here%s", c.howToGuard())
			return nil
		}
		if elsewhere {
			c.agree = fmt.Sprintf("run \"stet undo %s --yes\"", what)
		}
	}
	if calls := chooseCalls(changed, what); len(calls) > 0 {
		err := c.undoCalls(ctx, trail, calls)
		if err != nil || !slices.ContainsFunc(left, func(w record.Write) bool { return w.Session == what }) {
			return err
		}
	}
	chosen, err := chooseWrites(all, left, calls, what)
	if err != nil {
		return err
	}
	if c.preview {
		return c.usage(errors.New("--preview is for what an agent did with its own tools: of a write you see the change, and decide"))
	}
	if err := c.trust(ctx, trail); err != nil {
		return err
	}
	var failed []error
	for _, ws := range toolset.By(chosen, func(w record.Write) string { return w.Root }) {
		failed = append(failed, c.undoIn(ctx, trail, ws[0].Root, ws))
	}
	return errors.Join(failed...)
}

// trust warns if the trail was changed: its record of earlier content may be forged, so a person must look.
func (c *undoCommand) trust(ctx context.Context, trail record.Trail) error {
	if c.chain == nil {
		v, err := record.Verify(ctx, trail)
		if err != nil {
			return err
		}
		c.chain = &v
	}
	if c.chain.Broken == nil {
		return nil
	}
	broken := fmt.Errorf("the trail is broken at entry %d: %s", c.chain.Broken.Seq, c.chain.Broken.Why)
	if c.yes {
		return fmt.Errorf("%w; look at the changes first, %s", broken, c.either("with \"stet undo\" in a terminal, which asks about them", "without --yes"))
	}
	c.say("%v; check carefully what would change", broken)
	return nil
}

// chooseWrites returns the writes of a session, or the write of a number. The error says whether there are such writes or calls that are undone already.
func chooseWrites(all, left []record.Write, calls []record.Entry, what string) ([]record.Write, error) {
	id, err := strconv.ParseUint(what, 10, 64)
	means := func(w record.Write) bool { return w.Session == what }
	if err == nil {
		means = func(w record.Write) bool { return w.Seq == id }
	}
	var chosen []record.Write
	for _, w := range left {
		if means(w) {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) > 0 {
		return chosen, nil
	}
	if slices.ContainsFunc(all, means) || len(chooseCalls(calls, what)) > 0 {
		return nil, fmt.Errorf("%s: there is nothing left to undo", what)
	}
	return nil, fmt.Errorf("%s: there is no such session and no such write; \"stet undo\" lists what can be undone", workspace.Quote(what))
}

func (c *undoCommand) list(left []record.Write, changed []record.Entry) {
	if len(left)+len(changed) == 0 {
		c.say("there is nothing to undo%s", c.howToGuard())
		return
	}
	report.Writes(c.out, toolset.By(left, func(w record.Write) string { return w.Session }))
	for _, e := range changed {
		fmt.Fprintln(c.out, report.EntryLine(e))
	}
}

// undoIn undoes writes in one workspace.
func (c *undoCommand) undoIn(ctx context.Context, trail record.Trail, dir string, chosen []record.Write) (err error) {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("write %d: the audit trail does not say in which workspace it was", chosen[0].Seq)
	}
	state, err := c.stateDir()
	if err != nil {
		return err
	}
	settings, err := c.userSettings()
	if err != nil {
		return err
	}
	root, err := toolset.OpenWorkspace(dir, state, toolset.LimitsOf(settings), nil)
	if err != nil {
		return fmt.Errorf("workspace %s: %w", workspace.Quote(dir), err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return err
	}
	var who approval.Approver = here{c.dialog()}
	if c.yes {
		who = agreed{}
	}
	h := &approval.Handler{
		Approver: who, Root: root.Dir(), Timeout: -1, Rate: -1,
		Journal: &record.Journal{Trail: trail},
	}
	c.say("in %s:", workspace.Quote(root.Dir()))
	done, err := toolset.Undo(ctx, h, tools, chosen, tool.Call{Session: "stet undo", Client: "stet undo"})
	if err = errors.Join(err, h.Journal.Close()); err != nil {
		return err
	}
	c.say("undone: %s in %s", report.Count(done, "write"), workspace.Quote(root.Dir()))
	return nil
}
