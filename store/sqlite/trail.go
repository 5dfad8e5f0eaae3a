package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// trailColumns are the columns of trail, in the order of trailValues.
const trailColumns = `seq, time_us, prev, hash, kind, intent, root, session, client, call_id, tool, path, bytes,
	before, after, decision, by, outcome, flags, request`

var insertTrail = `INSERT INTO trail (` + trailColumns + `) VALUES (` + marks(trailColumns) + `)`

// Log implements record.Trail. The end of the chain is read in the transaction
// that appends to it, which no other process can share.
func (s *Store) Log(ctx context.Context, entries ...record.Entry) ([]record.Entry, error) {
	if len(entries) == 0 && !s.closed.Load() {
		return nil, ctx.Err()
	}
	db := s.db
	if slices.ContainsFunc(entries, record.Entry.Durable) {
		db = s.synced
	}
	chained, err := s.chain(ctx, db, entries)
	return chained, s.explain("append to", err)
}

func (s *Store) chain(ctx context.Context, db *sql.DB, entries []record.Entry) ([]record.Entry, error) {
	if err := errors.Join(s.guard.files(), s.guard.writable()); err != nil { // before a new connection opens another file
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to do after a commit
	if err := s.whole(ctx, tx); err != nil {
		return nil, err
	}
	chained, err := extend(ctx, tx, entries)
	if err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	if err := s.guard.wrote(chained[len(chained)-1].Link(), db == s.synced); err != nil {
		return nil, err
	}
	return chained, s.guard.files() // what went to a file that was removed meanwhile is not in the trail
}

// extend appends to the end of the chain.
func extend(ctx context.Context, tx *sql.Tx, entries []record.Entry) ([]record.Entry, error) {
	var last record.Link
	err := tx.QueryRowContext(ctx, "SELECT seq, hash FROM trail ORDER BY seq DESC LIMIT 1").Scan(&last.Seq, &last.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	chained := record.Chain(last, entries)
	return chained, insert(ctx, tx, insertTrail, chained, trailValues)
}

func trailValues(e record.Entry) []any {
	return []any{
		int64(e.Seq), e.Time.UnixMicro(), e.Prev, e.Hash, string(e.Kind), int64(e.Intent), e.Root, e.Session, e.Client, e.CallID,
		e.Tool, e.Path, e.Bytes, e.Before, e.After, e.Decision, e.By, e.Outcome, texts(e.Flags), e.Request,
	}
}

// Entries implements record.Trail.
func (s *Store) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	conditions, args := []string{"seq > ?"}, []any{int64(q.After)}
	add := func(condition string, arg any) {
		conditions, args = append(conditions, condition), append(args, arg)
	}
	if !q.From.IsZero() {
		add("time_us >= ?", ceilMicro(q.From))
	}
	if !q.To.IsZero() {
		add("time_us < ?", ceilMicro(q.To))
	}
	if q.Root != "" {
		add("root = ?", q.Root)
	}
	if q.Session != "" {
		add("session = ?", q.Session)
	}
	if q.CallID != "" {
		add("request <> '' AND call_id = ?", q.CallID)
	}
	if len(q.Kinds) > 0 {
		conditions = append(conditions, "kind IN (?"+strings.Repeat(", ?", len(q.Kinds)-1)+")")
		for _, k := range q.Kinds {
			args = append(args, string(k))
		}
	}
	statement := "SELECT " + trailColumns + " FROM trail WHERE " + strings.Join(conditions, " AND ") + " ORDER BY seq"
	if q.Last {
		statement += " DESC"
	}
	if q.Limit > 0 {
		statement += " LIMIT ?"
		args = append(args, q.Limit)
	}
	out, err := each(ctx, s.db, statement, args, scanEntry)
	if q.Last {
		slices.Reverse(out)
	}
	return out, s.explain("read", err)
}

func scanEntry(rows *sql.Rows) (e record.Entry, err error) {
	var at int64
	var flags string
	if err := rows.Scan(&e.Seq, &at, &e.Prev, &e.Hash, &e.Kind, &e.Intent, &e.Root, &e.Session, &e.Client, &e.CallID,
		&e.Tool, &e.Path, &e.Bytes, &e.Before, &e.After, &e.Decision, &e.By, &e.Outcome, &flags, &e.Request); err != nil {
		return e, err
	}
	e.Time = time.UnixMicro(at).UTC()
	if flags != "[]" && json.Unmarshal([]byte(flags), &e.Flags) != nil {
		e.Flags = []string{flags} // it was changed by another program: the hash shows that, and the rest can be read
	}
	return e, nil
}
