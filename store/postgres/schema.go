package postgres

import (
	"context"
	_ "embed" // the schema
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// schema makes the tables in an empty database.
//
//go:embed schema.sql
var schema string

// schemaNumber is the number of schema, in the table stet_schema.
const schemaNumber = 1

// schemaLock is the advisory lock for changes of the schema: "stet" in ASCII.
const schemaLock = 0x73746574

var errOther = errors.New("the database was made by another version of stet")

// prepare makes the tables of an empty database. Processes that start at the same time wait for each other. A database that has
// its tables is only read.
func (d *database) prepare(ctx context.Context, toCopy bool) error {
	var encoding string
	var there, half bool
	if err := d.pool.QueryRow(ctx, "SELECT current_setting('server_encoding'), to_regclass('stet_schema') IS NOT NULL, to_regclass($1) IS NOT NULL", copying).
		Scan(&encoding, &there, &half); err != nil {
		return err
	}
	if half && !toCopy {
		return errCopying
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database is encoded in %s: make one with ENCODING 'UTF8'", encoding)
	}
	if !there {
		if err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return create(ctx, tx) }); err != nil {
			return err
		}
	}
	has, err := version(ctx, d.pool)
	if err == nil && has != schemaNumber {
		err = fmt.Errorf("%w (schema %d, this one knows %d): use that version, or name another database; nothing was changed",
			errOther, has, schemaNumber)
	}
	return err
}

func create(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", schemaLock); err != nil {
		return err
	}
	// Creating the table also makes the connection see what others have committed meanwhile.
	if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS stet_schema (number bigint NOT NULL)"); err != nil {
		return err
	}
	var made bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM stet_schema)").Scan(&made); err != nil || made {
		return err
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, schema).ReadAll(); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO stet_schema (number) VALUES ($1)", schemaNumber)
	return err
}

// queryer is a pool or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func version(ctx context.Context, q queryer) (n int64, err error) {
	err = q.QueryRow(ctx, "SELECT number FROM stet_schema").Scan(&n)
	return n, err
}
