package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Index builds filters for the events that were appended since the last time. It builds only full segments. A search calls it
// first. If the filters are damaged, Index builds none, and searches read all events. progress may be nil. It gets the number of
// events that are done, and the number of events to do.
func (s *Sessions) Index(ctx context.Context, progress func(done, of int64)) error {
	if s.broken != nil {
		return nil // nothing can be written
	}
	err := s.index(ctx, progress)
	if damaged(err) {
		return nil
	}
	return s.explain("index", err)
}

func (s *Sessions) index(ctx context.Context, progress func(done, of int64)) error {
	first := int64(-1)
	for {
		end, err := indexed(ctx, s.file.db)
		if err != nil {
			return err
		}
		if full, err := s.fills(ctx, end); !full {
			return err
		}
		var last int64
		if err := s.file.db.QueryRowContext(ctx, "SELECT max(place) FROM events").Scan(&last); err != nil {
			return err
		}
		if first < 0 {
			first = end
		}
		if progress != nil {
			progress(end-first, last-first)
		}
		if more, err := s.indexSegment(ctx, end, last); !more {
			return err
		}
	}
}

// fills reports whether the messages after a place fill a segment.
func (s *Sessions) fills(ctx context.Context, after int64) (bool, error) {
	sizes, err := s.file.db.QueryContext(ctx, "SELECT octet_length(body) FROM events WHERE place > ? AND "+searched+" ORDER BY place", after)
	if err != nil {
		return false, err
	}
	defer sizes.Close()
	for all := 0; sizes.Next(); {
		var size int
		if err := sizes.Scan(&size); err != nil {
			return false, err
		}
		if all += size; all >= segmentBytes {
			return true, nil
		}
	}
	if err := sizes.Err(); !damaged(err) {
		return false, err
	}
	return false, nil // a search reads the remaining events, and skips damaged ones
}

// indexLater builds filters in the background when the appended bytes may fill a segment. The caller holds the right to commit,
// so Close has not returned.
func (s *Sessions) indexLater(appended int64) {
	if s.unindexed.Add(appended) < segmentBytes || !s.indexing.CompareAndSwap(false, true) {
		return
	}
	s.unindexed.Store(0)
	s.background.Go(func() {
		defer s.indexing.Store(false)
		_ = s.index(s.until, nil) // after an error, the next search tries again and returns the error
	})
}

// indexed returns the place of the last message that is in a segment.
func indexed(ctx context.Context, q queryer) (int64, error) {
	var packed []byte
	err := q.QueryRowContext(ctx, "SELECT blocks FROM words_blocks ORDER BY segment DESC LIMIT 1").Scan(&packed)
	if blocks := unpackBlocks(packed); len(blocks) > 0 {
		return blocks[len(blocks)-1].until, nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return 0, err
}

// indexSegment builds the next segment, from the messages after the place after up to the place until. more is false if there is
// no message that can be read, or if it fails.
func (s *Sessions) indexSegment(ctx context.Context, after, until int64) (more bool, err error) {
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	var blocks []block
	var filters []*hashes
	var waiting []rows.Event // messages of the block that is not complete
	var size, all int
	done := func() {
		if len(waiting) == 0 {
			return
		}
		h, of := new(hashes), waiting
		b := block{until: of[len(of)-1].Place, newest: of[0].Micro}
		for _, r := range of {
			b.newest = max(b.newest, r.Micro)
		}
		blocks, filters, waiting, size = append(blocks, b), append(filters, h), nil, 0
		work.Go(func() error {
			for _, r := range of {
				if e, err := r.Decode(); err == nil { // a damaged event is not found by searches
					h.add(e.Text())
				}
			}
			return nil
		})
	}
	err = s.messages(ctx, after, until, func(r rows.Event) bool {
		waiting, size, all = append(waiting, r), size+len(r.Body), all+len(r.Body)
		if size >= blockBytes || all >= segmentBytes {
			done()
		}
		return all < segmentBytes
	})
	done() // if some messages could not be read, the segment is smaller
	if err := errors.Join(err, work.Wait()); err != nil || len(blocks) == 0 {
		return false, err
	}
	err = s.putSegment(ctx, after, blocks, table(filters))
	return err == nil, err
}

// putSegment stores a segment, unless another process has stored it.
func (s *Sessions) putSegment(ctx context.Context, after int64, blocks []block, bits [][]byte) error {
	tx, err := s.file.db.BeginTx(ctx, nil) // takes the lock for writing; the check below sees what other processes have written before
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // fails after a commit, which is not an error
	if end, err := indexed(ctx, tx); err != nil || end != after {
		return err
	}
	made, err := tx.ExecContext(ctx, "INSERT INTO words_blocks (blocks) VALUES (?)", packBlocks(blocks))
	if err != nil {
		return err
	}
	segment, err := made.LastInsertId()
	if err != nil {
		return err
	}
	put, err := tx.PrepareContext(ctx, "INSERT INTO words_bits (key, bits) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer put.Close()
	for i, part := range bits {
		if _, err := put.ExecContext(ctx, segment*partsKey+int64(i), part); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// searched selects the kinds of events that have a text.
const searched = "kind IN ('" + string(session.KindMessage) + "', '" + string(session.KindTitle) + "')"

// messages calls fn with the events that have a text, after the place after up to the place until, in order. It stops when fn
// returns false. Rows that cannot be read are left out.
func (s *Sessions) messages(ctx context.Context, after, until int64, fn func(rows.Event) bool) error {
	found, err := s.file.db.QueryContext(ctx, "SELECT "+rows.EventColumns+" FROM events WHERE place > ? AND place <= ? AND "+searched+" ORDER BY place", after, until)
	if err != nil && !damaged(err) {
		return err
	}
	if err == nil {
		defer found.Close()
		for found.Next() {
			r, err := rows.ScanEvent(found)
			if err != nil {
				return err
			}
			if after = r.Place; !fn(r) {
				return nil
			}
		}
		err = found.Err()
	}
	if !damaged(err) {
		return err
	}
	for place := after + 1; place <= until; place++ {
		r, err := s.row(ctx, place)
		switch {
		case damaged(err) || errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case r.Kind != string(session.KindMessage) && r.Kind != string(session.KindTitle):
		case !fn(r):
			return nil
		}
	}
	return nil
}
