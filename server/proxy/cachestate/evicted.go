package cachestate

import (
	"maps"
	"slices"

	"github.com/stet-dev/stet/trim"
)

// A turn is stored with hashes of the parts that were left out at its cold points (record.Turn.Elided). So another process can send
// the same messages in the same way. The hashes of some whole messages are stored, too: everything else up to such a message was
// sent whole.
const (
	maxEvicted = 2000 // limit of a request's parts whose hashes are stored
	stride     = 8    // the hash of every stride-th message is stored
	whole      = -1   // the part number that means the whole message
)

// partHash returns the hash of a part of a message with this link. It is the same in every process.
func partHash(link uint64, part int) uint64 { return link ^ uint64(part-whole)*0x9e3779b97f4a7c15 }

// hashes returns record.Turn.Elided of a snapshot.
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

// meeting is what a turn knows of the first messages of a request: which of their parts were left out.
type meeting struct {
	turn  *turn
	until int // it knows the messages before this one
	parts []trim.PartRef
}

// meet returns the turns of a cache key that know something of a request's beginning, the newest first. The caller holds the lock.
func (s *State) meet(r *Request, key Key) (out []meeting) {
	c := r.Chain
	at := make(map[uint64]trim.PartRef)
	for i, link := range c.Links[:c.Stable] {
		for part := range r.Decoded.Messages[c.Skip+i].Parts {
			at[partHash(link, part)] = trim.PartRef{Message: i, Part: part}
		}
		at[partHash(link, whole)] = trim.PartRef{Message: i, Part: whole}
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

// completed adds to the points of another process's turn the parts that were left out of the request's first common messages when
// they were last sent. These may differ from what the turn itself left out. It returns the number of common messages, which grows
// if no turn ends with the last of them. If the cache of the turn is gone, the newest turns of the cache key have priority. The
// caller holds the lock.
func (s *State) completed(r *Request, key Key, points []trim.Point, common int, gone bool) ([]trim.Point, int) {
	met := s.meet(r, key)
	if len(met) == 0 {
		return points, common
	}
	if !gone {
		slices.SortStableFunc(met, func(a, b meeting) int { return b.until - a.until })
	}
	omitted, known := new(trim.Omitted), 0
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
	return append(points[:len(points):len(points)], trim.Point{After: omitted.Messages, Why: trim.Cause(met[0].turn.Moment), Omitted: omitted}), omitted.Messages
}
