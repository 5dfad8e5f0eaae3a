package rows

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"

	"github.com/stet-dev/stet/record"
)

// Table describes a table for copying it from one database to another.
type Table struct {
	Name    string
	Order   string // the columns that order the rows; no two rows have the same values in them
	Columns string // the columns that are copied
	Key     string // the columns that identify a row: a copied row replaces an existing row with the same values; empty: rows are only added
	Shrinks bool   // rows may have been removed since the last copy
}

// Tables are all tables, in the order in which they are copied. A column that only numbers the rows in the order in which they
// were stored is not copied: the target gives its own numbers.
var Tables = []Table{
	{Name: "sessions", Order: "key", Columns: "key, " + Infos.Columns, Key: "key"},
	{Name: "events", Order: "place", Columns: "session, seq, time_us, kind, version, sum, body"},
	{Name: "requests", Order: "seq", Columns: Requests.Columns},
	{Name: "trims", Order: "seq", Columns: Trims.Columns},
	{Name: "turns", Order: "prefix, model, system, tools", Columns: Turns.Columns, Key: "prefix, model, system, tools", Shrinks: true},
	{Name: "sent_forms", Order: "id", Columns: Forms.Columns, Key: "id", Shrinks: true},
	{Name: "sent_places", Order: "place, key", Columns: Places.Columns, Key: "place, key", Shrinks: true},
	{Name: "refusals", Order: "account", Columns: Refusals.Columns, Key: "account", Shrinks: true},
	{Name: "tool_sets", Order: "id", Columns: ToolSets.Columns, Key: "id", Shrinks: true},
	{Name: "tool_calls", Order: "seq", Columns: ToolCalls.Columns, Key: "conversation, agent, tool", Shrinks: true},
	{Name: "notes", Order: "kind, key", Columns: Notes.Columns, Key: "kind, key", Shrinks: true},
	{Name: "trail", Order: "seq", Columns: Trail.Columns},
}

// Inspection is what Inspect found in a database. It is read without a change to the database.
type Inspection struct {
	Schema, Newest int64 // schema number of the database, and the one that this program knows
	// Rows is the number of rows of each table, by name. It is nil if Schema is not Newest.
	Rows map[string]int64
	// Requests are the selected requests. They are nil if Schema is not Newest.
	Requests []record.Request
}

// Inspect returns what is in a database whose schema has the number schema. The result has the requests that q selects.
func Inspect(ctx context.Context, db Database, schema int64, q record.Query) (Inspection, error) {
	out := Inspection{Schema: schema, Newest: SchemaNumber}
	if schema != SchemaNumber {
		return out, nil
	}
	err := db.Snapshot(ctx, func(on Conn) (err error) {
		out.Rows = map[string]int64{}
		for _, t := range Tables {
			if out.Rows[t.Name], err = t.Count(ctx, on); err != nil {
				return err
			}
		}
		out.Requests, err = selected(ctx, db, Requests, q)
		return err
	})
	return out, err
}

// Target is a database that a copy is written to. Before Finish it cannot be opened in any other way.
type Target interface {
	Database
	// Finish completes the copy, so that stet can open the database.
	Finish(ctx context.Context) error
	// Close keeps an unfinished copy. It can be continued later.
	Close() error
}

// Source is a database that is copied.
type Source interface {
	Database
	Close() error
}

// Count returns the number of rows.
func (t Table) Count(ctx context.Context, on Conn) (n int64, err error) {
	_, err = One(ctx, on, "SELECT count(*) FROM "+t.Name, nil, &n)
	return n, err
}

// Page returns up to limit rows, in the order of t.Order. They come after the row whose Order columns have the values after;
// nil: from the first row. skip is a number of rows to leave out at the beginning. Each row has the values of Order and then
// those of Columns: int64, string or []byte.
func (t Table) Page(ctx context.Context, on Conn, after []any, skip int64, limit int) ([][]any, error) {
	where := ""
	if after != nil {
		where = " WHERE (" + t.Order + ") > (" + Marks(t.Order) + ")"
	}
	width := t.Ordered() + len(t.Names())
	return Collect(ctx, on, func(r Row) ([]any, error) {
		row, to := make([]any, width), make([]any, width)
		for i := range row {
			to[i] = &row[i]
		}
		return row, r.Scan(to...)
	}, fmt.Sprintf("SELECT %s, %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d", t.Order, t.Columns, t.Name, where, t.Order, limit, skip), after...)
}

// Write adds rows, all or none. Each has the values of Columns, in their order.
func (t Table) Write(ctx context.Context, db Database, rows [][]any) error {
	s := "INSERT INTO " + t.Name + " (" + t.Columns + ") VALUES (" + Marks(t.Columns) + ")"
	if t.Key != "" {
		var set []string
		for _, c := range t.Names() {
			set = append(set, c+" = excluded."+c)
		}
		s += " ON CONFLICT (" + t.Key + ") DO UPDATE SET " + strings.Join(set, ", ")
	}
	return db.Transact(ctx, true, func(tx Conn) error { return tx.Send(ctx, Statement{s, rows}) })
}

// Names returns the names of Columns.
func (t Table) Names() []string {
	return strings.FieldsFunc(t.Columns, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

// Ordered returns the number of columns in Order.
func (t Table) Ordered() int { return strings.Count(t.Order, ",") + 1 }

// Sum is a hash of a table: SHA-256 over all values of Columns, in the order of the rows.
type Sum struct{ hash hash.Hash }

// NewSum returns the Sum of a table without rows.
func NewSum() Sum { return Sum{sha256.New()} }

// Add adds the values of a row, each with its type and length.
func (s Sum) Add(row []any) error {
	for _, v := range row {
		var b []byte
		kind := byte('s')
		switch v := v.(type) {
		case int64:
			kind, b = 'i', binary.LittleEndian.AppendUint64(nil, uint64(v))
		case string:
			b = []byte(v)
		case []byte:
			kind, b = 'b', v
		default:
			return fmt.Errorf("a value of type %T has no place in a table", v)
		}
		_, _ = s.hash.Write(binary.LittleEndian.AppendUint64([]byte{kind}, uint64(len(b)))) // a hash never fails
		_, _ = s.hash.Write(b)
	}
	return nil
}

// String returns the hash in hexadecimal digits.
func (s Sum) String() string { return fmt.Sprintf("%x", s.hash.Sum(nil)) }
