package cachestate

import (
	"maps"
	"slices"

	"github.com/stet-dev/stet/history"
)

// What was left out of a request at its cold points is stored with its turn as hashes of parts
// (record.Turn.Elided), so that another process can send the same messages in the same way. The hashes of some
// messages are stored, too: all else up to such a message was sent whole.
const (
	maxEvicted = 2000 // parts of a request whose hashes are stored
	stride     = 8    // every so many messages the hash of the message is stored
	whole      = -1   // the part number of a message as a whole
)

// partHash tells a part of a message, whose link it is, from all others. It is the same in every process.
func partHash(link uint64, part int) uint64 { return link ^ uint64(part-whole)*0x9e3779b97f4a7c15 }

// hashes is what record.Turn.Elided has of a snapshot.
func (n *Snapshot) hashes() (out []uint64) {
	for _, ref := range n.evicted[:min(len(n.evicted), maxEvicted)] {
		out = append(out, partHash(n.links[ref.Message], ref.Part))
	}
	for i, link := range n.links {
		if i%stride == stride-1 && i < stride*maxEvicted || i >= n.stable-1 {
			out = append(out, partHash(link, whole))
		}
	}
	return out
}

// meeting is what a turn says of the first messages of a request: which parts of them were left out.
type meeting struct {
	turn  *turn
	until int // it says something of the messages before this one
	parts []history.PartRef
}

// meet finds the turns of a cache key that say something of a request's beginning, the newest
// first. The caller holds the lock.
func (s *State) meet(r *Request, key Key) (out []meeting) {
	c := r.Chain
	at := make(map[uint64]history.PartRef)
	for i, link := range c.Links[:c.Stable] {
		for part := range r.Decoded.Messages[c.Skip+i].Parts {
			at[partHash(link, part)] = history.PartRef{Message: i, Part: part}
		}
		at[partHash(link, whole)] = history.PartRef{Message: i, Part: whole}
	}
	for _, t := range slices.SortedFunc(maps.Keys(s.evicted[key]), newestFirst) {
		m := meeting{turn: t}
		for _, hash := range t.Elided {
			ref, ok := at[hash]
			if !ok {
				continue
			}
			if m.until = max(m.until, ref.Message+1); ref.Part != whole {
				m.parts = append(m.parts, ref)
			}
		}
		if m.until > 0 {
			out = append(out, m)
		}
	}
	return out
}

// completed adds to the points of a turn of another process what was left out of the first common
// messages of a request when they were sent last. That may differ from what the turn itself left out. It
// returns how many messages these are: more, where no turn ends with the last of them. Where the cache of
// the turn is gone, the newest turns of the cache key count first. The caller holds the lock.
func (s *State) completed(r *Request, key Key, points []history.Point, common int, gone bool) ([]history.Point, int) {
	met := s.meet(r, key)
	if len(met) == 0 {
		return points, common
	}
	if !gone {
		slices.SortStableFunc(met, func(a, b meeting) int { return b.until - a.until })
	}
	omitted, known := new(history.Omitted), 0
	for _, m := range met {
		for _, ref := range m.parts {
			if ref.Message >= known {
				omitted.Parts = append(omitted.Parts, ref)
			}
		}
		known = max(known, m.until)
	}
	omitted.Messages = max(common, known)
	if n := len(points); n > 0 && points[n-1].After == omitted.Messages {
		points = points[:n-1]
	}
	return append(points[:len(points):len(points)], history.Point{After: omitted.Messages, Why: history.Cause(met[0].turn.Moment), Omitted: omitted}), omitted.Messages
}
