package sqlite

import (
	"context"
	"errors"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

// Inspect reads the file at path and changes nothing. The result has the requests that q selects.
func Inspect(ctx context.Context, path string, q record.Query) (rows.Inspection, error) {
	s, err := openToRead(ctx, path)
	if err != nil {
		return rows.Inspection{}, (&Store{path: path}).explain("look at", err)
	}
	reader := &Store{path: path, db: s.db}
	out, err := inspect(ctx, s, reader, q)
	return out, reader.explain("look at", errors.Join(err, s.Close()))
}

func inspect(ctx context.Context, s *source, reader *Store, q record.Query) (out rows.Inspection, err error) {
	application, number, err := identity(ctx, s.tx)
	if err != nil {
		return out, err
	}
	if out.Schema, out.Newest = number, schemaNumber; application != applicationID {
		return out, errForeign
	}
	if out.Schema != out.Newest {
		return out, nil
	}
	if out.Rows, err = rows.CountAll(ctx, s); err != nil {
		return out, err
	}
	out.Requests, err = reader.Requests(ctx, q)
	return out, err
}
