package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/record"
)

// guard detects that the trail has lost entries. (FILE-11)
//
// A chain of hashes cannot show that entries at its end are missing. So the newest link is also kept in two other places: in the
// table trail_head, and in the memory of each process that has written to the trail. Before an entry is added, both links must be
// in the trail. The link in memory also detects two more cases: a replica took over that did not have all committed entries, or
// an old backup was restored while the process was running.
//
// Pruning may remove the entry that a process remembers, but not within a day after that entry was written.
type guard struct {
	mu      sync.Mutex
	known   record.Link // the newest entry that this process has written
	knownAt time.Time   // when known was set, by the wall clock: it counts the time in which the machine sleeps
}

func (g *guard) wrote(l record.Link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.Seq > g.known.Seq {
		g.known, g.knownAt = l, time.Now().Round(0)
	}
}

// accept sets l as the newest known entry, even if its number is smaller than that of the known one.
func (g *guard) accept(l record.Link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.knownAt = l, time.Now().Round(0)
}

// last returns the newest entry that this process has written, and whether pruning may have removed it.
func (g *guard) last() (known record.Link, prunable bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known, time.Now().Round(0).Sub(g.knownAt) > 24*time.Hour
}

// lost returns the error for a trail that has lost entries. why says how the loss was detected.
func lost(why string) error {
	return fmt.Errorf("%w: %s; the file tools do nothing until a person has run \"stet audit accept\" and started stet again",
		record.ErrLost, why)
}

// hasLink reports whether an entry is in the trail. If another entry has its number, the error is record.ErrLost.
func hasLink(ctx context.Context, q queryer, l record.Link) (bool, error) {
	var hash string
	err := q.QueryRow(ctx, "SELECT hash FROM trail WHERE seq = $1", int64(l.Seq)).Scan(&hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err == nil && hash != l.Hash:
		return false, lost(fmt.Sprintf("entry %d is not the one that was written", l.Seq))
	}
	return err == nil, err
}

// whole returns record.ErrLost if an entry that must be in the trail is missing.
func (s *Store) whole(ctx context.Context, q queryer, head record.Link) error {
	known, prunable := s.guard.last()
	if prunable && known.Seq > 0 {
		var pruned uint64
		if err := q.QueryRow(ctx, "SELECT coalesce(max(intent), 0) FROM trail WHERE kind = 'prune'").Scan(&pruned); err != nil {
			return err
		}
		if known.Seq <= pruned {
			known = record.Link{}
		}
	}
	for _, l := range []record.Link{head, known} {
		if l.Seq == 0 {
			continue
		}
		if there, err := hasLink(ctx, q, l); err != nil {
			return err
		} else if !there {
			return lost(fmt.Sprintf("entry %d, which was written, is not in it any more", l.Seq))
		}
	}
	var end uint64
	if err := q.QueryRow(ctx, "SELECT coalesce(max(seq), 0) FROM trail").Scan(&end); err != nil {
		return err
	}
	if end != head.Seq {
		return lost(fmt.Sprintf("its end is entry %d, and %d is noted", end, head.Seq))
	}
	return nil
}

// CheckTrail returns record.ErrLost if the trail has lost entries. It adds no entry, and therefore does not find every reason why
// adding one could fail. It is quick.
func (s *Store) CheckTrail(ctx context.Context) error {
	_, err := s.Noted(ctx)
	return err
}

// Noted implements record.Noter.
func (s *Store) Noted(ctx context.Context) (links []record.Link, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		var head record.Link
		err := tx.QueryRow(ctx, "SELECT seq, hash FROM trail_head").Scan(&head.Seq, &head.Hash)
		if errors.Is(err, pgx.ErrNoRows) {
			return lost("trail_head, which says how far the trail has reached, is empty")
		}
		if err != nil {
			return err
		}
		known, _ := s.guard.last()
		for _, l := range []record.Link{head, known} {
			if l.Seq > 0 {
				links = append(links, l)
			}
		}
		return s.whole(ctx, tx, head)
	})
	return links, s.explain("look at", err)
}

// snapshot are the options of a read-only transaction in which all statements see the same state of the database.
var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// Ready returns an error if the store cannot be written at the moment, also if the trail has lost entries. It changes nothing.
func (s *Store) Ready(ctx context.Context) error {
	var readOnly bool
	if err := s.pool.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&readOnly); err != nil {
		return s.explain("write to", err)
	}
	if readOnly {
		return s.explain("write to", errors.New("the database is a replica, which takes no writes"))
	}
	return s.CheckTrail(ctx)
}

// AcceptLoss adds an entry to the trail which says that a person knows of lost entries, and returns that entry. by names the
// person. After that the trail takes entries again. Other processes that have the trail open must be restarted. If no entry is
// lost, AcceptLoss writes nothing and returns the zero Entry.
func (s *Store) AcceptLoss(ctx context.Context, by string) (e record.Entry, err error) {
	err = s.transact(ctx, func(tx pgx.Tx) error {
		e = record.Entry{}
		head, err := lockHead(ctx, tx)
		if err == nil {
			err = s.whole(ctx, tx, head)
		}
		if !errors.Is(err, record.ErrLost) {
			return err
		}
		gone := head
		if known, _ := s.guard.last(); known.Seq > gone.Seq {
			gone = known
		}
		var end record.Link
		err = tx.QueryRow(ctx, "SELECT seq, hash FROM trail ORDER BY seq DESC LIMIT 1").Scan(&end.Seq, &end.Hash)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		noted := record.LossEntry(gone, by)
		noted.Time = time.Now()
		chained := record.Chain(end, []record.Entry{noted})
		if _, err := tx.Exec(ctx, "INSERT INTO trail_head (seq, hash) VALUES (0, '') ON CONFLICT DO NOTHING"); err != nil {
			return err
		}
		e = chained[0]
		return extend(ctx, tx, chained)
	})
	if err == nil && e.Seq > 0 {
		s.guard.accept(e.Link())
	}
	return e, s.explain("append to", err)
}
