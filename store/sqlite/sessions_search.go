package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// indexing is how many events are indexed in one transaction: others wait
// meanwhile.
const indexing = 200

// Search implements session.Store. The index is brought up to date first; it
// tells which events may hold the words, and their text decides.
func (s *Sessions) Search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	words = slices.Clone(words)
	for i := range words {
		words[i] = session.Folded(words[i])
	}
	if len(words) == 0 && !s.file.closed.Load() {
		return nil, ctx.Err()
	}
	if s.broken != nil {
		return nil, s.broken // the index may be what is broken
	}
	if err := s.index(ctx); err != nil {
		return nil, s.explain("index", err)
	}
	out, err := s.search(ctx, words, limit)
	return out, s.explain("search", err)
}

func (s *Sessions) search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	statement, args := "SELECT place FROM events WHERE kind IN (?, ?)", []any{string(session.KindMessage), string(session.KindTitle)}
	if match := trigrams(words); match != "" {
		statement, args = statement+" AND place IN (SELECT rowid FROM words WHERE words MATCH ?)", append(args, match)
	}
	places, err := each(ctx, s.file.db, statement+" ORDER BY time_us DESC, place DESC", args, func(r rows.Row) (place int64, err error) {
		return place, r.Scan(&place)
	})
	if err != nil {
		return nil, err
	}
	ids := map[int64]string{}
	var out []session.Hit
	for _, place := range places {
		r, err := s.row(ctx, place)
		if damaged(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, err := r.Decode()
		if err != nil || !e.Matches(words) {
			continue // damaged, or the letters stand elsewhere than together
		}
		if ids[r.Key] == "" {
			var id string
			if err := s.file.db.QueryRowContext(ctx, "SELECT id FROM sessions WHERE key = ?", r.Key).Scan(&id); err != nil {
				return nil, err
			}
			ids[r.Key] = id
		}
		out = append(out, session.Hit{Session: ids[r.Key], Event: e})
		if len(out) == limit {
			break
		}
	}
	return out, nil
}

// trigrams is what the index is asked for: every three characters of every
// word. It is empty where no word has three.
func trigrams(words []string) string {
	var all []string
	for _, w := range words {
		r := []rune(w)
		for i := 0; i+3 <= len(r); i++ {
			all = append(all, `"`+strings.ReplaceAll(string(r[i:i+3]), `"`, `""`)+`"`)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " AND ")
}

// index adds to the index what was appended since the last time.
func (s *Sessions) index(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = s.indexSome(ctx); err != nil {
			return err
		}
	}
	return nil
}

// indexSome indexes some events, and reports whether more may be left.
func (s *Sessions) indexSome(ctx context.Context) (more bool, err error) {
	const behind = "SELECT place, (SELECT ifnull(max(place), 0) FROM events) FROM words_until"
	var done, end int64
	if err := s.file.db.QueryRowContext(ctx, behind).Scan(&done, &end); err != nil || done >= end {
		return false, err
	}
	tx, err := s.file.db.BeginTx(ctx, nil) // alone from here on: what others did meanwhile counts
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to do after a commit
	if err := tx.QueryRowContext(ctx, behind).Scan(&done, &end); err != nil {
		return false, err
	}
	until := min(end, done+indexing)
	for place := done + 1; place <= until; place++ {
		r, err := rows.ScanEvent(tx.QueryRowContext(ctx, "SELECT "+rows.EventColumns+" FROM events WHERE place = ?", place))
		if damaged(err) || errors.Is(err, sql.ErrNoRows) {
			continue // what cannot be read cannot be found
		}
		if err != nil {
			return false, err
		}
		e, err := r.Decode()
		if err != nil || e.Text() == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", place, e.Text()); err != nil {
			return false, err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE words_until SET place = ?", until); err != nil {
		return false, err
	}
	return until < end, tx.Commit()
}
