package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/transcript"
	"github.com/stet-dev/stet/workspace"
)

func (p *program) sessionsImportCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Bring in sessions of other agents, and exported ones",
		Long: `Bring in sessions: those of other agents in whatever format "stet savings" reads, and
those that "stet sessions export" wrote as json. PATH is a file or a directory of
them. What was brought in before is not brought in again; what an exported one has got
since is added. The files stay as they are.`,
		Example: `stet sessions import ~/.claude/projects
stet sessions import session.jsonl --json`,
		Args: nArgs(1, -1, "a file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := p.sessionPaths(args)
			if err != nil {
				return usage(cmd, err)
			}
			return p.makingSessions(cmd.Context(), func(store session.Store) error {
				i := importing{program: p, store: store, json: asJSON}
				return i.run(cmd.Context(), paths)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	return cmd
}

// importing is one import on its way.
type importing struct {
	*program
	store         session.Store
	json          bool
	brought, been int
	failed        []error
}

func (i *importing) run(ctx context.Context, paths []string) error {
	opener := transcript.Opener{SQLite: openReadOnly}
	err := opener.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case errors.Is(err, transcript.ErrFormat):
			err = i.exported(ctx, path, err)
		case err == nil:
			for _, s := range sessions {
				err = errors.Join(err, i.recorded(ctx, s))
			}
		}
		if named := slices.Contains(paths, path); err != nil && (named || !transcript.Skipped(err)) {
			i.failed = append(i.failed, err) // what else is in a directory is no trouble
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !i.json {
		i.say("%s brought in, %d there already", count(i.brought, "session"), i.been)
	}
	return errors.Join(i.failed...)
}

// recorded brings in a session of another agent.
func (i *importing) recorded(ctx context.Context, s *transcript.Session) error {
	r := session.Recording{Dir: s.Dir, Source: s.Format + ":" + s.ID, Messages: s.Messages, Starts: s.Starts}
	if s.Parent != "" {
		found, err := i.store.List(ctx, session.Query{Source: s.Format + ":" + s.Parent, Limit: 1})
		if err != nil {
			return err
		}
		r.From.Relation = session.Started
		if len(found) > 0 {
			r.From.Session, r.From.Seq = found[0].ID, found[0].Last
		}
	}
	id, err := session.Import(ctx, i.store, r)
	return i.report(id, s.File, len(s.Damaged), err)
}

// exported brings in a session that stet wrote. A file that is none has failed
// for the reason given.
func (i *importing) exported(ctx context.Context, path string, reason error) error {
	f, err := os.Open(path)
	if err != nil {
		return reason
	}
	defer f.Close()
	id, events, damaged, err := session.ReadJSON(f)
	switch {
	case errors.Is(err, session.ErrExport):
		return reason
	case err == nil:
		_, err = session.Restore(ctx, i.store, id, events)
	}
	return i.report(id, path, len(damaged), err)
}

// report says what came of a session.
func (i *importing) report(id, path string, damaged int, err error) error {
	if errors.Is(err, session.ErrImported) {
		i.been++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", workspace.Quote(path), err)
	}
	i.brought++
	if i.json {
		return json.NewEncoder(i.out).Encode(map[string]any{"id": id, "file": path, "damaged": damaged})
	}
	note := ""
	if damaged > 0 {
		note = fmt.Sprintf(" (%s could not be read)", count(damaged, "line"))
	}
	fmt.Fprintf(i.out, "%s  %s%s\n", id, workspace.Quote(path), note)
	return nil
}
