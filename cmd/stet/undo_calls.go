package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/guard"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/store"
)

// undoes is the flag of an entry that took back the one with that number.
const undoes = "undoes "

// standing returns the calls of agents' own tools that changed something, and those that are not undone, the oldest first.
func standing(ctx context.Context, trail record.Trail) (all, left []record.Entry, err error) {
	all, err = trail.Entries(ctx, record.TrailQuery{Kinds: []record.Kind{record.Changed}})
	undone := map[uint64]bool{}
	for _, e := range slices.Backward(all) {
		if undone[e.Seq] {
			continue
		}
		for _, f := range e.Flags {
			if n, ok := strings.CutPrefix(f, undoes); ok {
				if seq, err := strconv.ParseUint(n, 10, 64); err == nil {
					undone[seq] = true
				}
			}
		}
		left = append(left, e)
	}
	slices.Reverse(left)
	return all, left, err
}

// newest returns the number of the newest write or call that an undo may take back, of those in some workspaces; "" if there is none.
func newest(writes []record.Write, calls []record.Entry, in func(workspace string) bool) string {
	var seq uint64
	for _, w := range writes {
		if w.Tool != "undo" && in(w.Root) {
			seq = max(seq, w.Seq)
		}
	}
	for _, e := range calls {
		if e.Tool != "undo" && in(e.Root) {
			seq = max(seq, e.Seq)
		}
	}
	if seq == 0 {
		return ""
	}
	return strconv.FormatUint(seq, 10)
}

// chooseCalls returns the calls of a session, or the call of a number, the oldest first.
func chooseCalls(all []record.Entry, what string) (chosen []record.Entry) {
	id, err := strconv.ParseUint(what, 10, 64)
	for _, e := range all {
		if err == nil && e.Seq == id || err != nil && e.Session == what {
			chosen = append(chosen, e)
		}
	}
	return chosen
}

// undoCalls takes back what calls of agents' own tools changed, in each workspace.
func (c *undoCommand) undoCalls(ctx context.Context, trail record.Trail, calls []record.Entry) error {
	if err := c.trust(ctx, trail); err != nil {
		return err
	}
	kept, err := c.keptContents()
	if err != nil {
		return err
	}
	var failed []error
	for _, of := range toolset.By(calls, func(e record.Entry) string { return e.Root }) {
		failed = append(failed, c.undoTree(ctx, trail, kept, of[0].Root, of))
	}
	return errors.Join(failed...)
}

