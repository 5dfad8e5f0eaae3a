package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stet-dev/stet/store/rows"
)

// conn implements rows.Conn over a pool or a transaction. Texts are stored in the form of keep.
type conn struct {
	on interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}
}

// Each implements rows.Conn.
func (c conn) Each(ctx context.Context, statement string, args []any, fn func(rows.Row) error) error {
	found, err := c.on.Query(ctx, numbered(statement), keepAll(args)...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := fn(textRow{found}); err != nil {
			return unreadable{err}
		}
	}
	return found.Err()
}

// Exec implements rows.Conn.
func (c conn) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := c.on.Exec(ctx, numbered(statement), keepAll(args)...)
	return tag.RowsAffected(), err
}

// Send implements rows.Conn.
func (c conn) Send(ctx context.Context, all ...rows.Statement) error {
	var b pgx.Batch
	for _, s := range all {
		text := numbered(s.Text)
		for _, args := range s.Args {
			b.Queue(text, keepAll(args)...)
		}
	}
	return c.on.SendBatch(ctx, &b).Close()
}

// textRow is a row whose texts are converted by kept when they are read.
type textRow struct{ row rows.Row }

func (r textRow) Scan(dest ...any) error {
	if err := r.row.Scan(dest...); err != nil {
		return err
	}
	for _, d := range dest {
		switch d := d.(type) {
		case *string:
			*d = kept(*d)
		case *any:
			if s, ok := (*d).(string); ok {
				*d = kept(s)
			}
		}
	}
	return nil
}

// unreadable is the error of a row that cannot be read.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// numbered replaces the question marks by $1, $2, …, the form that PostgreSQL expects.
func numbered(statement string) string {
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			fmt.Fprintf(&b, "$%d", i)
		}
		b.WriteString(part)
	}
	return b.String()
}
