package rows

import (
	"context"
	"slices"

	"github.com/stet-dev/stet/record"
)

// What the proxy remembers of conversations: turns, and the forms in which messages were sent.

var (
	putTurn = Turns.Insert() + ` ON CONFLICT (prefix, model, system, tools) DO UPDATE SET ` + larger("turns", "time_us") + `,
		lifetime_ns = excluded.lifetime_ns, account = excluded.account, conversation = excluded.conversation, thread = excluded.thread`
	putForm  = Forms.Insert() + " ON CONFLICT (id) DO NOTHING"
	putPlace = Places.Insert() + " ON CONFLICT (place, key) DO UPDATE SET " + larger("sent_places", "time_us") + ", " +
		"form = CASE WHEN excluded.time_us < sent_places.time_us THEN sent_places.form ELSE excluded.form END, " +
		larger("sent_places", "bound") + ", " + larger("sent_places", "drops")
	putRefusal = Refusals.Insert() + " ON CONFLICT (account) DO UPDATE SET " + larger("refusals", "time_us")
)

// Turns implements record.Store.
func (s *Records) Turns(ctx context.Context, prefixes []uint64) ([]record.Turn, error) {
	condition, list := s.db.Dialect().Among("prefix", prefixes)
	out, err := fetch(ctx, s.db, Turns.Read, "SELECT "+Turns.Columns+" FROM turns WHERE "+condition, list)
	if err != nil || len(out) == 0 {
		return nil, s.explain("read", err)
	}
	var threads []uint64
	for _, t := range out {
		threads = append(threads, t.Thread)
	}
	slices.Sort(threads)
	condition, list = s.db.Dialect().Among("thread", slices.Compact(threads))
	more, err := fetch(ctx, s.db, Turns.Read, "SELECT "+Turns.Columns+" FROM (SELECT "+Turns.Columns+", row_number() OVER (PARTITION BY thread "+
		"ORDER BY time_us DESC) AS nth FROM turns WHERE "+condition+") AS newest WHERE nth <= ?", list, record.ThreadTurns)
	return append(out, more...), s.explain("read", err)
}

// SentForms implements record.Store. It reads places before forms, because a form is written before a place that names it.
func (s *Records) SentForms(ctx context.Context, places []uint64) ([]record.SentPlace, []record.SentForm, error) {
	condition, list := s.db.Dialect().Among("place", places)
	at, err := fetch(ctx, s.db, Places.Read, "SELECT "+Places.Columns+" FROM sent_places WHERE "+condition+" ORDER BY time_us DESC", list)
	if err != nil || len(at) == 0 {
		return nil, nil, s.explain("read", err)
	}
	forms, err := fetch(ctx, s.db, Forms.Read, `WITH RECURSIVE used (id) AS (
			SELECT form FROM sent_places WHERE `+condition+`
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		SELECT `+Forms.Columns+` FROM sent_forms JOIN used USING (id)`, list)
	return at, forms, s.explain("read", err)
}

// Refuses implements record.Store.
func (s *Records) Refuses(ctx context.Context, account uint64) (bool, error) {
	found, err := fetch(ctx, s.db, Refusals.Read, "SELECT "+Refusals.Columns+" FROM refusals WHERE account = ?", int64(account))
	return len(found) > 0, s.explain("read", err)
}

// pruneSent removes the turns and places that are older than since, and the oldest of the rest that exceed l. A form is removed when
// no place needs it. If nothing has to be removed, it only computes a sum: sorting all places or following all forms takes seconds,
// and other writers wait for that time.
func pruneSent(ctx context.Context, tx Conn, l record.Limits, since int64) error {
	if _, err := tx.Exec(ctx, "DELETE FROM turns WHERE time_us < ?", since); err != nil {
		return err
	}
	if l.Turns > 0 {
		_, err := tx.Exec(ctx, `DELETE FROM turns WHERE (prefix, model, system, tools) IN
			(SELECT prefix, model, system, tools FROM turns ORDER BY time_us DESC LIMIT 9223372036854775807 OFFSET ?)`, l.Turns)
		if err != nil {
			return err
		}
	}
	removed, err := tx.Exec(ctx, "DELETE FROM sent_places WHERE time_us < ?", since)
	if err != nil {
		return err
	}
	if l.FormBytes > 0 {
		const sized = " FROM sent_places LEFT JOIN sent_forms ON form = id"
		const size = "sum(64 + coalesce(length(edits), 0))"
		var all int64
		if _, err := One(ctx, tx, "SELECT coalesce("+size+", 0)"+sized, nil, &all); err != nil {
			return err
		}
		if all > l.FormBytes+l.FormBytes/32 { // without this margin, every start would remove a few places
			n, err := tx.Exec(ctx, `DELETE FROM sent_places WHERE (place, key) IN (SELECT place, key FROM (SELECT place, key, `+size+
				` OVER (ORDER BY time_us DESC, place, key ROWS UNBOUNDED PRECEDING) AS size`+sized+`) AS sized WHERE size > ?)`, l.FormBytes)
			if err != nil {
				return err
			}
			removed += n
		}
	}
	if removed == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, `WITH RECURSIVE used (id) AS (
			SELECT form FROM sent_places
			UNION SELECT parent FROM sent_forms JOIN used USING (id))
		DELETE FROM sent_forms WHERE id NOT IN (SELECT id FROM used)`)
	return err
}
