package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/store/rows"
)

// copying is the name of a table that exists while a copy into the database is not complete.
const copying = "stet_copying"

// errCopying is the error of a database with an incomplete copy.
var errCopying = errors.New("a copy into this database is not complete: run stet migrate again")

// source is a database that is read for a copy, in one transaction.
type source struct {
	d  *database
	tx pgx.Tx
}

// OpenSource opens the database at a URL as the source of a copy.
func OpenSource(ctx context.Context, where string) (rows.Source, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	s, err := d.read(ctx)
	if err != nil {
		d.close()
		return nil, err
	}
	s.d = d
	return s, nil
}

func (d *database) read(ctx context.Context) (*source, error) {
	tx, err := d.pool.BeginTx(ctx, snapshot)
	if err != nil {
		return nil, d.explain("read", err)
	}
	return &source{tx: tx}, nil
}

// Count implements rows.Source.
func (s *source) Count(ctx context.Context, t rows.Table) (n int64, err error) {
	err = s.tx.QueryRow(ctx, t.CountRows()).Scan(&n)
	return n, err
}

// Page implements rows.Source.
func (s *source) Page(ctx context.Context, t rows.Table, after []any, skip int64, limit int) ([][]any, error) {
	found, err := s.tx.Query(ctx, numbered(t.SelectPage(after, skip, limit)), after...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, func(r pgx.CollectableRow) ([]any, error) {
		row, err := r.Values()
		for i, v := range row {
			switch v := v.(type) {
			case string:
				row[i] = kept(v)
			case int32:
				row[i] = int64(v)
			case bool:
				row[i] = int64(0)
				if v {
					row[i] = int64(1)
				}
			}
		}
		return row, err
	})
}

// Close implements rows.Source.
func (s *source) Close() error {
	err := s.tx.Rollback(context.Background())
	if s.d != nil {
		s.d.close()
	}
	return err
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
		d.close()
		return nil, d.explain("copy to", err)
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

// Count implements rows.Target.
func (t *target) Count(ctx context.Context, of rows.Table) (n int64, err error) {
	err = t.pool.QueryRow(ctx, of.CountRows()).Scan(&n)
	return n, err
}

// Clear implements rows.Target.
func (t *target) Clear(ctx context.Context, of rows.Table) error {
	_, err := t.pool.Exec(ctx, "DELETE FROM "+of.Name)
	return err
}

// booleans are the columns that are boolean in PostgreSQL and numbers in SQLite.
var booleans = []string{"observe", "cut", "alive", "bound", "drops"}

// Write implements rows.Target.
func (t *target) Write(ctx context.Context, to rows.Table, list [][]any) error {
	statement, names := numbered(to.Insert()), to.Names()
	var b pgx.Batch
	for _, row := range list {
		values := keepAll(slices.Clone(row))
		for i, name := range names {
			if n, ok := values[i].(int64); ok && slices.Contains(booleans, name) {
				values[i] = n != 0
			}
		}
		b.Queue(statement, values...)
	}
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, &b).Close() })
}

// Read implements rows.Target.
func (t *target) Read(ctx context.Context) (rows.Source, error) { return t.read(ctx) }

// Finish implements rows.Target.
func (t *target) Finish(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue("SELECT setval(pg_get_serial_sequence('sessions', 'key'), max(key)) FROM sessions")
		b.Queue(`UPDATE trail_head SET seq = t.seq, hash = t.hash FROM (SELECT seq, hash FROM trail ORDER BY seq DESC LIMIT 1) AS t`)
		b.Queue("DROP TABLE " + copying)
		return tx.SendBatch(ctx, &b).Close()
	})
	return t.explain("copy to", err)
}

// Close implements rows.Target.
func (t *target) Close() error {
	t.close()
	return nil
}
