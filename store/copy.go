package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/store/postgres"
	"github.com/stet-dev/stet/store/rows"
	"github.com/stet-dev/stet/store/sqlite"
)

// copyPage is the number of rows that are copied in one transaction.
const copyPage = 500

// Copied is the progress of a copy in one table.
type Copied struct {
	Table     string
	Rows, All int64
	Sum       string // SHA-256 of the table; set when it is known to be the same in both
}

// Copy copies all records from one store to another. Each store is a file or a database. Then Copy compares a hash of each table.
// from is only read. Records that are written to from during the copy may be missing in the copy. to must be new or empty, or
// have an unfinished copy, which is then continued. to cannot be opened in any other way before the copy is complete. report, if it
// is not nil, is called with the progress.
func Copy(ctx context.Context, from, to string, report func(Copied)) (err error) {
	if report == nil {
		report = func(Copied) {}
	}
	source, err := openSource(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openTarget(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	err = source.Snapshot(ctx, func(from rows.Conn) error {
		for _, t := range rows.Tables {
			if err := copyTable(ctx, from, target, t, report); err != nil {
				return fmt.Errorf("copy %s: %w", t.Name, err)
			}
		}
		return target.Snapshot(ctx, func(made rows.Conn) error { return compare(ctx, from, made, report) })
	})
	if err != nil {
		return err
	}
	return target.Finish(ctx)
}

func openSource(ctx context.Context, from string) (rows.Source, error) {
	if IsDatabase(from) {
		return postgres.OpenSource(ctx, from)
	}
	return sqlite.OpenSource(ctx, from)
}

func openTarget(ctx context.Context, to string) (rows.Target, error) {
	if IsDatabase(to) {
		return postgres.OpenTarget(ctx, to)
	}
	return sqlite.OpenTarget(ctx, to)
}

// copyTable copies the rows that are not in the target yet.
func copyTable(ctx context.Context, source rows.Conn, target rows.Target, t rows.Table, report func(Copied)) error {
	all, err := t.Count(ctx, source)
	if err != nil {
		return err
	}
	var done int64
	if t.Shrinks {
		_, err = target.Exec(ctx, "DELETE FROM "+t.Name)
	} else if t.Key == "" {
		done, err = t.Count(ctx, target)
	}
	if err != nil {
		return err
	}
	var after []any
	skip := done // applies to the first page: rows that an earlier copy has written
	for done < all {
		page, err := t.Page(ctx, source, after, skip, copyPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		after, skip = page[len(page)-1][:t.Ordered()], 0
		for i := range page {
			page[i] = page[i][t.Ordered():]
		}
		if err := t.Write(ctx, target, page); err != nil {
			return err
		}
		done += int64(len(page))
		report(Copied{Table: t.Name, Rows: done, All: all})
	}
	return nil
}

// compare returns an error if a table of the copy differs from the source.
func compare(ctx context.Context, source, made rows.Conn, report func(Copied)) error {
	for _, t := range rows.Tables {
		want, n, err := sum(ctx, source, t)
		if err != nil {
			return err
		}
		have, m, err := sum(ctx, made, t)
		if err != nil {
			return err
		}
		if n != m || want != have {
			return fmt.Errorf("the copy of %s is not the same: %d rows with the hash %s, and %d with %s; "+
				"remove the copy and begin again, while nothing else writes", t.Name, n, want, m, have)
		}
		report(Copied{Table: t.Name, Rows: n, All: n, Sum: want})
	}
	return nil
}

// sum returns the hash of a table, and the number of its rows.
func sum(ctx context.Context, s rows.Conn, t rows.Table) (string, int64, error) {
	total := rows.NewSum()
	var n int64
	var after []any
	for {
		page, err := t.Page(ctx, s, after, 0, copyPage)
		if err != nil {
			return "", 0, err
		}
		for _, row := range page {
			if err := total.Add(row[t.Ordered():]); err != nil {
				return "", 0, fmt.Errorf("%s: %w", t.Name, err)
			}
		}
		n += int64(len(page))
		if len(page) < copyPage {
			return total.String(), n, nil
		}
		after = page[len(page)-1][:t.Ordered()]
	}
}
