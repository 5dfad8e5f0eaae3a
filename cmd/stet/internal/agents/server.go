package agents

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/internal/jsonc"
)

// ErrNoHome says that an agent's configuration is below the home directory, and that there is no home directory.
var ErrNoHome = errors.New("there is no home directory (HOME)")

// server says where an agent keeps its list of MCP servers, and how an entry is written. stet edits the files itself, because the agents' own
// commands do not keep what is in them (tried in November 2026): "mcp add" of Codex 0.171 removes comments, and has no flag for the time that a
// call may take; that of Gemini CLI 0.61 removes other servers, and its "mcp remove" does not find the entry; Claude Code 2.1.332, Qwen
// Code 0.24 and Copilot CLI 1.0 write the whole file anew, so that no undo gives the same bytes.
type server struct {
	file  func(m Machine) string                // empty if there is no home directory
	path  []string                              // of the entry in the file
	entry func(command []string) map[string]any // of the server that a command starts
	toml  bool                                  // false: JSON, with or without comments
	note  string                                // what else the person should know
}

// ServerAgents returns the names of the agents that support MCP servers.
func ServerAgents() []string { return namesOf(func(a *agent) bool { return a.server != nil }) }

// Setup is the result of adding an MCP server to an agent's configuration, also for a dry run.
type Setup struct {
	File    string      // the agent's configuration file
	Snippet []byte      // only from Server: the text for the file
	Changed bool        // only from AddServer: false if the file had it already
	Kept    string      // only from AddServer: the copy of the old file; empty if there was none
	Added   AddedServer // only from AddServer: for RemoveServer
	Note    string      // what else the person should know; may be empty
}

// Server returns the text that an agent's configuration needs to start "COMMAND mcp". It changes nothing.
func (m Machine) Server(name, command string) (Setup, error) {
	s, out, err := m.serverOf(name)
	if err != nil {
		return out, err
	}
	out.Snippet, err = s.add(nil, command)
	return out, err
}

// AddServer adds that text to the agent's configuration. The rest of the file does not change, and a copy is kept next to it. An
// existing entry is not changed: if it differs, AddServer returns an error and writes nothing.
func (m Machine) AddServer(name, command string) (Setup, error) {
	s, out, err := m.serverOf(name)
	if err != nil {
		return out, err
	}
	f, err := readConfig(out.File, s.toml)
	if err != nil {
		return out, err
	}
	made := f.missing(s.path)
	now, err := s.add(f.text, command)
	if err != nil {
		return out, fmt.Errorf("%s: %w; nothing was written", out.File, err)
	}
	if f.existed && bytes.Equal(f.text, now) {
		return out, nil
	}
	f.text, out.Changed = now, true
	out.Added = AddedServer{Agent: name, File: out.File, Made: made}
	out.Kept, err = f.write()
	return out, err
}

func (m Machine) serverOf(name string) (*server, Setup, error) {
	a := find(name)
	if a == nil || a.server == nil {
		return nil, Setup{}, fmt.Errorf("unknown agent %q", name)
	}
	file := a.server.file(m)
	if file == "" {
		return nil, Setup{}, fmt.Errorf("the configuration of %s: %w", name, ErrNoHome)
	}
	return a.server, Setup{File: file, Note: a.server.note}, nil
}

func (s *server) add(text []byte, command string) ([]byte, error) {
	if s.toml {
		return addTable(text, s.path, s.entry([]string{command, "mcp"}))
	}
	return jsonc.Add(text, s.path, s.entry([]string{command, "mcp"}))
}

func atProject(name string) func(Machine) string {
	return func(m Machine) string { return filepath.Join(m.Dir, filepath.FromSlash(name)) }
}

func (m Machine) codexFile() string { return m.inHome("CODEX_HOME", ".codex", "config.toml") }

// opencodeProjectFile returns the project's file, the one with comments if it exists.
func (m Machine) opencodeProjectFile() string {
	commented := filepath.Join(m.Dir, "opencode.jsonc")
	if _, err := os.Stat(commented); err == nil {
		return commented
	}
	return filepath.Join(m.Dir, "opencode.json")
}

// workspaceFolder means the open project, in clients that start their servers in another directory.
const workspaceFolder = "${workspaceFolder}"

// entryWith returns how an entry is written: the command, its arguments with those of args, and more.
func entryWith(more map[string]any, args ...string) func(command []string) map[string]any {
	return func(command []string) map[string]any {
		entry := map[string]any{"command": command[0], "args": append(command[1:len(command):len(command)], args...)}
		maps.Copy(entry, more)
		return entry
	}
}

func opencodeServer(command []string) map[string]any {
	return map[string]any{"type": "local", "command": command, "enabled": true}
}
