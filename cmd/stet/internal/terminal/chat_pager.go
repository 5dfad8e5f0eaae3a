package terminal

import (
	"fmt"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
)

// pager shows the whole conversation on a separate screen, with all thinking, arguments and results.
type pager struct {
	shape shape // of the conversation
	view  viewport.Model
}

func (m *chat) openPager() {
	st := m.Talk.State()
	m.full = &pager{shape: func(columns int) []string { return m.conversation(st.Messages, columns, true) }, view: viewport.New()}
	m.full.view.KeyMap.PageUp.SetKeys("pgup", "b", "ctrl+b")
	m.full.view.KeyMap.PageDown.SetKeys("pgdown", "space", "f", "ctrl+f")
	m.full.resize(m.width, m.height)
	m.full.view.GotoBottom()
}

// resize fits the pager to a screen. The last line and the last column stay free.
func (p *pager) resize(width, height int) {
	p.view.SetHeight(max(height-1, 1))
	if columns := max(width-1, 1); columns != p.view.Width() {
		p.view.SetWidth(columns)
		p.view.SetContentLines(p.shape(columns))
	}
	p.view.SetYOffset(p.view.YOffset()) // within the new bounds
}

// key processes a key, and reports whether the person leaves the pager.
func (p *pager) key(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "q", "esc", "ctrl+o", "ctrl+c", "enter":
		return true
	case "home", "g":
		p.view.GotoTop()
	case "end", "G":
		p.view.GotoBottom()
	default:
		p.view, _ = p.view.Update(k)
	}
	return false
}

// screen returns the lines of the screen. The last line shows the position in the conversation.
func (p *pager) screen(pt painter) string {
	first, total := p.view.YOffset(), p.view.TotalLineCount()
	last := min(first+p.view.Height(), total)
	foot := fmt.Sprintf("lines %d to %d of %d · ↑↓ PgUp PgDn · q goes back", min(first+1, last), last, total)
	return p.view.View() + "\n" + clip(pt.paint(dim, foot), p.view.Width())
}
