package rows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/session"
)

// Sessions implements session.Store in a database. Its methods may be called concurrently. Goroutines that append at the same time
// share commits.
type Sessions struct {
	db      Database
	hooks   SessionHooks
	appends *group[[]addition]
	cache   map[string]Known // by session id, as they were after the last commit of this process; used only with the right to commit (see group)
}

// SessionHooks is what only one of the databases can do. Each field may be nil.
type SessionHooks struct {
	// AppendKnown changes sessions and adds events in one statement, if every session in the database is as in was. Otherwise it
	// writes nothing and returns false.
	AppendKnown func(ctx context.Context, sessions, was []Known, events []Event) (bool, error)
	// Salvage calls fn with each event that can be read from a database that is damaged, in the order of arrival. It returns err if
	// err does not say that the database is damaged.
	Salvage func(ctx context.Context, err error, fn func(Event) error) error
	// Broken is why appending is impossible.
	Broken error
}

// NewSessions returns the sessions in a database.
func NewSessions(db Database, hooks SessionHooks) *Sessions {
	return &Sessions{db: db, hooks: hooks, appends: newGroup[[]addition]()}
}

// Wait waits until running appends have ended. Others wait until release is called.
func (s *Sessions) Wait() (release func()) { return s.appends.wait() }

func (s *Sessions) explain(op string, err error) error {
	return explain(s.db, op, "sessions", session.ErrClosed, err)
}

// List implements session.Store.
func (s *Sessions) List(ctx context.Context, q session.Query) ([]session.Info, error) {
	c := &Condition{}
	c.Add("substr(id, 1, length(?)) = ?", q.ID, q.ID)
	for _, is := range []struct{ column, value string }{{"dir", q.Dir}, {"source", q.Source}, {"parent", q.Parent}} {
		if is.value != "" {
			c.Add(is.column+" = ?", is.value)
		}
	}
	if q.Open {
		c.Add("next = '' AND relation <> ?", string(session.Started))
	}
	statement := "SELECT " + Infos.Columns + " FROM sessions WHERE " + c.String() + " ORDER BY updated_us DESC, id DESC"
	if q.Limit > 0 {
		statement += fmt.Sprint(" LIMIT ", q.Limit)
	}
	out, err := fetch(ctx, s.db, Infos.Read, statement, c.Args...)
	return out, s.explain("read", err)
}

// Events implements session.Store. If the database is damaged, the events that cannot be read are left out.
func (s *Sessions) Events(ctx context.Context, id string, after uint64) ([]session.Event, []session.Damage, error) {
	var key int64
	var last uint64
	var found bool
	err := s.db.Again(ctx, func(ctx context.Context, _ bool) (err error) {
		found, err = One(ctx, s.db, "SELECT key, last FROM sessions WHERE id = ?", []any{id}, &key, &last)
		return err
	})
	if err != nil {
		return nil, nil, s.explain("read", err)
	}
	if !found {
		return nil, nil, fmt.Errorf("session %s: %w", id, session.ErrNotFound)
	}
	if after >= last {
		return nil, nil, nil
	}
	out := Reading{Next: after + 1}
	events, err := fetch(ctx, s.db, Events.Read, "SELECT "+Events.Columns+" FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq",
		key, int64(after), int64(last))
	if err != nil && s.hooks.Salvage != nil {
		err = s.hooks.Salvage(ctx, err, func(e Event) error {
			if e.Key == key {
				events = append(events, e)
			}
			return nil
		})
	}
	for _, e := range events {
		if e.Seq >= out.Next {
			out.Add(e)
		}
	}
	out.Gap(last+1, "missing")
	return out.Events, out.Damage, s.explain("read", err)
}

// hasText selects the kinds of events that have a text. There is an index for it.
const hasText = "kind IN ('" + string(session.KindMessage) + "', '" + string(session.KindTitle) + "')"

// text is an event that has a text, with the ID of its session.
type text struct {
	session string
	event   Event
}

// searchPage is the number of events that a search reads at once.
const searchPage = 500

// Search implements session.Store. It reads the texts of events, newest first, until it has found enough.
func (s *Sessions) Search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	if len(words) == 0 && !s.db.Closed() {
		return nil, ctx.Err()
	}
	words = slices.Clone(words)
	for i := range words {
		words[i] = session.Folded(words[i])
	}
	var out []session.Hit
	var err error
	var page []text
	condition, from := "", []any(nil) // time and place of the last event that was read
	for first := true; first || err == nil && len(page) == searchPage && (limit <= 0 || len(out) < limit); first = false {
		page, err = fetch(ctx, s.db, func(r Row) (t text, err error) {
			t.event, err = Events.Scan(r, &t.session)
			return t, err
		}, "SELECT id, "+Events.Columns+" FROM events JOIN sessions ON key = session WHERE "+hasText+condition+
			fmt.Sprint(" ORDER BY time_us DESC, place DESC LIMIT ", searchPage), from...)
		if err == nil && len(page) > 0 {
			out = matching(out, page, words, limit)
			last := page[len(page)-1].event
			condition, from = " AND (time_us, place) < (?, ?)", []any{last.Micro, last.Place}
		}
	}
	if err != nil && s.hooks.Salvage != nil {
		page, err = s.salvaged(ctx, err)
		out = matching(nil, page, words, limit)
	}
	return out, s.explain("search", err)
}

// matching adds the events that have all words to out, until it has limit of them (0: all).
func matching(out []session.Hit, page []text, words []string, limit int) []session.Hit {
	for _, t := range page {
		if !session.MayMatch(t.event.Body, words) {
			continue
		}
		e, err := t.event.Decode()
		if err != nil || !e.Matches(words) {
			continue // a damaged event is not found
		}
		if out = append(out, session.Hit{Session: t.session, Event: e}); len(out) == limit {
			break
		}
	}
	return out
}

// salvaged returns the texts that can be read from a damaged database, newest first. damage is the error of reading it.
func (s *Sessions) salvaged(ctx context.Context, damage error) ([]text, error) {
	var all []text
	err := s.hooks.Salvage(ctx, damage, func(e Event) error {
		if strings.Contains(hasText, "'"+e.Kind+"'") {
			all = append(all, text{event: e})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	err = s.db.Each(ctx, "SELECT key, id FROM sessions", nil, func(r Row) error {
		var key int64
		var id string
		err := r.Scan(&key, &id)
		names[key] = id
		return err
	})
	all = slices.DeleteFunc(all, func(t text) bool { return names[t.event.Key] == "" })
	for i := range all {
		all[i].session = names[all[i].event.Key]
	}
	slices.SortFunc(all, func(a, b text) int {
		return cmp.Or(cmp.Compare(b.event.Micro, a.event.Micro), cmp.Compare(b.event.Place, a.event.Place))
	})
	return all, err
}
