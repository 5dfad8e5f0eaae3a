package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

const (
	putForm  = `INSERT INTO sent_forms (id, parent, edits) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`
	putPlace = `INSERT INTO sent_places (place, form, time_us, bound, drops) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (place, form) DO UPDATE SET time_us = max(time_us, excluded.time_us),
			bound = max(bound, excluded.bound), drops = max(drops, excluded.drops)`
)

// chosenPlaces selects the places of a JSON list of numbers.
const chosenPlaces = `sent_places WHERE place IN (SELECT value FROM json_each(?1))`

// selectPlaces reads the places of a list, the newest first. The proxy waits for it at the first request of a conversation.
var selectPlaces = `SELECT ` + rows.Places.Columns + ` FROM ` + chosenPlaces + ` ORDER BY time_us DESC`

// numbersOf returns numbers as a JSON list for json_each, converted to the type of the columns.
func numbersOf(list []uint64) (string, error) {
	numbers := make([]int64, len(list))
	for i, p := range list {
		numbers[i] = int64(p)
	}
	text, err := json.Marshal(numbers)
	return string(text), err
}

// SentForms implements record.Store.
func (s *Store) SentForms(ctx context.Context, places []uint64) ([]record.SentPlace, []record.SentForm, error) {
	list, err := numbersOf(places)
	if err != nil {
		return nil, nil, err
	}
	// Places are read before forms, because a form is written before a place that names it.
	found, err := s.places.QueryContext(ctx, list)
	at, err := collect(found, err, rows.Places.Read)
	if err != nil || len(at) == 0 {
		return nil, nil, s.explain("read", err)
	}
	forms, err := each(ctx, s.db, `WITH RECURSIVE used (id) AS (
			SELECT form FROM `+chosenPlaces+`
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		SELECT `+rows.Forms.Columns+` FROM sent_forms JOIN used USING (id)`,
		[]any{list}, rows.Forms.Read)
	return at, forms, s.explain("read", err)
}

// pruneForms removes places that are older than since. If the rest needs more than bytes, it also removes the oldest places. A
// form is removed when no place needs it. If nothing has to be removed, pruneForms only computes a sum. Sorting all places or
// following all forms takes seconds, and other writers wait for that time.
func pruneForms(ctx context.Context, tx *sql.Tx, since, bytes int64) error {
	var removed int64
	remove := func(query string, argument int64) error {
		done, err := tx.ExecContext(ctx, query, argument)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		removed += n
		return err
	}
	if err := remove(`DELETE FROM sent_places WHERE time_us < ?`, since); err != nil {
		return err
	}
	if bytes > 0 {
		const sized = `FROM sent_places LEFT JOIN sent_forms ON form = id`
		const size = `sum(64 + coalesce(length(edits), 0))`
		var all sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT `+size+` `+sized).Scan(&all); err != nil {
			return err
		}
		if all.Int64 > bytes+bytes/32 { // without this margin, every start would remove a few places
			err := remove(`DELETE FROM sent_places WHERE (place, form) IN (SELECT place, form FROM (
				SELECT place, form, `+size+` OVER (ORDER BY time_us DESC, place, form ROWS UNBOUNDED PRECEDING) AS size `+sized+`) WHERE size > ?)`, bytes)
			if err != nil {
				return err
			}
		}
	}
	if removed == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `WITH RECURSIVE used (id) AS (
			SELECT form FROM sent_places
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		DELETE FROM sent_forms WHERE id NOT IN (SELECT id FROM used)`)
	return err
}
