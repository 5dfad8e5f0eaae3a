package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaLock is the advisory lock for changes of the schema: "stet" in ASCII.
const schemaLock = 0x73746574

// migration is one file of the migrations directory.
type migration struct {
	number int
	sql    string
}

func allMigrations() ([]migration, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, name := range files {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		number, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if n := len(all); n > 0 && all[n-1].number == number {
			return nil, fmt.Errorf("two migrations have the number %d", number)
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{number, string(text)})
	}
	return all, nil
}

// upgrade brings the schema up to date, in one transaction. Processes that start at the same time wait for each other. If the
// schema is up to date, upgrade only reads.
func (d *database) upgrade(ctx context.Context, toCopy bool) error {
	all, err := allMigrations()
	if err != nil {
		return err
	}
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
	if there {
		has, err := version(ctx, d.pool)
		if err != nil || has == all[len(all)-1].number {
			return err
		}
	}
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return migrate(ctx, tx, all) })
}

func migrate(ctx context.Context, tx pgx.Tx, all []migration) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", schemaLock); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS stet_schema (
		number integer PRIMARY KEY, made timestamptz NOT NULL DEFAULT now())`); err != nil {
		return err
	}
	has, err := version(ctx, tx)
	if err != nil {
		return err
	}
	if newest := all[len(all)-1].number; has > newest {
		return fmt.Errorf("%w (schema %d, this one knows %d): use that version, or name another database; nothing was changed",
			errNewer, has, newest)
	}
	for _, m := range all {
		if m.number <= has {
			continue
		}
		if _, err := tx.Conn().PgConn().Exec(ctx, m.sql).ReadAll(); err != nil {
			return fmt.Errorf("migration %d: %w", m.number, err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO stet_schema (number) VALUES ($1)", m.number); err != nil {
			return err
		}
	}
	return nil
}

var errNewer = errors.New("the database was made by a newer stet")

// queryer is a pool or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func version(ctx context.Context, q queryer) (n int, err error) {
	err = q.QueryRow(ctx, "SELECT coalesce(max(number), 0) FROM stet_schema").Scan(&n)
	return n, err
}
