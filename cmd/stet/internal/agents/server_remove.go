package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/jsonc"
)

// AddedServer is an entry that AddServer put into an agent's configuration file.
type AddedServer struct {
	Agent string `json:"agent"`
	File  string `json:"file"`
	Made  int    `json:"made,omitempty"` // how many of the objects above the entry were also made
}

// ReadServers reads the file that records these entries. A missing file is empty.
func ReadServers(state string) (all []AddedServer, err error) {
	if err := readState(state, &all); err != nil {
		return nil, fmt.Errorf("where stet has put its file tools: %w", err)
	}
	return all, nil
}

// NoteServer records an entry in the file state, for RemoveServer.
func NoteServer(state string, added AddedServer) error {
	all, err := ReadServers(state)
	if err != nil {
		return err
	}
	return writeState(state, append(slices.DeleteFunc(all, added.same), added))
}

// same reports whether both are entries of one agent in one file.
func (s AddedServer) same(other AddedServer) bool {
	return s.Agent == other.Agent && s.File == other.File
}

// RemoveServer removes an entry from the agent's file and from the file state. An entry that was changed since stays, and the note
// names it. A file with nothing else is removed. With dry, nothing is written.
func (m Machine) RemoveServer(added AddedServer, state string, dry bool) (Proxied, error) {
	out := Proxied{File: added.File}
	s, _, err := m.serverOf(added.Agent)
	if err != nil {
		return out, err
	}
	f, err := readConfig(added.File, s.toml)
	if err != nil {
		return out, err
	}
	name := strings.Join(s.path, ".")
	entry, err := f.entry(s.path)
	switch {
	case err != nil:
		return out, fmt.Errorf("%s: %w; nothing was written", added.File, err)
	case entry == nil:
	case !s.isOurs(entry):
		out.Note = name + " was changed since, and stays"
	default:
		if s.toml {
			f.text, err = removeTable(f.text, s.path)
		} else {
			err = f.remove(s.path, added.Made)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w; nothing was written", added.File, err)
		}
		out.Changes = []string{name + " is removed"}
	}
	if dry {
		return out, nil
	}
	if len(out.Changes) > 0 {
		if out.Kept, err = f.writeRest(); err != nil {
			return out, err
		}
	}
	all, err := ReadServers(state)
	if err != nil {
		return out, err
	}
	return out, writeState(state, slices.DeleteFunc(all, added.same))
}

// isOurs reports whether an entry contains everything that setup writes for its command. It may contain more.
func (s *server) isOurs(entry map[string]any) bool {
	command, _ := entry["command"].(string)
	if list, is := entry["command"].([]any); is && len(list) > 0 {
		command, _ = list[0].(string)
	}
	missing, err := jsonc.Missing(asJSON(entry), asJSON(s.entry([]string{command, "mcp"})))
	return command != "" && err == nil && len(missing) == 0
}

// asJSON returns an entry with JSON's types.
func asJSON(entry map[string]any) (plain map[string]any) {
	b, err := json.Marshal(entry)
	if err != nil || json.Unmarshal(b, &plain) != nil {
		return nil // nil has none of the values
	}
	return plain
}

// entry returns the object at a path, or nil.
func (f *configFile) entry(path []string) (map[string]any, error) {
	if f.toml {
		return tableAt(f.text, path)
	}
	v, _, err := jsonc.Lookup(f.text, path)
	entry, is := v.(map[string]any)
	if err == nil && v != nil && !is {
		err = fmt.Errorf("%s is not an object", strings.Join(path, "."))
	}
	return entry, err
}
