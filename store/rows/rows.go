// Package rows keeps records and sessions in a database. A Database is the seam to a driver, with what SQLite and PostgreSQL do in
// different ways. Everything else is here, once: the tables, how rows are written and read, the guard of the audit trail, pruning,
// searching and copying.
//
// # In the database
//
// tables.sql defines the tables. The columns have the names of the fields of the rows in package record. Their units and formats are:
//
//	time_us                  microseconds since 1970, UTC
//	added_ns, gap_ns, lifetime_ns   nanoseconds
//	observe, cut, alive, bound, drops   0 or 1
//	prefix, system, turns.tools, thread, tool_set, tool_sets.id, sent_forms.id,
//	sent_places.place, form, parent   hashes of 64 bits, as signed numbers
//	account                  plain input tokens
//	bytes_*, before, after   bytes
//	tokens*, input, cache_*, output, reasoning   tokens
//	trims.paths              a JSON array of strings, [] where no file is known
//	trail.flags              a JSON array of strings
//	trail.prev, hash         SHA-256 in lower-case hex, as record.Chain says
//	trail.request            SHA-256 in lower-case hex; empty: the call may be done again
//	seq                      order of arrival, for rows of the same time
//	events.place             order of arrival
//	events.seq               number in the session, from 1 without gaps
//	events.kind, version, body   as package session writes them
//	events.sum               CRC-32C of session, seq, time_us, kind and version, in
//	                         decimal with a line break after each, and of body
//	sessions.key             what events.session refers to
//	sessions                 derived from events, for lists
//
// requests.id is unique, and so is (trims.request, trims.call_id, trims.reason): a second row with the same values is dropped. A
// turn replaces the turn with the same prefix and cache key. Rows of trail are numbered without gaps and never changed. Only PruneTrail removes
// rows of trail: the oldest. It adds a row of kind "prune", whose columns intent and before have seq and hash of the last removed
// row.
package rows

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// Mapping says which columns of a table hold which fields of a T.
type Mapping[T any] struct {
	Table   string
	Columns string // the names of the columns, with commas between them; Values and Scan keep their order
	fields  func(*T) []column
}

// column is a column with a pointer to its field. Times are stored in microseconds since 1970, durations in nanoseconds, numbers
// without a sign as numbers with one, other lists as JSON arrays, lists of hashes as 8 bytes each (the lowest first).
type column struct {
	name  string
	field any
}

func mapping[T any](table string, fields func(*T) []column) Mapping[T] {
	var names []string
	for _, c := range fields(new(T)) {
		names = append(names, c.name)
	}
	return Mapping[T]{table, strings.Join(names, ", "), fields}
}

// Insert returns the statement that adds a row, with a question mark for each of Values.
func (m Mapping[T]) Insert() string {
	return "INSERT INTO " + m.Table + " (" + m.Columns + ") VALUES (" + Marks(m.Columns) + ")"
}

// Values returns the values of Columns.
func (m Mapping[T]) Values(row T) []any {
	columns := m.fields(&row)
	out := make([]any, len(columns))
	for i, c := range columns {
		out[i] = stored(c.field)
	}
	return out
}

func stored(field any) any {
	switch f := field.(type) {
	case *string:
		return *f
	case *bool:
		if *f {
			return int64(1)
		}
		return int64(0)
	case *int:
		return int64(*f)
	case *int64:
		return *f
	case *uint64:
		return int64(*f)
	case *time.Duration:
		return int64(*f)
	case *time.Time:
		return f.UnixMicro()
	case *[]byte:
		return append([]byte{}, *f...)
	case *[]uint64:
		out := make([]byte, 0, 8*len(*f))
		for _, n := range *f {
			out = binary.LittleEndian.AppendUint64(out, n)
		}
		return out
	case *[]string:
		return listed(*f)
	case *[]record.OfferedTool:
		return listed(*f)
	}
	panic("no column holds such a field")
}

// listed returns a list as a JSON array.
func listed[T any](list []T) string {
	b, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return "[]"
	}
	return string(b)
}

// Scan reads Columns. first are the destinations of columns that stand before them.
func (m Mapping[T]) Scan(r Row, first ...any) (row T, err error) {
	columns := m.fields(&row)
	dest := append(make([]any, 0, len(first)+len(columns)), first...)
	for _, c := range columns {
		switch f := c.field.(type) {
		case *bool, *uint64, *time.Duration, *time.Time:
			dest = append(dest, new(int64))
		case *[]string, *[]record.OfferedTool:
			dest = append(dest, new(string))
		case *[]uint64:
			dest = append(dest, new([]byte))
		default:
			dest = append(dest, f)
		}
	}
	if err := r.Scan(dest...); err != nil {
		return row, err
	}
	for i, c := range columns {
		err = errors.Join(err, restore(c.field, dest[len(first)+i]))
	}
	return row, err
}

// Read is Scan without other columns.
func (m Mapping[T]) Read(r Row) (T, error) { return m.Scan(r) }

// restore sets a field that a column holds in another type.
func restore(field, from any) error {
	switch f := field.(type) {
	case *bool:
		*f = *from.(*int64) != 0
	case *uint64:
		*f = uint64(*from.(*int64))
	case *time.Duration:
		*f = time.Duration(*from.(*int64))
	case *time.Time:
		*f = at(*from.(*int64))
	case *[]string:
		if text := *from.(*string); text != "[]" && json.Unmarshal([]byte(text), f) != nil {
			*f = []string{text} // another program has changed the column; the other columns can be read
		}
	case *[]record.OfferedTool:
		return json.Unmarshal([]byte(*from.(*string)), f)
	case *[]uint64:
		for b := *from.(*[]byte); len(b) >= 8; b = b[8:] {
			*f = append(*f, binary.LittleEndian.Uint64(b))
		}
	}
	return nil
}

func at(micro int64) time.Time { return time.UnixMicro(micro).UTC() }
