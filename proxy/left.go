package proxy

import (
	"maps"
	"slices"

	"github.com/stet-dev/stet/history"
)

const (
	maxLeft = 2000 // parts of a request that are remembered, for another process, to have been left out
	stride  = 8    // every so many messages are remembered with them, up to which all else was sent whole
	whole   = -1   // the part of a message that is remembered so
)

// partHash tells a part of a message, whose link it is, from all others; it is the same
// in every process.
func partHash(link uint64, part int) uint64 { return link ^ uint64(part-whole)*0x9e3779b97f4a7c15 }

// elided is what record.Turn.Elided has of s.
func (s *sent) elided() []uint64 {
	var out []uint64
	for _, spot := range s.left[:min(len(s.left), maxLeft)] {
		out = append(out, partHash(s.links[spot.Message], spot.Part))
	}
	for i, link := range s.links {
		if i%stride == stride-1 && i < stride*maxLeft || i >= s.stable-1 {
			out = append(out, partHash(link, whole))
		}
	}
	return out
}

// met are the turns of a line that say something of a request's beginning, the newest
// first. The caller holds the lock.
func (m *memory) met(l line, d *reading) (out []meeting) {
	at := make(map[uint64]history.PartRef)
	for i, link := range d.chain.links[:d.chain.stable] {
		for part := range d.request.Messages[d.chain.skip+i].Parts {
			at[partHash(link, part)] = history.PartRef{Message: i, Part: part}
		}
		at[partHash(link, whole)] = history.PartRef{Message: i, Part: whole}
	}
	for _, k := range slices.SortedFunc(maps.Keys(m.elided[l]), newest) {
		if meets := k.meets(at); meets.until > 0 {
			out = append(out, meets)
		}
	}
	return out
}

// recalled completes the breaks that a turn of another process was planned with, the
// first common messages of d, by what had left of them when they were sent last: with others
// behind them, it may be. It returns how many these are: more, where no turn ends with
// the last of them. Where the turn's own cache is gone, what others of its line
// have in common with it counts. The caller holds the lock.
func (m *memory) recalled(l line, breaks []history.Point, common int, d *reading, gone bool) ([]history.Point, int) {
	met := m.met(l, d)
	if len(met) == 0 {
		return breaks, common
	}
	if !gone {
		slices.SortStableFunc(met, func(a, b meeting) int { return b.until - a.until })
	}
	left, known := new(history.Omitted), 0
	for _, one := range met {
		for _, spot := range one.left {
			if spot.Message >= known {
				left.Parts = append(left.Parts, spot)
			}
		}
		known = max(known, one.until)
	}
	left.Messages = max(common, known)
	if n := len(breaks); n > 0 && breaks[n-1].After == left.Messages {
		breaks = breaks[:n-1]
	}
	return append(breaks, history.Point{After: left.Messages, Why: history.Cause(met[0].Moment), Omitted: left}), left.Messages
}

// meeting is what a turn says of a request: what had left of its first messages.
type meeting struct {
	*known
	until int
	left  []history.PartRef
}

// meets looks what k says up in the parts and messages of a request, by their hashes.
func (k *known) meets(at map[uint64]history.PartRef) (out meeting) {
	out.known = k
	for _, hash := range k.Elided {
		spot, ok := at[hash]
		if !ok {
			continue
		}
		if out.until = max(out.until, spot.Message+1); spot.Part != whole {
			out.left = append(out.left, spot)
		}
	}
	return out
}
