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
	{Name: "turns", Order: "prefix", Columns: Turns.Columns, Key: "prefix", Shrinks: true},
	{Name: "sent_forms", Order: "id", Columns: Forms.Columns, Key: "id", Shrinks: true},
	{Name: "sent_places", Order: "place, form", Columns: Places.Columns, Key: "place, form", Shrinks: true},
	{Name: "tool_sets", Order: "id", Columns: ToolSets.Columns, Key: "id", Shrinks: true},
	{Name: "tool_calls", Order: "seq", Columns: ToolCalls.Columns, Key: "conversation, agent, tool", Shrinks: true},
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

// CountAll counts the rows of all tables.
func CountAll(ctx context.Context, s Source) (map[string]int64, error) {
	counts := map[string]int64{}
	for _, t := range Tables {
		n, err := s.Count(ctx, t)
		if err != nil {
			return nil, err
		}
		counts[t.Name] = n
	}
	return counts, nil
}

// Source is a database that is copied. Its content does not change while it is open. The values of its rows are int64, string or
// []byte.
type Source interface {
	Count(ctx context.Context, t Table) (int64, error)
	// Page returns up to limit rows, in the order of t.Order. They come after the row whose Order columns have the values after;
	// nil: from the first row. skip is a number of rows to leave out at the beginning. Each row has the values of Order and then
	// those of Columns.
	Page(ctx context.Context, t Table, after []any, skip int64, limit int) ([][]any, error)
	Close() error
}

// Target is a database that a copy is written to. Before Finish it cannot be opened in any other way.
type Target interface {
	Count(ctx context.Context, t Table) (int64, error)
	// Clear removes all rows of a table. It is called for tables that Shrink.
	Clear(ctx context.Context, t Table) error
	// Write adds rows, all or none. Each has the values of Columns, in their order.
	Write(ctx context.Context, t Table, rows [][]any) error
	// Read opens the rows that were written.
	Read(ctx context.Context) (Source, error)
	// Finish completes the copy, so that stet can open the database.
	Finish(ctx context.Context) error
	// Close keeps an unfinished copy. It can be continued later.
	Close() error
}

// CountRows returns the statement for Count.
func (t Table) CountRows() string { return "SELECT count(*) FROM " + t.Name }

// SelectPage returns the statement for Page, with a question mark for each of after.
func (t Table) SelectPage(after []any, skip int64, limit int) string {
	where := ""
	if after != nil {
		where = " WHERE (" + t.Order + ") > (" + Marks(t.Order) + ")"
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d", t.Order, t.Columns, t.Name, where, t.Order, limit, skip)
}

// Insert returns the statement for Write, with a question mark for each column.
func (t Table) Insert() string {
	s := "INSERT INTO " + t.Name + " (" + t.Columns + ") VALUES (" + Marks(t.Columns) + ")"
	if t.Key == "" {
		return s
	}
	var set []string
	for _, c := range t.Names() {
		set = append(set, c+" = excluded."+c)
	}
	return s + " ON CONFLICT (" + t.Key + ") DO UPDATE SET " + strings.Join(set, ", ")
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
