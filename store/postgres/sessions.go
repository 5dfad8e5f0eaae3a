package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// OpenSessions opens the database at a URL (postgres://…) and brings its schema up to date.
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
	statement := "SELECT key, " + rows.InfoColumns + " FROM sessions WHERE " + c.String() +
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
	found, err := fetch(ctx, s.database, rows.ScanEvent,
		"SELECT "+rows.EventColumns+" FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq", key, int64(after), last)
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

// Search implements session.Store. It reads the texts of all events, newest first.
func (s *Sessions) Search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	words = slices.Clone(words)
	for i := range words {
		words[i] = session.Folded(words[i])
	}
	if len(words) == 0 && !s.closed.Load() {
		return nil, ctx.Err()
	}
	var out []session.Hit
	var from []any // time and place of the last event that was read
	for {
		statement := "SELECT id, " + rows.EventColumns + " FROM events JOIN sessions ON key = session WHERE kind IN ('message', 'title')"
		if from != nil {
			statement += " AND (time_us, place) < (?, ?)"
		}
		found, err := fetch(ctx, s.database, scanHit, statement+fmt.Sprint(" ORDER BY time_us DESC, place DESC LIMIT ", searchPage), from...)
		if err != nil {
			return nil, s.explain("search", err)
		}
		for _, f := range found {
			if !session.MayMatch(f.event.Body, words) {
				continue
			}
			e, err := f.event.Decode()
			if err != nil || !e.Matches(words) {
				continue
			}
			if out = append(out, session.Hit{Session: f.id, Event: e}); len(out) == limit {
				return out, nil
			}
		}
		if len(found) < searchPage {
			return out, nil
		}
		last := found[len(found)-1].event
		from = []any{last.Micro, last.Place}
	}
}

// foundEvent is an event with the ID of its session.
type foundEvent struct {
	id    string
	event rows.Event
}

func scanHit(r rows.Row) (f foundEvent, err error) {
	f.event, err = rows.ScanEvent(withFirst{r, &f.id})
	return f, err
}

// withFirst reads an additional column before the others.
type withFirst struct {
	row   rows.Row
	first any
}

func (w withFirst) Scan(dest ...any) error { return w.row.Scan(append([]any{w.first}, dest...)...) }
