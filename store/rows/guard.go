package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
)

// Anchor is apart from the trail, and says how far the trail has reached.
type Anchor interface {
	// Noted returns the link in the anchor; the zero Link: there is none. The error is record.ErrLost if the anchor or the database
	// is known to be another one than before. lock is Dialect.ForUpdate if no other process may write to the trail before the end
	// of the transaction. exact says that the link is always the one of the last entry.
	Noted(ctx context.Context, on Conn, lock string) (l record.Link, exact bool, err error)
	// Writable returns an error if the anchor cannot be written. It is called before the transaction begins.
	Writable() error
	// Move returns the statements that move the anchor, if it is moved in the transaction that adds to the trail.
	Move(last record.Link) []Statement
	// Wrote moves the anchor after that transaction. durable says that the commit survives a power failure. accepted says that the
	// anchor moves even if it names a later entry.
	Wrote(last record.Link, durable, accepted bool) error
}

// guard detects that the trail has lost entries.
//
// A chain of hashes cannot show that entries at its end are missing. So the newest link is also kept in two other places: in the
// anchor, and in the memory of each process that has written to the trail. Before an entry is added, both links must be in the
// trail. The link in memory also detects two more cases: a replica took over that did not have all committed entries, or an old
// backup was restored while the process was running.
//
// Pruning may remove the entry that a process remembers, but not within a day after that entry was written. Until then it must be in
// the trail even if a checkpoint says that it was pruned. Otherwise a program that can write to the database could hide a loss with a
// false checkpoint. The entry in the anchor is never pruned, because pruning moves the anchor to its checkpoint.
type guard struct {
	mu      sync.Mutex
	known   record.Link // the newest entry that this process has written
	knownAt time.Time   // when known was set, by the wall clock: it counts the time in which the machine sleeps
}

// set sets l as the newest known entry. Without accepted it does so only if l is a later entry.
func (g *guard) set(l record.Link, accepted bool) record.Link {
	g.mu.Lock()
	defer g.mu.Unlock()
	if accepted || l.Seq > g.known.Seq {
		g.known, g.knownAt = l, time.Now().Round(0)
	}
	return g.known
}

// last returns the newest entry that this process has written, and whether pruning may have removed it.
func (g *guard) last() (known record.Link, prunable bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known, time.Now().Round(0).Sub(g.knownAt) > 24*time.Hour
}

// wrote records that the entry of last is in the trail.
func (s *Records) wrote(last record.Link, durable bool) error {
	return s.anchor.Wrote(s.guard.set(last, false), durable, false)
}

// Lost returns the error for a trail that has lost entries. why says how the loss was detected.
func Lost(why string) error {
	return fmt.Errorf("%w: %s; the file tools do nothing until a person has run \"stet audit accept\" and started stet again",
		record.ErrLost, why)
}

// whole returns the end of the trail, or record.ErrLost if an entry that must be in the trail is missing. lock is as in
// Anchor.Noted.
func (s *Records) whole(ctx context.Context, on Conn, lock string) (end record.Link, err error) {
	noted, exact, err := s.anchor.Noted(ctx, on, lock)
	if err != nil {
		return end, err
	}
	known, prunable := s.guard.last()
	if prunable && known.Seq > 0 {
		var pruned uint64
		if _, err := One(ctx, on, "SELECT coalesce(max(intent), 0) FROM trail WHERE kind = 'prune'", nil, &pruned); err != nil {
			return end, err
		}
		if known.Seq <= pruned {
			known = record.Link{}
		}
	}
	for _, l := range []record.Link{noted, known} {
		if l.Seq == 0 {
			continue
		}
		var hash string
		found, err := One(ctx, on, "SELECT hash FROM trail WHERE seq = ?", []any{int64(l.Seq)}, &hash)
		switch {
		case err != nil:
			return end, err
		case !found:
			return end, Lost(fmt.Sprintf("entry %d, which was written, is not in it any more", l.Seq))
		case hash != l.Hash:
			return end, Lost(fmt.Sprintf("entry %d is not the one that was written", l.Seq))
		}
	}
	if end, err = lastEntry(ctx, on); err == nil && exact && end != noted {
		err = Lost(fmt.Sprintf("its end is entry %d, and %d is noted", end.Seq, noted.Seq))
	}
	return end, err
}

// lastEntry returns the link of the last entry.
func lastEntry(ctx context.Context, on Conn) (end record.Link, err error) {
	_, err = One(ctx, on, "SELECT seq, hash FROM trail ORDER BY seq DESC LIMIT 1", nil, &end.Seq, &end.Hash)
	return end, err
}

// Noted implements record.Noter.
func (s *Records) Noted(ctx context.Context) (links []record.Link, err error) {
	err = s.db.Snapshot(ctx, func(on Conn) (err error) {
		links, err = s.links(ctx, on)
		if err == nil {
			_, err = s.whole(ctx, on, "")
		}
		return err
	})
	return links, s.explain("look at", err)
}

// links returns the links that must be in the trail.
func (s *Records) links(ctx context.Context, on Conn) (all []record.Link, err error) {
	noted, _, err := s.anchor.Noted(ctx, on, "")
	known, _ := s.guard.last()
	for _, l := range []record.Link{known, noted} {
		if l.Seq > 0 {
			all = append(all, l)
		}
	}
	return all, err
}

// CheckTrail returns record.ErrLost if the trail has lost entries. It adds no entry, and therefore does not find every reason why
// adding one could fail. It is quick.
func (s *Records) CheckTrail(ctx context.Context) error {
	_, err := s.Noted(ctx)
	return err
}

// Whole is CheckTrail in a transaction, or on a certain connection.
func (s *Records) Whole(ctx context.Context, on Conn) error {
	_, err := s.whole(ctx, on, "")
	return err
}

// Known returns the newest entry that this process has written.
func (s *Records) Known() record.Link {
	known, _ := s.guard.last()
	return known
}

// AcceptLoss adds an entry to the trail which says that a person knows of lost entries, and returns that entry. by names the
// person. After that the trail takes entries again. Other processes that have the trail open must be restarted. If no entry is
// lost, AcceptLoss writes nothing and returns the zero Entry.
func (s *Records) AcceptLoss(ctx context.Context, by string) (e record.Entry, err error) {
	err = s.db.Transact(ctx, true, func(tx Conn) error {
		e = record.Entry{}
		if _, err := s.whole(ctx, tx, s.db.Dialect().ForUpdate); !errors.Is(err, record.ErrLost) {
			return err
		}
		links, err := s.links(ctx, tx)
		if err != nil && !errors.Is(err, record.ErrLost) {
			return err
		}
		var gone record.Link
		for _, l := range links {
			if l.Seq > gone.Seq {
				gone = l
			}
		}
		end, err := lastEntry(ctx, tx)
		if err != nil {
			return err
		}
		loss := record.LossEntry(gone, by)
		loss.Time = time.Now()
		e = record.Chain(end, []record.Entry{loss})[0]
		return s.add(ctx, tx, []record.Entry{e})
	})
	if err == nil && e.Seq > 0 {
		err = s.anchor.Wrote(s.guard.set(e.Link(), true), true, true)
	}
	return e, s.explain("append to", err)
}
