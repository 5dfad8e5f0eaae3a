package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// Requests implements record.Store.
func (s *Store) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	return list(ctx, s, rows.Requests.Columns, "requests", q, rows.Requests.Read)
}

// Trims implements record.Store.
func (s *Store) Trims(ctx context.Context, q record.Query) ([]record.Trim, error) {
	return list(ctx, s, rows.Trims.Columns, "trims", q, rows.Trims.Read)
}

// list reads the rows of a table that q selects, oldest first.
func list[T any](ctx context.Context, s *Store, columns, table string, q record.Query, scan func(rows.Row) (T, error)) ([]T, error) {
	condition := rows.Where(q)
	statement := "SELECT " + columns + " FROM " + table + " WHERE " + condition.String() + " ORDER BY time_us DESC, seq DESC"
	args := condition.Args
	if q.Limit > 0 {
		statement += " LIMIT ?"
		args = append(args, q.Limit)
	}
	out, err := each(ctx, s.db, statement, args, scan)
	slices.Reverse(out)
	return out, s.explain("read", err)
}

func each[T any](ctx context.Context, db *sql.DB, statement string, args []any, scan func(rows.Row) (T, error)) (out []T, err error) {
	found, err := db.QueryContext(ctx, statement, args...)
	return collect(found, err, scan)
}

// collect reads what a query found, and closes it. err is the error of the query.
func collect[T any](found *sql.Rows, err error, scan func(rows.Row) (T, error)) (out []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		row, err := scan(found)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, found.Err()
}