func (c *undoCommand) undoTree(ctx context.Context, trail record.Trail, kept *snapshot.Store, dir string, calls []record.Entry) (err error) {
	all, with := snapshot.Result{Changes: snapshot.Changes{}}, map[string]bool{}
	flags := []string(nil)
	for i, e := range calls {
		for _, f := range e.Flags {
			if name, ok := strings.CutPrefix(f, guard.AtOnce); ok {
				with[name] = true
			}
		}
		r, err := snapshot.Load(kept, e.After)
		if errors.Is(err, snapshot.ErrGone) {
			err = fmt.Errorf("what call %d changed is not kept any more; later calls can be undone one by one, by their numbers", e.Seq)
		}
		if err != nil {
			return err
		}
		if i == 0 {
			all.RefsBefore = r.RefsBefore
		}
		for _, p := range all.Changes.Add(r.Changes) {
			c.say("%s was changed between these calls by somebody else: it is put back to what it was then", workspace.Quote(p))
		}
		all.Refs, all.Shared, all.Partial = r.Refs, all.Shared || r.Shared, all.Partial || r.Partial
		flags = append(flags, undoes+strconv.FormatUint(e.Seq, 10))
	}
	back, err := snapshot.Prepare(ctx, dir, kept, all.Changes)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the directory %s is gone: make it again, empty, or give the project its old place again; then run this again", workspace.Quote(dir))
	}
	if err != nil {
		return fmt.Errorf("workspace %s: %w", workspace.Quote(dir), err)
	}
	defer func() { err = errors.Join(err, back.Close()) }()
	c.seal(calls, back)
	c.show(dir, back, all, slices.Sorted(maps.Keys(with)))
	cmds := c.gitCommands(ctx, dir, &all)
	if c.preview {
		c.showRefs(cmds)
		return nil
	}
	chosen, err := c.choose(back, len(cmds) > 0)
	if err != nil {
		return err
	}
	moves := c.agreeRefs(cmds)
	defer kept.Hold(ctx)()
	did, err := back.Apply(ctx, func(s snapshot.Step) bool { return chosen[s.Path] })
	for _, p := range back.Stay {
		c.say("%s/ stays: there is something in it that the call has not made, or a repository", workspace.Quote(p))
	}
	if err != nil {
		flags = nil // the rest can be undone later: what is done already is left out then
		c.say("not all is undone: repair what the errors name, and %s", c.either("look again", "run this again"))
	}
	var refs snapshot.Result
	if moves && err == nil {
		refs.Refs, refs.RefsBefore = all.RefsBefore, all.Refs
		err = c.runRefs(ctx, dir, cmds)
	}
	if len(did) == 0 && !moves {
		if err == nil && len(chosen) == 0 {
			err = errors.New("nothing was undone")
		}
		return err
	}
	e := record.Entry{
		Kind: record.Changed, Time: time.Now(), Root: dir, Session: guard.UndoClient, Client: guard.UndoClient, Tool: "undo", Bytes: int64(len(did)),
		Decision: "approved", By: "person " + cmp.Or(c.person, approval.LocalPerson()), Outcome: record.OK, Flags: flags,
	}
	// What was changed is recorded also if the undo was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTime)
	defer cancel()
	var serr error
	refs.Changes = did
	if e.After, serr = refs.Save(kept); serr == nil {
		var logged []record.Entry
		if logged, serr = trail.Log(ctx, e); serr == nil {
			c.say("undone: %s in %s; \"stet undo %d\" does it again", report.Count(len(did), "change"), workspace.Quote(dir), logged[0].Seq)
		}
	}
	return errors.Join(err, serr)
}

// logTime is how long the entry of an undo may take, and takeTime how long a take-back at the page.
const (
	logTime  = time.Minute
	takeTime = 10 * time.Minute
)

// seal adds what an undo would take back to the hash that a yes at the page must have: the calls, and every path with what it holds.
func (c *undoCommand) seal(calls []record.Entry, back *snapshot.Restoration) {
	if c.sum == nil {
		return
	}
	for _, e := range calls {
		fmt.Fprintf(c.sum, "call %d %q\n", e.Seq, e.After)
	}
	for _, s := range back.Steps {
		fmt.Fprintf(c.sum, "path %q %d %t", s.Path, s.Why, s.Moves)
		for _, n := range []*snapshot.Node{s.Now, s.Want} {
			if n != nil {
				fmt.Fprintf(c.sum, " %v %d %q %q", n.Mode, n.Size, n.Sum, n.Link)
			} else {
				fmt.Fprint(c.sum, " none")
			}
		}
		fmt.Fprintln(c.sum)
	}
}

// either returns what is said to a person at the page, or to one in a terminal.
func (c *undoCommand) either(page, terminal string) string {
	if c.page {
		return page
	}
	return terminal
}

