package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
)

// completionTime is the time limit for listing an argument's possible values.
const completionTime = 2 * time.Second

// completes adds shell completion with the values from list for a command's first argument. An error gives no values, because a
// shell cannot show it.
func completes(cmd *cobra.Command, list func(context.Context) ([]string, error)) *cobra.Command {
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, stop := context.WithTimeout(context.Background(), completionTime)
		defer stop()
		found, err := list(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	return cmd
}

// undoable lists the numbers of the writes that can be undone, and their sessions, newest first.
func (p *program) undoable(ctx context.Context) (out []string, err error) {
	err = p.withTrail(ctx, func(trail store.Store) error {
		all, err := record.Writes(ctx, trail, "", 0)
		if err != nil {
			return err
		}
		for _, w := range slices.Backward(record.Undoable(all)) {
			out = append(out, fmt.Sprintf("%d\t%s", w.Seq, w.Path))
			if s := w.Session + "\tall writes of the session"; !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		return nil
	})
	return out, err
}

// suspended lists the sessions that "stet resume" can resume.
func (p *program) suspended(ctx context.Context) (out []string, err error) {
	err = p.withTrail(ctx, func(trail store.Store) error {
		left, err := record.Suspended(ctx, trail)
		for _, e := range left {
			out = append(out, e.Session+"\t"+e.Client+" in "+strconv.Quote(e.Root))
		}
		return err
	})
	return out, err
}

// storedSessions lists the ids of the stored sessions, the one used last first.
func (p *program) storedSessions(ctx context.Context) (out []string, err error) {
	err = p.withSessions(ctx, func(sessions session.Store) error {
		found, err := sessions.List(ctx, session.Query{Limit: 50})
		for _, s := range found {
			out = append(out, s.ID+"\t"+s.Title)
		}
		return err
	})
	return out, err
}
