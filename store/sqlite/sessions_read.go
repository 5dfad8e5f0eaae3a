package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stet-dev/stet/session"
)

// infoColumns are the columns of sessions that make an Info, in the order of
// infoValues.
const infoColumns = `id, dir, source, title, first, model, parent, parent_seq, relation, next, closed, created_us, updated_us,
	last, count`

func infoValues(i session.Info) []any {
	return []any{
		i.ID, i.Dir, i.Source, i.Title, i.First, i.Model, i.From.Session, int64(i.From.Seq), string(i.From.Relation),
		i.Next, int64(i.Closed), i.Created.UnixMicro(), i.Updated.UnixMicro(), int64(i.Last), i.Count,
	}
}

// scanKnown reads key and infoColumns.
func scanKnown(rows interface{ Scan(...any) error }) (k known, err error) {
	i := &k.info
	var created, updated int64
	err = rows.Scan(&k.key, &i.ID, &i.Dir, &i.Source, &i.Title, &i.First, &i.Model, &i.From.Session, &i.From.Seq, &i.From.Relation,
		&i.Next, &i.Closed, &created, &updated, &i.Last, &i.Count)
	i.Created, i.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return k, err
}

// List implements session.Store.
func (s *Sessions) List(ctx context.Context, q session.Query) ([]session.Info, error) {
	conditions, args := []string{"substr(id, 1, length(?)) = ?"}, []any{q.ID, q.ID}
	for _, c := range []struct{ column, value string }{{"dir", q.Dir}, {"source", q.Source}, {"parent", q.Parent}} {
		if c.value != "" {
			conditions, args = append(conditions, c.column+" = ?"), append(args, c.value)
		}
	}
	if q.Open {
		conditions, args = append(conditions, "next = '' AND relation <> ?"), append(args, string(session.Started))
	}
	statement := "SELECT key, " + infoColumns + " FROM sessions WHERE " + strings.Join(conditions, " AND ") +
		" ORDER BY updated_us DESC, id DESC"
	if q.Limit > 0 {
		statement, args = statement+" LIMIT ?", append(args, q.Limit)
	}
	out, err := each(ctx, s.file.db, statement, args, func(rows *sql.Rows) (session.Info, error) {
		k, err := scanKnown(rows)
		return k.info, err
	})
	return out, s.explain("read", err)
}

const eventColumns = "place, session, seq, time_us, kind, version, sum, body"

func scanRow(rows interface{ Scan(...any) error }) (r row, err error) {
	err = rows.Scan(&r.place, &r.key, &r.seq, &r.micro, &r.kind, &r.version, &r.sum, &r.body)
	return r, err
}

// event reads a row. The error says that it is damaged.
func (r row) event() (session.Event, error) {
	e := session.Event{Seq: r.seq, Time: time.UnixMicro(r.micro).UTC(), Version: r.version}
	if r.sum != r.checksum() {
		return e, errors.New("the stored bytes are not those that were written")
	}
	var err error
	e.Body, err = session.Decode(session.Kind(r.kind), r.version, []byte(r.body))
	return e, err
}

// Events implements session.Store. Where the file itself is damaged, the rows
// are read one by one, and those that cannot be are left out.
func (s *Sessions) Events(ctx context.Context, id string, after uint64) ([]session.Event, []session.Damage, error) {
	var key int64
	var last uint64
	err := s.file.db.QueryRowContext(ctx, "SELECT key, last FROM sessions WHERE id = ?", id).Scan(&key, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("session %s: %w", id, session.ErrNotFound)
	}
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	after = min(after, last)
	out := reading{next: after + 1}
	rows, err := each(ctx, s.file.db, "SELECT "+eventColumns+" FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq",
		[]any{key, int64(after), int64(last)}, func(rows *sql.Rows) (row, error) { return scanRow(rows) })
	switch {
	case damaged(err):
		err = s.salvage(ctx, key, &out)
	case err == nil:
		for _, r := range rows {
			out.add(r)
		}
	}
	out.gap(last+1, "missing")
	return out.events, out.damage, s.explain("read", err)
}

// salvage reads all rows of the file one by one, and adds those of a session
// that can be read.
func (s *Sessions) salvage(ctx context.Context, key int64, out *reading) error {
	var end int64
	if err := s.file.db.QueryRowContext(ctx, "SELECT sum(last) FROM sessions").Scan(&end); err != nil { // places have no gaps
		return err
	}
	for place := int64(1); place <= end; place++ {
		r, err := s.row(ctx, place)
		switch {
		case err == nil && r.key == key && r.seq >= out.next:
			out.add(r)
		case err != nil && !damaged(err) && !errors.Is(err, sql.ErrNoRows):
			return err
		}
	}
	return nil
}

func (s *Sessions) row(ctx context.Context, place int64) (row, error) {
	return scanRow(s.file.db.QueryRowContext(ctx, "SELECT "+eventColumns+" FROM events WHERE place = ?", place))
}

// damaged reports whether SQLite found the file, or a row of it, not to be in
// order.
func damaged(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_CORRUPT || e.Code()&0xff == lib.SQLITE_NOTADB)
}

// reading is what was read of a session so far.
type reading struct {
	next   uint64 // number of the event that comes
	events []session.Event
	damage []session.Damage
}

func (g *reading) add(r row) {
	e, err := r.event()
	g.gap(e.Seq, "missing")
	if err != nil {
		g.gap(e.Seq+1, err.Error())
		return
	}
	g.events = append(g.events, e)
	g.next = e.Seq + 1
}

// gap notes that the events before next could not be read.
func (g *reading) gap(next uint64, why string) {
	if next <= g.next {
		return
	}
	d := session.Damage{First: g.next, Last: next - 1, Why: why}
	if n := len(g.damage); n > 0 && g.damage[n-1].Why == why && g.damage[n-1].Last+1 == d.First {
		g.damage[n-1].Last = d.Last
	} else {
		g.damage = append(g.damage, d)
	}
	g.next = next
}
