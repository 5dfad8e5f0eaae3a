package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim/transcript"
)

// sessionsExportCommand is stet sessions export.
type sessionsExportCommand struct {
	command
	format string
}

func newSessionsExport(p *program) *cobra.Command {
	c := &sessionsExportCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "export SESSION [flags]",
		Short: "Write a session to the standard output",
		Long: `Write a session to the standard output. "json" has all events, also those
that were rewound, byte for byte; "stet sessions import" reads it. "markdown" has the
conversation in force.`,
		Example: `stet sessions export latest --format markdown
stet sessions export 0199 > session.jsonl`,
		Args: nArgs(1, 1, "a session"),
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.format, "format", "json", "format of the output: json or markdown")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"json", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *sessionsExportCommand) Run(ctx context.Context) error {
	write := session.Formats[c.format]
	if write == nil {
		return c.usage(fmt.Errorf("--format: want json or markdown, not %q", c.format))
	}
	return c.withState(ctx, c.args[0], func(st session.State, events []session.Event) error {
		return write(c.out, st, events)
	})
}

// sessionsImportCommand is stet sessions import.
type sessionsImportCommand struct {
	command
	store         session.Store
	added, before int // sessions imported now, and those imported before
	failed        []error
}

func newSessionsImport(p *program) *cobra.Command {
	c := &sessionsImportCommand{}
	return p.runs(&cobra.Command{
		Use:   "import PATH...",
		Short: "Import sessions of other agents, and exported ones",
		Long: `Import sessions of other agents, in every format that "stet savings" reads, and sessions
that "stet sessions export" wrote as json. PATH is a file or a directory. A session that
was imported before is not imported again; new events of an exported session are added.
The files stay as they are. A line that cannot be read is named and skipped. An exported
session ends before such a line, and the exit code is 1.`,
		Example: `stet sessions import ~/.claude/projects
stet sessions import session.jsonl`,
		Args: nArgs(1, -1, "a file or a directory"),
	}, &c.command, c.Run)
}

func (c *sessionsImportCommand) Run(ctx context.Context) error {
	paths, err := c.sessionPaths(c.args)
	if err != nil {
		return c.usage(err)
	}
	return c.makingSessions(ctx, func(store session.Store) error {
		c.store = store
		return c.bringIn(ctx, paths)
	})
}

func (c *sessionsImportCommand) bringIn(ctx context.Context, paths []string) error {
	opener := transcript.Opener{SQLite: openReadOnly}
	err := opener.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case errors.Is(err, transcript.ErrFormat):
			err = c.exported(ctx, path, err)
		case err == nil:
			for _, s := range sessions {
				err = errors.Join(err, c.recorded(ctx, s))
			}
		}
		if named := slices.Contains(paths, path); err != nil && (named || !transcript.Skipped(err)) {
			c.failed = append(c.failed, err) // other files in a directory are not an error
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found := c.added + c.before; found > 0 {
		c.say("%s imported, %d there already", report.Count(c.added, "session"), c.before)
	} else if len(c.failed) == 0 {
		return errNoSessions
	}
	return errors.Join(c.failed...)
}

// recorded imports a session of another agent.
func (c *sessionsImportCommand) recorded(ctx context.Context, s *transcript.Session) error {
	r := session.Recording{Dir: s.Dir, Source: s.Format + ":" + s.ID, Messages: s.Messages, Starts: s.Starts}
	if s.Parent != "" {
		found, err := c.store.List(ctx, session.Query{Source: s.Format + ":" + s.Parent, Limit: 1})
		if err != nil {
			return err
		}
		r.From.Relation = session.Started
		if len(found) > 0 {
			r.From.Session, r.From.Seq = found[0].ID, found[0].Last
		}
	}
	id, err := session.Import(ctx, c.store, r)
	return c.report(id, s.File, len(s.Damaged), err)
}

// exported imports the session of a file that stet exported, up to the first line that cannot be read. If the file is not an
// export, the error is reason.
func (c *sessionsImportCommand) exported(ctx context.Context, path string, reason error) error {
	f, err := os.Open(path)
	if err != nil {
		return reason
	}
	defer f.Close()
	x, damaged := session.ReadJSON(f)
	if errors.Is(damaged, session.ErrExport) {
		return reason
	}
	if damaged != nil {
		damaged = fmt.Errorf("%s: %w; what is before it is imported: %s", workspace.Quote(path), damaged, report.Count(len(x.Events), "event"))
	}
	if len(x.Events) == 0 && damaged != nil {
		return damaged
	}
	return errors.Join(damaged, c.report(x.ID, path, 0, session.Restore(ctx, c.store, x)))
}

// report prints the result for a session.
func (c *sessionsImportCommand) report(id, path string, damaged int, err error) error {
	if errors.Is(err, session.ErrImported) {
		c.before++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", workspace.Quote(path), err)
	}
	c.added++
	note := ""
	if damaged > 0 {
		note = fmt.Sprintf(" (%s could not be read)", report.Count(damaged, "line"))
	}
	fmt.Fprintf(c.out, "%s  %s%s\n", id, workspace.Quote(path), note)
	return nil
}
