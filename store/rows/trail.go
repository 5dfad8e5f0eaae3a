package rows

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/record"
)

// logging is the job of one call of Log.
type logging struct {
	entries []record.Entry
	chained []record.Entry // entries with their numbers and hashes, set when they are written or at an attempt to write them
}

// Log implements record.Trail. Entries that are added during a commit are written together, in the next commit. During a commit
// the end of the chain is locked, so the chain has one writer at a time.
func (s *Records) Log(ctx context.Context, entries ...record.Entry) ([]record.Entry, error) {
	if len(entries) == 0 && !s.db.Closed() {
		return nil, ctx.Err()
	}
	l, err := s.logs.do(ctx, logging{entries: entries}, s.log)
	if err != nil {
		return nil, err
	}
	return l.chained, nil
}

// log writes jobs in one transaction: all of them or none.
func (s *Records) log(jobs []*job[logging]) {
	durable := slices.ContainsFunc(jobs, func(j *job[logging]) bool { return slices.ContainsFunc(j.value.entries, record.Entry.Durable) })
	err := record.ErrClosed
	if !s.db.Closed() {
		err = s.db.Again(context.Background(), func(ctx context.Context, first bool) error {
			return s.extend(ctx, durable, func(tx Conn, end record.Link) ([]record.Entry, error) {
				if done := jobs[0].value.chained; !first && len(done) > 0 {
					last, hash := done[len(done)-1].Link(), ""
					if _, err := One(ctx, tx, "SELECT hash FROM trail WHERE seq = ?", []any{int64(last.Seq)}, &hash); err != nil || hash == last.Hash {
						return nil, err // the interrupted commit has succeeded
					}
				}
				var all []record.Entry
				for _, j := range jobs {
					j.value.chained = record.Chain(end, j.value.entries)
					end = j.value.chained[len(j.value.chained)-1].Link()
					all = append(all, j.value.chained...)
				}
				return all, nil
			})
		})
	}
	if err == nil {
		last := jobs[len(jobs)-1].value.chained
		err = s.wrote(last[len(last)-1].Link(), durable)
	}
	if err != nil {
		failAll(jobs, s.explain("append to", err))
	}
}

// extend adds entries to a trail that is whole, in one transaction. make returns the entries, chained to the end of the trail.
func (s *Records) extend(ctx context.Context, durable bool, make func(tx Conn, end record.Link) ([]record.Entry, error)) error {
	if err := s.anchor.Writable(); err != nil { // before the transaction, because a new connection could open another file
		return err
	}
	return s.db.Transact(ctx, durable, func(tx Conn) error {
		end, err := s.whole(ctx, tx, s.db.Dialect().ForUpdate)
		if err != nil {
			return err
		}
		chained, err := make(tx, end)
		if err != nil || len(chained) == 0 {
			return err
		}
		return s.add(ctx, tx, chained)
	})
}

// add writes entries that are chained already.
func (s *Records) add(ctx context.Context, tx Conn, chained []record.Entry) error {
	return tx.Send(ctx, append([]Statement{put(Trail, Trail.Insert(), chained)}, s.anchor.Move(chained[len(chained)-1].Link())...)...)
}

// Entries implements record.Trail.
func (s *Records) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	repeat := s.db.Repeat
	if q.Session != "" {
		repeat = s.db.Again // the query for one session is quick
	}
	condition := TrailWhere(q)
	statement := "SELECT " + Trail.Columns + " FROM trail WHERE " + condition.String() + " ORDER BY seq"
	if q.Last {
		statement += " DESC"
	}
	if q.Limit > 0 {
		statement += fmt.Sprint(" LIMIT ", q.Limit)
	}
	var out []record.Entry
	err := repeat(ctx, func(ctx context.Context, _ bool) (err error) {
		out, err = Collect(ctx, s.db, Trail.Read, statement, condition.Args...)
		return err
	})
	if q.Last {
		slices.Reverse(out)
	}
	return out, s.explain("read", err)
}

// pruneStep is the maximum number of entries that one transaction removes. Other writers wait for this transaction.
const pruneStep = 10_000

