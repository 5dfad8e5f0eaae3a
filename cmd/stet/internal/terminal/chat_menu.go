package terminal

import (
	"fmt"
	"strings"
)

// suggest opens the menu of the commands that the input may mean, or closes it.
func (m *chat) suggest() {
	m.menu = nil
	text := m.input.Value()
	if m.list != nil || m.deciding != nil || m.closedWhileTyping != "" || !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") {
		return
	}
	p := &picker{title: "Tab completes, Enter runs it, Esc closes"}
	for _, c := range commands {
		if strings.HasPrefix(c.name, text) {
			p.found = append(p.found, choice{text: fmt.Sprintf("%-16s", c.name+" "+c.args), note: c.about, id: c.name})
		}
	}
	if len(p.found) > 0 {
		m.menu = p
	}
}

// menuKey processes a key while the menu is open. It reports whether the key needs no other processing.
func (m *chat) menuKey(name string) bool {
	switch name {
	case "up", "ctrl+p":
		m.menu.step(-1)
	case "down", "ctrl+n":
		m.menu.step(1)
	case "pgup":
		m.menu.step(-10)
	case "pgdown":
		m.menu.step(10)
	case "esc", "alt+esc":
		m.menu = nil
	case "tab":
		m.take()
	case "enter":
		c := m.menu.found[m.menu.at]
		exact := m.input.Value() == c.id
		if !exact {
			m.take()
		}
		m.menu = nil
		return !exact && strings.TrimSpace(c.text) != c.id // a command without arguments is run at once
	default:
		return false
	}
	return true
}

// take replaces the input by the choice.
func (m *chat) take() { m.setInput(m.menu.found[m.menu.at].id + " ") }

// empty clears the input.
func (m *chat) empty() {
	m.input.Reset()
	m.menu = nil
}
