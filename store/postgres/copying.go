package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// copying is the name of a table that exists while a copy into the database is not complete.
const copying = "stet_copying"

// errCopying is the error of a database with an incomplete copy.
var errCopying = errors.New("a copy into this database is not complete: run stet migrate again")

// OpenSource opens the database at a URL as the source of a copy.
func OpenSource(ctx context.Context, where string) (rows.Source, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Inspect reads the database at a URL and changes nothing. The result has the requests that q selects.
func Inspect(ctx context.Context, where string, q record.Query) (out rows.Inspection, err error) {
	d, err := dial(ctx, where)
	if err != nil {
		return out, err
	}
	defer d.Close()
	var there bool
	var number int64
	err = d.pool.QueryRow(ctx, "SELECT to_regclass('stet_schema') IS NOT NULL").Scan(&there)
	if err == nil && there {
		number, err = d.number(ctx)
	}
	if err == nil {
		out, err = rows.Inspect(ctx, d, number, q)
	}
	return out, d.Explain("look at", err)
}

// target is a database that a copy is written to.
type target struct{ *database }

// OpenTarget opens an empty database to copy into, or a database with an incomplete copy. Any other database is an error.
func OpenTarget(ctx context.Context, where string) (rows.Target, error) {
	d, err := connect(ctx, where, true)
	if err != nil {
		return nil, err
	}
	t := &target{d}
	if err := t.begin(ctx); err != nil {
		_ = d.Close() // it returns nil
		return nil, d.Explain("copy to", err)
	}
	return t, nil
}

// begin marks the database as the target of a copy. It returns an error if the database has rows but no such mark.
func (t *target) begin(ctx context.Context) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", schemaLock); err != nil {
			return err
		}
		var begun bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", copying).Scan(&begun); err != nil || begun {
			return err
		}
		for _, table := range rows.Tables {
			var any bool
			if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+table.Name+")").Scan(&any); err != nil {
				return err
			}
			if any {
				return fmt.Errorf("the table %s is not empty: name an empty database", table.Name)
			}
		}
		_, err := tx.Exec(ctx, "CREATE TABLE "+copying+" (begun timestamptz NOT NULL DEFAULT now())")
		return err
	})
}

// Finish implements rows.Target.
func (t *target) Finish(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue("SELECT setval(pg_get_serial_sequence('sessions', 'key'), max(key)) FROM sessions")
		b.Queue(`UPDATE trail_head SET seq = t.seq, hash = t.hash FROM (SELECT seq, hash FROM trail ORDER BY seq DESC LIMIT 1) AS t`)
		b.Queue("DROP TABLE " + copying)
		return tx.SendBatch(ctx, &b).Close()
	})
	return t.Explain("copy to", err)
}