// PruneTrail removes the oldest entries of the trail, and returns their number. before is the time limit: the first entry that is
// not older stays, and so do all entries after it. newest is the smallest number of entries that stay. The last entry always
// stays. An entry with a time in the future was written when the clock was wrong. Such an entry does not stop the removal. by
// names the person or the policy that wants the removal.
//
// The removed part is replaced by a checkpoint, record.PruneEntry. The chain continues from there. Before the removal the whole
// chain is checked: a broken trail is not pruned, because that would remove the evidence. If a suspension is still in force, its
// entry is written again, with its original time.
func (s *Records) PruneTrail(ctx context.Context, before time.Time, newest int, by string) (removed int, err error) {
	if _, n, err := lastPruned(ctx, s.db, before, newest); err != nil || n == 0 {
		return 0, s.explain("prune", err)
	}
	v, err := record.Verify(ctx, s)
	if err != nil {
		return 0, err
	}
	if v.Broken != nil {
		return 0, fmt.Errorf("the trail is broken at entry %d, and is not pruned: %s", v.Broken.Seq, v.Broken.Why)
	}
	for {
		n, err := s.pruneSome(ctx, before, newest, by)
		removed += n
		if err != nil || n < pruneStep {
			return removed, s.explain("prune", err)
		}
	}
}

// pruneSome is one step of PruneTrail: one transaction.
func (s *Records) pruneSome(ctx context.Context, before time.Time, newest int, by string) (removed int, err error) {
	var end record.Link
	err = s.extend(ctx, true, func(tx Conn, head record.Link) ([]record.Entry, error) {
		last, n, err := lastPruned(ctx, tx, before, newest)
		if err != nil || n == 0 {
			return nil, err
		}
		// A suspension until now is written again.
		again, err := Collect(ctx, tx, Trail.Read, "SELECT "+Trail.Columns+` FROM trail AS t WHERE kind = 'suspend' AND seq <= ?
			AND NOT EXISTS (SELECT 1 FROM trail WHERE session = t.session AND kind IN ('suspend', 'resume') AND seq > t.seq) ORDER BY seq`, int64(last.Seq))
		if err != nil {
			return nil, err
		}
		checkpoint := record.PruneEntry(last, n, by)
		checkpoint.Time = time.Now()
		chained := record.Chain(head, append(again, checkpoint))
		end, removed = chained[len(chained)-1].Link(), n
		if err := s.add(ctx, tx, chained); err != nil { // before the removal, which needs the checkpoint
			return nil, err
		}
		_, err = tx.Exec(ctx, "DELETE FROM trail WHERE seq <= ?", int64(last.Seq))
		return nil, err
	})
	if err != nil || removed == 0 {
		return 0, err
	}
	return removed, s.wrote(end, true)
}

// lastPruned returns the newest entry that one step may remove, and how many entries the step removes. The first entry that is
// not older than before stays, and so do all after it, at least newest entries, and the end of the chain.
func lastPruned(ctx context.Context, on Conn, before time.Time, newest int) (last record.Link, removed int, err error) {
	var first, end, kept uint64 // the oldest entry, the newest entry, and the oldest entry that is not too old
	_, err = One(ctx, on, `SELECT coalesce(min(seq), 1), coalesce(max(seq), 0),
		coalesce((SELECT seq FROM trail WHERE time_us BETWEEN ? AND ? ORDER BY seq LIMIT 1), coalesce(max(seq), 0) + 1) FROM trail`,
		[]any{CeilMicro(before), time.Now().UnixMicro()}, &first, &end, &kept)
	if err != nil {
		return last, 0, err
	}
	stay := uint64(max(newest, 1))
	if end < stay {
		return last, 0, nil
	}
	last.Seq = min(kept-1, end-stay, first+pruneStep-1)
	if last.Seq < first {
		return last, 0, nil
	}
	_, err = One(ctx, on, "SELECT hash FROM trail WHERE seq = ?", []any{int64(last.Seq)}, &last.Hash)
	return last, int(last.Seq - first + 1), err
}
