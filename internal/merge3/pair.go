package merge3

import (
	"slices"

	"github.com/stet-dev/stet/internal/diff"
)

// pair compares the changes of both sides. A change of one side, with at least one line between it and the other side's changes, is
// a hunk of that side. Equal changes are no hunk. All others are conflicts.
func (m *merger) pair(mine, yours []diff.Change) {
	shiftMine, shiftYours := 0, 0 // offsets from a line of base to ours and theirs, between changes
	for len(mine) > 0 || len(yours) > 0 {
		switch {
		case len(yours) == 0 || len(mine) > 0 && mine[0].A1 < yours[0].A0:
			c := mine[0]
			m.add(Hunk{Ours, Range{c.A0, c.A1}, Range{c.B0, c.B1}, Range{c.A0 + shiftYours, c.A1 + shiftYours}, Range{}})
			shiftMine, mine = c.B1-c.A1, mine[1:]
			continue
		case len(mine) == 0 || yours[0].A1 < mine[0].A0:
			c := yours[0]
			m.add(Hunk{Theirs, Range{c.A0, c.A1}, Range{c.A0 + shiftMine, c.A1 + shiftMine}, Range{c.B0, c.B1}, Range{}})
			shiftYours, yours = c.B1-c.A1, yours[1:]
			continue
		}
		x, y := mine[0], yours[0]
		if !m.equal(x, y) {
			start, end := min(x.A0, y.A0), max(x.A1, y.A1)
			m.add(Hunk{
				Kind:   Conflict,
				Base:   Range{start, end},
				Ours:   Range{x.B0 - (x.A0 - start), x.B1 + (end - x.A1)},
				Theirs: Range{y.B0 - (y.A0 - start), y.B1 + (end - y.A1)},
			})
		}
		if x.A1 <= y.A1 {
			shiftMine, mine = x.B1-x.A1, mine[1:]
		}
		if y.A1 <= x.A1 {
			shiftYours, yours = y.B1-y.A1, yours[1:]
		}
	}
}

func (m *merger) equal(x, y diff.Change) bool {
	return x.A0 == y.A0 && x.A1 == y.A1 &&
		slices.Equal(m.ours.numbers[x.B0:x.B1], m.theirs.numbers[y.B0:y.B1])
}

// add appends a hunk, or joins it with the last one if they touch.
func (m *merger) add(h Hunk) {
	if n := len(m.hunks); n > 0 {
		last := &m.hunks[n-1]
		if h.Ours.Start <= last.Ours.End || h.Theirs.Start <= last.Theirs.End {
			if h.Kind != last.Kind {
				last.Kind = Conflict
			}
			last.Base.End, last.Ours.End, last.Theirs.End = h.Base.End, h.Ours.End, h.Theirs.End
			return
		}
	}
	m.hunks = append(m.hunks, h)
}

// doubt joins all hunks into one conflict.
func (m *merger) doubt() {
	if len(m.hunks) == 0 {
		return
	}
	all, last := m.hunks[0], m.hunks[len(m.hunks)-1]
	all.Kind = Conflict
	all.Base.End, all.Ours.End, all.Theirs.End = last.Base.End, last.Ours.End, last.Theirs.End
	m.hunks = []Hunk{all}
}

// narrow compares the two sides of every conflict and keeps the parts that differ. If one side is empty, there is nothing to
// compare.
func (m *merger) narrow(a *diff.Aligner) {
	var hunks []Hunk
	for _, h := range m.hunks {
		if h.Kind != Conflict || h.Ours.lines() == 0 || h.Theirs.lines() == 0 {
			hunks = append(hunks, h)
			continue
		}
		ours := m.ours.numbers[h.Ours.Start:h.Ours.End]
		theirs := m.theirs.numbers[h.Theirs.Start:h.Theirs.End]
		differ := a.Align(ours, theirs, len(m.lines))
		if len(differ) == 0 {
			h.Kind = same
			hunks = append(hunks, h)
		}
		for _, c := range differ {
			hunks = append(hunks, Hunk{
				Kind:   Conflict,
				Base:   h.Base,
				Ours:   Range{h.Ours.Start + c.A0, h.Ours.Start + c.A1},
				Theirs: Range{h.Theirs.Start + c.B0, h.Theirs.Start + c.B1},
			})
		}
	}
	m.hunks = hunks
}

// maxBetween is the number of common lines between two conflicts up to which they are joined: separate markers would take more
// lines.
const maxBetween = 3

// join joins conflicts that are close together.
func (m *merger) join() {
	var hunks []Hunk
	for _, h := range m.hunks {
		if n := len(hunks); n > 0 && h.Kind == Conflict && hunks[n-1].Kind == Conflict {
			last := &hunks[n-1]
			between := m.ours.lines[last.Ours.End:h.Ours.Start]
			if len(between) <= maxBetween || !slices.ContainsFunc(between, wordy) {
				last.Base.End, last.Ours.End, last.Theirs.End = h.Base.End, h.Ours.End, h.Theirs.End
				continue
			}
		}
		hunks = append(hunks, h)
	}
	m.hunks = slices.DeleteFunc(hunks, func(h Hunk) bool { return h.Kind == same })
}

// wordy says whether a line has an ASCII letter or digit.
func wordy(line string) bool {
	for i := range len(line) {
		if c := line[i]; '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			return true
		}
	}
	return false
}
