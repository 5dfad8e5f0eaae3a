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

// Table is a table as it is copied from one database to another.
type Table struct {
	Name    string
	Order   string // the columns by which its rows are ordered; no two rows have the same
	Columns string // what is copied
	Key     string // the columns by which a row takes the place of one that is there; empty: rows are only added
	Shrinks bool   // rows may have been removed since the last copy
}

// Tables are all tables, in the order in which they are copied. What numbers the order of arrival, and nothing else, is not
// copied: the database that gets the rows gives its own numbers.
var Tables = []Table{
	{Name: "sessions", Order: "key", Columns: "key, " + InfoColumns, Key: "key"},
	{Name: "events", Order: "place", Columns: "session, seq, time_us, kind, version, sum, body"},
	{Name: "requests", Order: "seq", Columns: RequestColumns},
	{Name: "trims", Order: "seq", Columns: TrimColumns},
	{Name: "turns", Order: "prefix", Columns: TurnColumns, Key: "prefix", Shrinks: true},
	{Name: "sent_forms", Order: "id", Columns: FormColumns, Key: "id", Shrinks: true},
	{Name: "sent_places", Order: "place, form", Columns: PlaceColumns, Key: "place, form", Shrinks: true},
	{Name: "tool_sets", Order: "id", Columns: ToolSetColumns, Key: "id", Shrinks: true},
	{Name: "tool_calls", Order: "seq", Columns: ToolCallsColumns, Key: "conversation, agent, tool", Shrinks: true},
	{Name: "trail", Order: "seq", Columns: TrailColumns},
}

// Inspection is what a database has, as it is seen without changing it.
type Inspection struct {
	Schema, Newest int64 // the number of its schema, and that of this program's
	// Rows is how many rows each table has, by name; nil where the schema is another one.
	Rows map[string]int64
	// Requests are those that were asked for; nil where the schema is another one.
	Requests []record.Request
	// Copies are the files with the database as it was before its schema changed, the newest schema first.
	Copies []string
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

// Source is a database that is copied. What it has does not change while it is open. Values of rows are int64, string
// and []byte.
type Source interface {
	Count(ctx context.Context, t Table) (int64, error)
	// Page returns up to limit rows: those behind the row whose Order has the values after and, if skip is not 0, so many
	// rows later. Each has the values of Order and then those of Columns.
	Page(ctx context.Context, t Table, after []any, skip int64, limit int) ([][]any, error)
	Close() error
}

// Target is a database that is made by copying. Until Finish nothing else can open it.
type Target interface {
	Count(ctx context.Context, t Table) (int64, error)
	// Clear removes all rows of a table that Shrinks.
	Clear(ctx context.Context, t Table) error
	// Write adds rows, which have the values of Columns, in their order: all or none.
	Write(ctx context.Context, t Table, rows [][]any) error
	// Read opens what was written.
	Read(ctx context.Context) (Source, error)
	// Finish makes the database one that stet can open.
	Finish(ctx context.Context) error
	// Close leaves the copy as it is, to be gone on with.
	Close() error
}

// CountRows is the statement for Count.
func (t Table) CountRows() string { return "SELECT count(*) FROM " + t.Name }

// SelectPage is the statement for Page, with a question mark for each of after.
func (t Table) SelectPage(after []any, skip int64, limit int) string {
	where := ""
	if after != nil {
		where = " WHERE (" + t.Order + ") > (" + Marks(t.Order) + ")"
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d", t.Order, t.Columns, t.Name, where, t.Order, limit, skip)
}

// Insert is the statement for Write, with a question mark for each column.
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

// Names are the names of Columns.
func (t Table) Names() []string {
	return strings.FieldsFunc(t.Columns, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

// Ordered is how many columns Order has.
func (t Table) Ordered() int { return strings.Count(t.Order, ",") + 1 }

// Sum is a hash of a table: of all values of Columns, in the order of the rows.
type Sum struct{ hash hash.Hash }

// NewSum begins a hash.
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

// String is the hash in hexadecimal digits.
func (s Sum) String() string { return fmt.Sprintf("%x", s.hash.Sum(nil)) }