// takeBack takes back what calls of agents' own tools changed, for a person at the page. It shows first what would change. The hash of that must
// come back with the yes. Paths that were changed since then stay as they are. After a yes it goes on to the end, even if the page is closed. With an
// error, out.Said is what was said of the part that is done; it is empty if nothing was begun.
func (p *program) takeBack(ctx context.Context, trail store.Store, in web.TakeBack, person string) (out web.TakenBack, err error) {
	if in.Seal != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), takeTime)
		defer cancel()
	}
	_, calls, err := standing(ctx, trail)
	if err != nil {
		return out, err
	}
	calls = slices.DeleteFunc(calls, func(e record.Entry) bool {
		return e.Session != in.Session || e.Seq < in.From || in.Alone && e.Seq != in.From
	})
	if len(calls) == 0 {
		return out, errors.New("there is nothing left of that to take back")
	}
	var said bytes.Buffer
	quiet := *p
	quiet.out, quiet.err = &said, &said
	c := &undoCommand{command: command{program: &quiet}, preview: true, page: true, person: person, sum: sha256.New()}
	if err := c.undoCalls(ctx, trail, slices.Clone(calls)); err != nil {
		return out, err
	}
	c.sum.Write(said.Bytes())
	seal := hex.EncodeToString(c.sum.Sum(nil))
	switch in.Seal {
	case "":
	case seal:
		said.Reset()
		c.preview, c.yes, c.sum = false, true, nil
		err = c.undoCalls(ctx, trail, calls)
	default:
		return out, errors.New("what would be taken back has changed since this was shown: look again")
	}
	return web.TakenBack{Said: said.String(), Seal: seal}, err
}

// mostShown is how many paths are listed.
const mostShown = 50

// show lists what an undo would do, and what it cannot.
func (c *undoCommand) show(dir string, back *snapshot.Restoration, of snapshot.Result, with []string) {
	c.say("in %s:", workspace.Quote(dir))
	n, lost := 0, 0
	for _, s := range back.Steps {
		if s.Why == snapshot.Done {
			continue
		}
		if s.Why == snapshot.Lost {
			lost++
		}
		if n++; n <= mostShown {
			fmt.Fprintf(c.out, "  %s\n", stepLine(s))
		}
	}
	if n > mostShown {
		fmt.Fprintf(c.out, "  and %s more\n", report.Count(n-mostShown, "path"))
	}
	if lost > 0 {
		c.say("%s cannot be put back: their content was not kept (ignored files over the budget, directories of package managers and compilers, files over 128 MB, files that could not be read, a commit that is gone), or they are pipes, sockets or devices", report.Count(lost, "path"))
	}
	for _, name := range with {
		c.say("%s ran at the same time: some of this may be its doing", workspace.Quote(name))
	}
	if of.Shared && len(with) == 0 {
		c.say("another command ran at the same time: some of this may be its doing")
	}
	if of.Partial {
		c.say("the first snapshot was not done when the call began: only the files that it named are known")
	}
	if of.Refs.Gone(of.RefsBefore) {
		c.say("the repository was removed or damaged: what git itself had does not come back")
	}
	c.say("what happened outside of this directory, in databases that were in use, and by processes that still run, is not undone")
}

func stepLine(s snapshot.Step) string {
	what := map[bool]string{true: "is made again", false: "is put back"}[s.Now == nil]
	switch {
	case s.Why == snapshot.Lost:
		what = "CANNOT be put back"
	case s.Why == snapshot.Only:
		what = "stays: it may be the only copy of what cannot be put back"
	case s.Moves:
		what = "gets its old name again"
	case s.Want == nil:
		what = "is removed"
	case s.Now != nil && s.Now.Sum == s.Want.Sum && s.Now.Link == s.Want.Link && s.Now.Mode.Type() == s.Want.Mode.Type():
		what = fmt.Sprintf("gets the mode %v again", s.Want.Mode)
	}
	if s.Drops() {
		what += "; what it holds now is too large to keep"
	}
	if s.Why == snapshot.Changed {
		what += ", though somebody has CHANGED it since"
	}
	n := s.Want
	if n == nil {
		n = s.Now
	}
	name := workspace.Quote(s.Path)
	if n != nil && n.Mode.IsDir() {
		name += "/"
	}
	return name + " " + what
}

