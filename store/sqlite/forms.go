package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/rows"
)

const (
	putForm  = `INSERT INTO sent_forms (id, parent, rules, edits) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	putPlace = `INSERT INTO sent_places (place, form, time_us, bound, drops) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (place, form) DO UPDATE SET time_us = max(time_us, excluded.time_us),
			bound = max(bound, excluded.bound), drops = max(drops, excluded.drops)`
)

// chosenPlaces are those named by a JSON list of numbers.
const chosenPlaces = `sent_places WHERE place IN (SELECT value FROM json_each(?1))`

// numbersOf is a list of numbers, as they are kept, in JSON: for json_each.
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
	// Places are read first: a form is there before a place names it.
	at, err := each(ctx, s.db, `SELECT `+rows.PlaceColumns+` FROM `+chosenPlaces+` ORDER BY time_us DESC`, []any{list}, rows.ScanPlace)
	if err != nil || len(at) == 0 {
		return nil, nil, s.explain("read", err)
	}
	forms, err := each(ctx, s.db, `WITH RECURSIVE used (id) AS (
			SELECT form FROM `+chosenPlaces+`
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		SELECT `+rows.FormColumns+` FROM sent_forms JOIN used USING (id)`,
		[]any{list}, rows.ScanForm)
	return at, forms, s.explain("read", err)
}

// pruneForms removes places that are older than since, and the oldest where there is no room for all. Forms go
// once no place needs them. Where nothing is to be removed it only adds up: to sort all places, or to follow all forms, takes
// seconds, and no one else can write meanwhile.
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
		if all.Int64 > bytes+bytes/32 { // else it would be a few at each start
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
