package postgres

import (
	"context"

	"github.com/stet-dev/stet/store/rows"
)

// TableNames returns the names of the tables of the schema.
func (s *Store) TableNames(ctx context.Context) ([]string, error) {
	return rows.Collect(ctx, s.d, func(r rows.Row) (name string, err error) {
		err = r.Scan(&name)
		return name, err
	}, "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
}

// HoldTrail calls hold in a transaction that has locked the end of the trail.
func (s *Store) HoldTrail(ctx context.Context, hold func()) error {
	return s.d.Transact(ctx, true, func(tx rows.Conn) error {
		_, _, err := head{}.Noted(ctx, tx, s.d.Dialect().ForUpdate)
		hold()
		return err
	})
}