// choose asks the person what to put back. It asks about each path that was changed after the call. If there is nothing to put back, and
// branches is false, it returns an error.
func (c *undoCommand) choose(back *snapshot.Restoration, branches bool) (map[string]bool, error) {
	chosen, conflicts := map[string]bool{}, []snapshot.Step(nil)
	for _, s := range back.Steps {
		switch s.Why {
		case snapshot.Fits:
			chosen[s.Path] = true
		case snapshot.Changed:
			conflicts = append(conflicts, s)
		}
	}
	if len(chosen)+len(conflicts) == 0 && !branches {
		return nil, errors.New("there is nothing to put back" + c.either("", "; \"stet undo\" lists the calls, and \"stet undo ID\" takes back another one"))
	}
	if len(chosen) > 0 && !c.yes {
		if err := c.confirm(fmt.Sprintf("Undo %s?", report.Count(len(chosen), "change")), "nothing was undone", c.agree); err != nil {
			return nil, err
		}
	}
	for _, s := range conflicts {
		if c.yes {
			c.say("%s was changed since, and stays", workspace.Quote(s.Path))
			continue
		}
		keeps := "What it holds now is kept."
		if s.Drops() {
			keeps = "What it holds now is too large to keep, and will be lost."
		}
		chosen[s.Path] = c.confirm(fmt.Sprintf("%s was changed since. %s it all the same? %s", workspace.Quote(s.Path), map[bool]string{true: "Remove", false: "Put back"}[s.Want == nil], keeps), "it stays", c.agree) == nil
	}
	return chosen, nil
}

// gitCommands returns the git commands that put back what calls moved in git, as far as it is there.
func (c *undoCommand) gitCommands(ctx context.Context, dir string, of *snapshot.Result) [][]string {
	if len(of.Refs.BackTo(of.RefsBefore)) == 0 {
		return nil
	}
	now, gone := snapshot.RefsOf(ctx, dir, of.RefsBefore.Staged)
	of.RefsBefore.Staged = slices.DeleteFunc(of.RefsBefore.Staged, func(s snapshot.Staged) bool {
		if gone[s.Blob] {
			c.say("%s was staged, and git does not have its content any more", workspace.Quote(string(s.Path)))
		}
		return gone[s.Blob]
	})
	if of.RefsBefore.Unlisted && of.RefsBefore.Commit != "" {
		c.say("what was staged is not known: there was too much of it, or a merge had conflicts")
	} else if !now.SameIndex(of.Refs) {
		c.say("somebody has staged something else since: the git commands take that back, too")
	}
	return of.Refs.BackTo(of.RefsBefore)
}

// showRefs shows the git commands that put back what calls moved in git.
func (c *undoCommand) showRefs(cmds [][]string) {
	if len(cmds) == 0 {
		return
	}
	c.say("branches, the stash or the index of git were moved, too. This puts them back:")
	for _, cmd := range cmds {
		fmt.Fprintf(c.out, "  %s\n", shellLine(cmd))
	}
}

// agreeRefs asks the person whether to run the git commands.
func (c *undoCommand) agreeRefs(cmds [][]string) bool {
	c.showRefs(cmds)
	if len(cmds) > 0 && c.yes {
		c.say("they are not run: %s", c.either("the page takes back files alone", "--yes is about files alone"))
	}
	return len(cmds) > 0 && !c.yes && c.confirm("Run these commands?", "they are not run", c.agree) == nil
}

func (c *undoCommand) runRefs(ctx context.Context, dir string, cmds [][]string) error {
	for _, cmd := range cmds {
		run := exec.CommandContext(ctx, cmd[0], append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, cmd[1:]...)...)
		run.Dir, run.Stdout, run.Stderr = dir, c.out, c.err
		if err := run.Run(); err != nil {
			return fmt.Errorf("%s: %w", shellLine(cmd), err)
		}
	}
	return nil
}

// shellLine returns a command as a person can give it to a shell. An agent chooses the names of branches and the messages of the stash.
func shellLine(words []string) string {
	var line []string
	for _, w := range words {
		line = append(line, agents.ShellWord(w))
	}
	return strings.Join(line, " ")
}
