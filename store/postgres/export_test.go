package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/store/rows"
)

// TableNames returns the names of the tables of the schema.
func (d *database) TableNames(ctx context.Context) ([]string, error) {
	return each(ctx, d.pool, func(r rows.Row) (name string, err error) { return name, r.Scan(&name) },
		"SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
}

// HoldTrail calls hold in a transaction that has locked the end of the trail.
func (s *Store) HoldTrail(ctx context.Context, hold func()) error {
	return s.transact(ctx, func(tx pgx.Tx) error {
		_, err := lockHead(ctx, tx)
		hold()
		return err
	})
}
