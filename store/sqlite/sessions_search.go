package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Search implements session.Store. It reads the texts of events, newest first, until it has found enough.
func (s *Sessions) Search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	if len(words) == 0 && !s.file.closed.Load() {
		return nil, ctx.Err()
	}
	out, err := rows.Search(s.texts(ctx), words, limit)
	if damaged(err) {
		out, err = rows.Search(s.salvagedTexts(ctx), words, limit)
	}
	return out, s.explain("search", err)
}

func (s *Sessions) texts(ctx context.Context) iter.Seq2[rows.Text, error] {
	return func(yield func(rows.Text, error) bool) {
		found, err := s.file.db.QueryContext(ctx, rows.SelectTexts(""))
		if err != nil {
			yield(rows.Text{}, err)
			return
		}
		defer found.Close()
		for found.Next() {
			if t, err := rows.ScanText(found); !yield(t, err) {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(rows.Text{}, err)
		}
	}
}

// salvagedTexts is like texts for a damaged file. It reads the rows one by one and leaves out those that cannot be read.
func (s *Sessions) salvagedTexts(ctx context.Context) iter.Seq2[rows.Text, error] {
	return func(yield func(rows.Text, error) bool) {
		var all []rows.Text
		err := s.eachRow(ctx, func(r rows.Event) error {
			t := rows.Text{Event: r}
			err := s.file.db.QueryRowContext(ctx, "SELECT id FROM sessions WHERE key = ?", r.Key).Scan(&t.Session)
			if err == nil && (r.Kind == string(session.KindMessage) || r.Kind == string(session.KindTitle)) {
				all = append(all, t)
			}
			if damaged(err) || errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		})
		if err != nil {
			yield(rows.Text{}, err)
			return
		}
		slices.SortFunc(all, func(a, b rows.Text) int {
			return cmp.Or(cmp.Compare(b.Event.Micro, a.Event.Micro), cmp.Compare(b.Event.Place, a.Event.Place))
		})
		for _, t := range all {
			if !yield(t, nil) {
				return
			}
		}
	}
}
