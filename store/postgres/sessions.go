package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Sessions is a session.Store in the database. Its methods may be called concurrently.
type Sessions struct {
	*database
	appends *group[[]addition]
	mind    map[string]known // by session id, as they were after the last commit of this process; used only with the right to commit (see group)
}

var _ session.Store = (*Sessions)(nil)

// OpenSessions opens the database at a URL (postgres://…), and makes the tables of an empty one.
func OpenSessions(ctx context.Context, where string) (*Sessions, error) {
	d, err := connect(ctx, where, false)
	if err != nil {
		return nil, err
	}
	return &Sessions{database: d, appends: newGroup[[]addition]()}, nil
}

// Close implements session.Store. It waits until running writes have ended.
func (s *Sessions) Close() error {
	s.appends.right <- struct{}{}
	defer func() { <-s.appends.right }()
	s.close()
	return nil
}

// explain returns session.ErrClosed for errors of a closed store.
func (s *Sessions) explain(op string, err error) error {
	if err != nil && s.closed.Load() {
		return fmt.Errorf("%s sessions %s: %w", op, s.name, session.ErrClosed)
	}
	return s.database.explain(op, err)
}

// List implements session.Store.
func (s *Sessions) List(ctx context.Context, q session.Query) ([]session.Info, error) {
	var c rows.Condition
	c.Add("starts_with(id, ?)", q.ID)
	for _, is := range []struct{ column, value string }{{"dir", q.Dir}, {"source", q.Source}, {"parent", q.Parent}} {
		if is.value != "" {
			c.Add(is.column+" = ?", is.value)
		}
	}
	if q.Open {
		c.Add("next = '' AND relation <> ?", string(session.Started))
	}
	statement := "SELECT key, " + rows.Infos.Columns + " FROM sessions WHERE " + c.String() +
		" ORDER BY updated_us DESC, id DESC"
	if q.Limit > 0 {
		statement += fmt.Sprint(" LIMIT ", q.Limit)
	}
	out, err := fetch(ctx, s.database, func(r rows.Row) (session.Info, error) {
		_, i, err := rows.ScanInfo(r)
		return i, err
	}, statement, c.Args...)
	return out, s.explain("read", err)
}

// Events implements session.Store.
func (s *Sessions) Events(ctx context.Context, id string, after uint64) ([]session.Event, []session.Damage, error) {
	var key, last int64
	err := s.again(ctx, func(ctx context.Context, _ bool) error {
		return s.pool.QueryRow(ctx, "SELECT key, last FROM sessions WHERE id = $1", keep(id)).Scan(&key, &last)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, fmt.Errorf("session %s: %w", id, session.ErrNotFound)
	}
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	after = min(after, uint64(last))
	out := rows.Reading{Next: after + 1}
	if after == uint64(last) {
		return nil, nil, nil
	}
	found, err := fetch(ctx, s.database, rows.Events.Read,
		"SELECT "+rows.Events.Columns+" FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq", key, int64(after), last)
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	for _, r := range found {
		out.Add(r)
	}
	out.Gap(uint64(last)+1, "missing")
	return out.Events, out.Damage, nil
}

// searchPage is the number of events that a search reads at once.
const searchPage = 500

// Search implements session.Store. It reads the texts of events, newest first, until it has found enough.
func (s *Sessions) Search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	if len(words) == 0 && !s.closed.Load() {
		return nil, ctx.Err()
	}
	out, err := rows.Search(s.texts(ctx), words, limit)
	return out, s.explain("search", err)
}

func (s *Sessions) texts(ctx context.Context) iter.Seq2[rows.Text, error] {
	return func(yield func(rows.Text, error) bool) {
		condition := ""
		var from []any // time and place of the last event that was read
		for {
			found, err := fetch(ctx, s.database, rows.ScanText, rows.SelectTexts(condition)+fmt.Sprint(" LIMIT ", searchPage), from...)
			if err != nil {
				yield(rows.Text{}, err)
				return
			}
			for _, t := range found {
				if !yield(t, nil) {
					return
				}
			}
			if len(found) < searchPage {
				return
			}
			last := found[len(found)-1].Event
			condition, from = " AND (time_us, place) < (?, ?)", []any{last.Micro, last.Place}
		}
	}
}
