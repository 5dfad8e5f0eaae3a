package config

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"
)

// keyLines returns the first line of each key in a TOML text. The name of a key in a table begins with the table's name:
// "notify.ntfy".
func keyLines(text []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		name, inTable := "", e.Kind == unstable.KeyValue
		if inTable {
			name = table
		}
		for it := e.Key(); it.Next(); {
			name += string(it.Node().Data)
			if lines[name] == 0 {
				lines[name] = p.Shape(it.Node().Raw).Start.Line
			}
			name += "."
		}
		if !inTable {
			table = name
		}
	}
	return lines
}

// at says where a key is in a file: the file, and the line if it is known.
func (l layer) at(key string) string {
	if n := l.lines[key]; n > 0 {
		return fmt.Sprintf("%s, line %d", l.name, n)
	}
	return l.name
}

// unknownMember is the error for a key that a table must not have.
type unknownMember struct {
	key   string // with the table's name
	wants string // the keys that the table may have
}

func (e *unknownMember) Error() string { return fmt.Sprintf("unknown key %q: %s", e.key, e.wants) }

// nearKeys returns the keys of a file with names similar to name, compared as cobra compares command names, or none.
func nearKeys(name string, project bool) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, k := range keys {
		if !project || !k.UserOnly {
			all.AddCommand(&cobra.Command{Use: k.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	return strings.Join(all.SuggestionsFor(name), " or ")
}
