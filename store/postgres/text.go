package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/store/rows"
)

// bytesMark is the first character of a text that is stored as the hexadecimal digits of its bytes.
const bytesMark = "\x01"

// keep returns the form in which s is stored in a text column.
func keep(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, bytesMark) {
		return s
	}
	return bytesMark + hex.EncodeToString([]byte(s))
}

// kept is the reverse of keep.
func kept(s string) string {
	if digits, ok := strings.CutPrefix(s, bytesMark); ok {
		if b, err := hex.DecodeString(digits); err == nil {
			return string(b)
		}
	}
	return s
}

// keepAll replaces the texts among values by the form in which they are stored. It changes values itself.
func keepAll(values []any) []any {
	for i, v := range values {
		if s, ok := v.(string); ok {
			values[i] = keep(s)
		}
	}
	return values
}

// textRow is a row whose texts are converted by kept when they are read.
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

// each reads all rows of a result. The statement has a question mark for each of args. Texts among args are converted by keep.
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

// fetch is like each, but outside of a transaction. It tries again while the database cannot be reached.
func fetch[T any](ctx context.Context, d *database, scan func(rows.Row) (T, error), statement string, args ...any) (out []T, err error) {
	err = d.repeat(ctx, func(ctx context.Context, _ bool) (err error) {
		out, err = each(ctx, d.pool, scan, statement, args...)
		return err
	})
	return out, err
}

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
