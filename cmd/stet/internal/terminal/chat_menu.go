package terminal

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/session"
)

// menu offers completions of the text before the cursor: commands, or names of files.
type menu struct {
	picker
	typed int // number of characters before the cursor that a choice replaces
	files bool
}

// maxFound is the largest number of files in a menu.
const maxFound = 50

// suggest opens the menu for the text before the cursor, or closes it.
func (m *chat) suggest() {
	m.menu = nil
	if m.list != nil || m.deciding != nil || m.closedWhileTyping != "" {
		return
	}
	text := m.input.Value()
	if strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " \n") {
		m.suggestCommands(text)
		return
	}
	if word, ok := m.mention(); ok && m.Files != nil {
		m.suggestFiles(word)
	}
}

func (m *chat) suggestCommands(text string) {
	p := picker{title: "Tab completes, Enter runs it, Esc closes"}
	for _, c := range commands {
		if strings.HasPrefix(c.name, text) {
			p.found = append(p.found, choice{text: fmt.Sprintf("%-16s", c.name+" "+c.args), note: c.about, id: c.name})
		}
	}
	if len(p.found) > 0 {
		m.menu = &menu{picker: p, typed: len([]rune(text))}
	}
}

// mention returns the word before the cursor without its @, if it has one.
func (m *chat) mention() (string, bool) {
	lines := strings.Split(m.input.Value(), "\n")
	row := m.input.Line()
	if row >= len(lines) {
		return "", false
	}
	line := []rune(lines[row])
	before := string(line[:min(m.input.Column(), len(line))])
	return strings.CutPrefix(before[strings.LastIndexAny(before, " \t")+1:], "@")
}

// suggestFiles offers the files that a word may mean. The list is read again for each mention; until then the last list is used.
func (m *chat) suggestFiles(word string) {
	if word == "" && !m.listing {
		m.listing = true
		list, ctx := m.Files, m.ctx
		m.later = tea.Batch(m.later, m.start(func() then {
			names, err := list(ctx)
			return func() tea.Cmd {
				m.listing = false
				if err != nil {
					m.note(note{"files: " + err.Error(), true})
					return nil
				}
				m.files = names
				if word, ok := m.mention(); ok && m.list == nil && m.deciding == nil && m.closedWhileTyping == "" {
					m.offerFiles(word)
				}
				return nil
			}
		}))
	}
	m.offerFiles(word)
}

// offerFiles opens the menu of the files that a word may mean.
func (m *chat) offerFiles(word string) {
	p := picker{title: "Tab or Enter takes the file, Esc closes"}
	for _, name := range matchFiles(m.files, word) {
		p.found = append(p.found, choice{text: name, id: name})
	}
	if len(p.found) > 0 {
		m.menu = &menu{picker: p, typed: len([]rune(word)) + 1, files: true}
	}
}

// matchFile returns how well a file's path matches a word: 0 is the best, -1 is no match. Both are in the form that
// session.Folded returns.
func matchFile(name, word string) int {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(base, word):
		return 0
	case strings.HasPrefix(name, word):
		return 1
	case strings.Contains(base, word):
		return 2
	case strings.Contains(name, word):
		return 3
	}
	rest := name
	for _, r := range word {
		_, after, ok := strings.Cut(rest, string(r))
		if !ok {
			return -1
		}
		rest = after
	}
	return 4
}

// matchFiles returns the files that match a word, the best first. It omits names that cannot be displayed unchanged.
func matchFiles(names []string, word string) []string {
	type found struct {
		name string
		rank int
	}
	var all []found
	word = session.Folded(word)
	for _, name := range names {
		if rank := matchFile(session.Folded(name), word); rank >= 0 && !invisible.Has(name) && strings.IndexFunc(name, isControl) < 0 {
			all = append(all, found{name, rank})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.rank, b.rank) })
	var out []string
	for _, f := range all[:min(len(all), maxFound)] {
		out = append(out, f.name)
	}
	return out
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
		c, command := m.menu.found[m.menu.at], !m.menu.files
		exact := command && m.input.Value() == c.id
		if !exact {
			m.take()
		}
		m.menu = nil
		return !exact && (!command || strings.TrimSpace(c.text) != c.id) // a command without arguments is run at once
	default:
		return false
	}
	return true
}

// take replaces the text before the cursor by the choice.
func (m *chat) take() {
	chosen := m.menu.found[m.menu.at].id
	if m.menu.files {
		chosen = pathText(chosen)
	}
	for range m.menu.typed {
		m.input, _ = m.input.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	m.input.InsertString(chosen + " ")
	m.menu = nil
}

// empty clears the input.
func (m *chat) empty() {
	m.input.Reset()
	m.menu = nil
}
