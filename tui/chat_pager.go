package tui

import (
	"fmt"
	"strings"
)

// pager is the whole conversation on a screen of its own, with thinking,
// arguments and results in full.
type pager struct {
	make          func(columns int) []string
	lines         []string
	top           int
	width, height int
}

func (m *chat) unfold() {
	st := m.Talk.State()
	m.full = &pager{make: func(columns int) []string { return m.conversation(st.Messages, columns, true) }}
	m.full.resize(m.width, m.height)
	m.full.scroll(len(m.full.lines))
}

func (u *pager) resize(width, height int) {
	if width != u.width {
		u.lines = u.make(max(width-1, 1))
	}
	u.width, u.height = width, height
	u.scroll(0)
}

func (u *pager) rows() int { return max(u.height-1, 1) }

func (u *pager) scroll(by int) { u.top = max(0, min(u.top+by, len(u.lines)-u.rows())) }

// key takes a key, and reports whether the person has seen enough.
func (u *pager) key(name string) bool {
	switch name {
	case "q", "esc", "ctrl+o", "ctrl+c", "enter":
		return true
	case "up", "k":
		u.scroll(-1)
	case "down", "j":
		u.scroll(1)
	case "pgup", "b", "ctrl+b":
		u.scroll(-u.rows())
	case "pgdown", "space", "f", "ctrl+f":
		u.scroll(u.rows())
	case "home", "g":
		u.scroll(-len(u.lines))
	case "end", "G":
		u.scroll(len(u.lines))
	}
	return false
}

func (u *pager) view(pt painter) string {
	last := min(u.top+u.rows(), len(u.lines))
	foot := fmt.Sprintf("lines %d to %d of %d · ↑↓ PgUp PgDn · q goes back", min(u.top+1, last), last, len(u.lines))
	rows := append(make([]string, 0, u.height), u.lines[u.top:last]...)
	for len(rows) < u.rows() {
		rows = append(rows, "")
	}
	return strings.Join(append(rows, clip(pt.paint(dim, foot), max(u.width-1, 1))), "\n")
}
