package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/store"
)

// migrateCommand is stet migrate.
type migrateCommand struct {
	command
	from, to string
}

func newMigrate(p *program) *cobra.Command {
	c := &migrateCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "migrate [--from PLACE] [--to PLACE]",
		Short: "Copy all records to PostgreSQL, or back to a file",
		Long: `Copy all records: requests, what the proxy remembers, sessions, audit trail. A PLACE is a
PostgreSQL database (postgres://…) or a file. Without --from it is the file stet.db in
the state directory; without --to it is the database that the configuration key "store"
names.

The source is only read, and the target must be new or empty. When all is copied, a
SHA-256 of each table is compared. If the command is interrupted, run it again: it goes
on where it was. Nothing opens the target before it is complete. End other stet commands
first, since what they write meanwhile may be missing in the copy.`,
		Example: `stet migrate --to postgres://stet@db.example.com/stet
# Back to a file
stet migrate --from postgres://stet@db.example.com/stet --to exported.db`,
		Args: noArgs,
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.from, "from", "", "copy from this database or file (default the file stet.db in the state directory)")
	cmd.Flags().StringVar(&c.to, "to", "", "copy to this database or file (default the database that the configuration key \"store\" names)")
	return cmd
}

func (c *migrateCommand) Run(ctx context.Context) error {
	configured, err := c.store()
	if err != nil {
		return err
	}
	from := cmp.Or(c.from, c.trailFile())
	to := c.to
	if to == "" && store.IsDatabase(configured) {
		to = configured
	}
	switch {
	case to == "":
		return c.usage(errors.New("want --to: a database or a file to copy to"))
	case from == "":
		return c.usage(errors.New("want --from: there is no home directory (HOME)"))
	}
	for _, where := range []*string{&from, &to} {
		if *where, err = c.target(*where); err != nil {
			return c.usage(err)
		}
	}
	var said time.Time
	err = interruptible(ctx, func(ctx context.Context) error {
		return store.Copy(ctx, from, to, func(done store.Copied) {
			switch {
			case done.Sum != "":
				c.say("%s: %d rows, the same in both, SHA-256 %s", done.Table, done.Rows, done.Sum)
			case time.Since(said) > time.Second || done.Rows == done.All:
				said = time.Now()
				c.say("%s: %d of %d rows", done.Table, done.Rows, done.All)
			}
		})
	})
	if err == nil {
		c.say("%s has all of %s", store.Name(to), store.Name(from))
	}
	return err
}

// target returns a database address, or a file's absolute path. The address of another kind of database is an error.
func (c *migrateCommand) target(where string) (string, error) {
	if store.IsDatabase(where) {
		return where, nil
	}
	if scheme, _, ok := strings.Cut(where, "://"); ok {
		return "", fmt.Errorf("%s:// is the address of no database that stet knows: want postgres://… or the path of a file", scheme)
	}
	return c.absolute(where), nil
}
