package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/rows"
)

// Search implements session.Store. It first builds missing filters. The filters tell which events may have the words. Then the
// texts of these events are read.
func (s *Sessions) Search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	words = slices.Clone(words)
	for i := range words {
		words[i] = session.Folded(words[i])
	}
	if len(words) == 0 && !s.file.closed.Load() {
		return nil, ctx.Err()
	}
	if s.broken != nil {
		return nil, s.broken // the filters may be damaged too
	}
	if err := s.Index(ctx, nil); err != nil {
		return nil, err
	}
	out, err := s.search(ctx, words, limit)
	return out, s.explain("search", err)
}

// placeRange is a range of places whose events may have the words.
type placeRange struct {
	after, until int64 // places: from after + 1 to until
	newest       int64 // time of its newest message or later, in microseconds
}

// found is an event that has the words.
type found struct {
	key, micro, place int64
	event             session.Event
}

func (s *Sessions) search(ctx context.Context, words []string, limit int) ([]session.Hit, error) {
	placeRanges, err := s.placeRanges(ctx, wordHashes(words))
	if err != nil {
		return nil, err
	}
	var all []found
	for _, at := range placeRanges {
		if limit > 0 && len(all) >= limit && all[limit-1].micro > at.newest {
			break // all messages in the remaining ranges are older
		}
		n := len(all)
		err := s.messages(ctx, at.after, at.until, func(r rows.Event) bool {
			if !session.MayMatch(r.Body, words) {
				return true
			}
			if e, err := r.Decode(); err == nil && e.Matches(words) {
				all = append(all, found{r.Key, r.Micro, r.Place, e})
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if len(all) > n && limit > 0 {
			slices.SortFunc(all, newestFirst)
			all = all[:min(len(all), limit)]
		}
	}
	slices.SortFunc(all, newestFirst)
	return s.hits(ctx, all)
}

func newestFirst(a, b found) int {
	return cmp.Or(cmp.Compare(b.micro, a.micro), cmp.Compare(b.place, a.place))
}

// placeRanges returns where texts with these hashes may be. Ranges with the newest messages are first. If the filters are
// damaged, the result is one range with all events.
func (s *Sessions) placeRanges(ctx context.Context, of []uint32) ([]placeRange, error) {
	out, end, err := s.filtered(ctx, of)
	if damaged(err) {
		out, end, err = nil, 0, nil
	}
	if err != nil {
		return nil, err
	}
	var last int64
	if err := s.file.db.QueryRowContext(ctx, "SELECT ifnull(max(place), 0) FROM events").Scan(&last); err != nil {
		return nil, err
	}
	out = append(out, placeRange{end, last, math.MaxInt64}) // events that are in no segment yet
	slices.SortStableFunc(out, func(a, b placeRange) int { return cmp.Compare(b.newest, a.newest) })
	return out, nil
}

// filtered returns the blocks that may have texts with these hashes, and the place of the last message in the last block.
func (s *Sessions) filtered(ctx context.Context, of []uint32) (out []placeRange, end int64, err error) {
	segments, err := s.file.db.QueryContext(ctx, filterStatement(of))
	if err != nil {
		return nil, 0, err
	}
	defer segments.Close()
	for segments.Next() {
		var packed sql.RawBytes
		bits := make([]sql.RawBytes, len(of))
		to := []any{&packed}
		for i := range bits {
			to = append(to, &bits[i])
		}
		if err := segments.Scan(to...); err != nil {
			return nil, 0, err
		}
		blocks := unpackBlocks(packed)
		for _, i := range inAll(bits, len(blocks)) {
			after := end
			if i > 0 {
				after = blocks[i-1].until
			}
			out = append(out, placeRange{after, blocks[i].until, blocks[i].newest})
		}
		if len(blocks) > 0 {
			end = blocks[len(blocks)-1].until
		}
	}
	return out, end, segments.Err()
}

// hits adds the session ids to the found events.
func (s *Sessions) hits(ctx context.Context, all []found) (out []session.Hit, err error) {
	ids := map[int64]string{}
	for _, f := range all {
		id, ok := ids[f.key]
		if !ok {
			if err := s.file.db.QueryRowContext(ctx, "SELECT id FROM sessions WHERE key = ?", f.key).Scan(&id); err != nil {
				return nil, err
			}
			ids[f.key] = id
		}
		out = append(out, session.Hit{Session: id, Event: f.event})
	}
	return out, nil
}
