// Package rows has what the stores in databases share: the columns of each table,
// the values that go into them, and how they are read. The tables have the same columns in
// every database.
package rows

// Row is a row of a result. [database/sql] and pgx have it.
type Row interface{ Scan(dest ...any) error }
