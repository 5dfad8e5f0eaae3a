package postgres

import (
	"context"

	"github.com/stet-dev/stet/store/rows"
)

// TableNames are the tables of the schema.
func (d *database) TableNames(ctx context.Context) ([]string, error) {
	return each(ctx, d.pool, func(r rows.Row) (name string, err error) { return name, r.Scan(&name) },
		"SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
}
