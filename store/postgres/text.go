package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/store/rows"
)

// bytesMark begins a text that is kept as the hexadecimal digits of its bytes.
const bytesMark = "\x01"

// keep is s as a text column has it.
func keep(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, bytesMark) {
		return s
	}
	return bytesMark + hex.EncodeToString([]byte(s))
}

// kept is the opposite of keep.
func kept(s string) string {
	if digits, ok := strings.CutPrefix(s, bytesMark); ok {
		if b, err := hex.DecodeString(digits); err == nil {
			return string(b)
		}
	}
	return s
}

// keepAll replaces the texts among values by what a column has.
func keepAll(values []any) []any {
	for i, v := range values {
		if s, ok := v.(string); ok {
			values[i] = keep(s)
		}
	}
	return values
}

// textRow reads texts as they were before keep.
type textRow struct{ row rows.Row }

func (r textRow) Scan(dest ...any) error {
	if err := r.row.Scan(dest...); err != nil {
		return err
	}
	for _, d := range dest {
		if s, ok := d.(*string); ok {
			*s = kept(*s)
		}
	}
	return nil
}

// each reads all rows of a result.
//
// Its statement has question marks for args; texts among args are as they were before keep.
func each[T any](ctx context.Context, q queryer, scan func(rows.Row) (T, error), statement string, args ...any) ([]T, error) {
	found, err := q.Query(ctx, numbered(statement), keepAll(args)...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var out []T
	for found.Next() {
		row, err := scan(textRow{found})
		if err != nil {
			return nil, unreadable{err}
		}
		out = append(out, row)
	}
	return out, found.Err()
}

// unreadable is the error of a row that cannot be read.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// fetch is each outside of a transaction, tried again while the database cannot be reached.
func fetch[T any](ctx context.Context, d *database, scan func(rows.Row) (T, error), statement string, args ...any) (out []T, err error) {
	err = d.repeat(ctx, func(ctx context.Context, _ bool) (err error) {
		out, err = each(ctx, d.pool, scan, statement, args...)
		return err
	})
	return out, err
}

// numbered replaces each question mark by $1, $2, …, as PostgreSQL has them.
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

// insertInto is the statement that inserts a row of all columns.
func insertInto(table, columns string) string {
	return numbered("INSERT INTO " + table + " (" + columns + ") VALUES (" + rows.Marks(columns) + ")")
}
