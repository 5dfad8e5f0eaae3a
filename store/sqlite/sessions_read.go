package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

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
	statement := "SELECT key, " + rows.Infos.Columns + " FROM sessions WHERE " + strings.Join(conditions, " AND ") +
		" ORDER BY updated_us DESC, id DESC"
	if q.Limit > 0 {
		statement, args = statement+" LIMIT ?", append(args, q.Limit)
	}
	out, err := each(ctx, s.file.db, statement, args, func(r rows.Row) (session.Info, error) {
		_, info, err := rows.ScanInfo(r)
		return info, err
	})
	return out, s.explain("read", err)
}

// Events implements session.Store. If the file is damaged, rows are read one by one, and unreadable rows are left out.
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
	out := rows.Reading{Next: after + 1}
	found, err := each(ctx, s.file.db, "SELECT "+rows.Events.Columns+" FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq",
		[]any{key, int64(after), int64(last)}, rows.Events.Read)
	switch {
	case damaged(err):
		err = s.salvage(ctx, key, &out)
	case err == nil:
		for _, r := range found {
			out.Add(r)
		}
	}
	out.Gap(last+1, "missing")
	return out.Events, out.Damage, s.explain("read", err)
}

// salvage reads all rows of the file one by one, and adds the readable ones of a session to out.
func (s *Sessions) salvage(ctx context.Context, key int64, out *rows.Reading) error {
	return s.eachRow(ctx, func(r rows.Event) error {
		if r.Key == key && r.Seq >= out.Next {
			out.Add(r)
		}
		return nil
	})
}

// eachRow calls fn with each event that can be read, in the order of arrival.
func (s *Sessions) eachRow(ctx context.Context, fn func(rows.Event) error) error {
	var end int64
	if err := s.file.db.QueryRowContext(ctx, "SELECT sum(last) FROM sessions").Scan(&end); err != nil { // places have no gaps
		return err
	}
	for place := int64(1); place <= end; place++ {
		r, err := s.row(ctx, place)
		if err == nil {
			err = fn(r)
		} else if damaged(err) || errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Sessions) row(ctx context.Context, place int64) (rows.Event, error) {
	return rows.Events.Read(s.file.db.QueryRowContext(ctx, "SELECT "+rows.Events.Columns+" FROM events WHERE place = ?", place))
}

// damaged reports whether err says that the file or a row of it is damaged.
func damaged(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_CORRUPT || e.Code()&0xff == lib.SQLITE_NOTADB)
}
