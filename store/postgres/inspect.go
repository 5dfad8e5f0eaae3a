package postgres

import (
	"context"
	"errors"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// Inspect reads the database at a URL and changes nothing. The result has the requests that q selects.
func Inspect(ctx context.Context, where string, q record.Query) (out rows.Inspection, err error) {
	d, err := dial(ctx, where)
	if err != nil {
		return out, err
	}
	defer d.close()
	var there bool
	if err := d.pool.QueryRow(ctx, "SELECT to_regclass('stet_schema') IS NOT NULL").Scan(&there); err != nil {
		return out, d.explain("look at", err)
	}
	out.Newest = schemaNumber
	if !there {
		return out, nil
	}
	if out.Schema, err = version(ctx, d.pool); err != nil || out.Schema != out.Newest {
		return out, d.explain("look at", err)
	}
	s, err := d.read(ctx)
	if err != nil {
		return out, err
	}
	if out.Rows, err = rows.CountAll(ctx, s); err == nil {
		out.Requests, err = (&Store{database: d}).Requests(ctx, q)
	}
	return out, d.explain("look at", errors.Join(err, s.Close()))
}
