package merge3

import "slices"

// pair lays the changes of both sides beside each other. Changes of one side
// alone, with at least one line between them and the other's, are hunks of
// that side; equal changes are none; all others are conflicts.
func (m *merger) pair(mine, yours []change) {
	shiftMine, shiftYours := 0, 0 // from a line of base to ours and theirs, between changes
	for len(mine) > 0 || len(yours) > 0 {
		switch {
		case len(yours) == 0 || len(mine) > 0 && mine[0].a1 < yours[0].a0:
			c := mine[0]
			m.add(Hunk{Ours, Range{c.a0, c.a1}, Range{c.b0, c.b1}, Range{c.a0 + shiftYours, c.a1 + shiftYours}, Range{}})
			shiftMine, mine = c.b1-c.a1, mine[1:]
			continue
		case len(mine) == 0 || yours[0].a1 < mine[0].a0:
			c := yours[0]
			m.add(Hunk{Theirs, Range{c.a0, c.a1}, Range{c.a0 + shiftMine, c.a1 + shiftMine}, Range{c.b0, c.b1}, Range{}})
			shiftYours, yours = c.b1-c.a1, yours[1:]
			continue
		}
		x, y := mine[0], yours[0]
		if !m.equal(x, y) {
			start, end := min(x.a0, y.a0), max(x.a1, y.a1)
			m.add(Hunk{
				Kind:   Conflict,
				Base:   Range{start, end},
				Ours:   Range{x.b0 - (x.a0 - start), x.b1 + (end - x.a1)},
				Theirs: Range{y.b0 - (y.a0 - start), y.b1 + (end - y.a1)},
			})
		}
		if x.a1 <= y.a1 {
			shiftMine, mine = x.b1-x.a1, mine[1:]
		}
		if y.a1 <= x.a1 {
			shiftYours, yours = y.b1-y.a1, yours[1:]
		}
	}
}

func (m *merger) equal(x, y change) bool {
	return x.a0 == y.a0 && x.a1 == y.a1 &&
		slices.Equal(m.ours.numbers[x.b0:x.b1], m.theirs.numbers[y.b0:y.b1])
}

// add appends a hunk, or, where it touches the last one, makes both one.
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

// doubt makes one conflict of all hunks.
func (m *merger) doubt() {
	if len(m.hunks) == 0 {
		return
	}
	all, last := m.hunks[0], m.hunks[len(m.hunks)-1]
	all.Kind = Conflict
	all.Base.End, all.Ours.End, all.Theirs.End = last.Base.End, last.Ours.End, last.Theirs.End
	m.hunks = []Hunk{all}
}

// narrow compares the two sides of every conflict and leaves the parts in
// which they differ. Where one side is empty there is nothing to compare.
func (m *merger) narrow(a *aligner) {
	var hunks []Hunk
	for _, h := range m.hunks {
		if h.Kind != Conflict || h.Ours.lines() == 0 || h.Theirs.lines() == 0 {
			hunks = append(hunks, h)
			continue
		}
		ours := m.ours.numbers[h.Ours.Start:h.Ours.End]
		theirs := m.theirs.numbers[h.Theirs.Start:h.Theirs.End]
		differ := a.align(ours, theirs, len(m.lines))
		if len(differ) == 0 {
			h.Kind = same
			hunks = append(hunks, h)
		}
		for _, c := range differ {
			hunks = append(hunks, Hunk{
				Kind:   Conflict,
				Base:   h.Base,
				Ours:   Range{h.Ours.Start + c.a0, h.Ours.Start + c.a1},
				Theirs: Range{h.Theirs.Start + c.b0, h.Theirs.Start + c.b1},
			})
		}
	}
	m.hunks = hunks
}

// maxBetween is how many common lines two conflicts swallow between them:
// shown as two, the markers would take more.
const maxBetween = 3

// join makes one of conflicts that are too near each other to be read apart.
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
