// Package rows has the code that the stores in databases share: the columns of each table, the values for them, and the functions
// that read them. The tables have the same columns in every database.
package rows

// Row is a row of a result. The rows of [database/sql] and of pgx implement it.
type Row interface{ Scan(dest ...any) error }
