package transcript

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Source is a location where an agent keeps its sessions.
type Source struct {
	Agent string // "claude-code", "codex", …
	Path  string // a file or a directory, for Walk
}

// location is where an agent keeps sessions. dir is relative to the home directory. If the environment variable is set, its
// value is used instead. below are patterns in this directory.
type location struct {
	agent    string
	variable string
	dir      string
	below    []string
}

// locations returns the default locations of the agents, as of 2026.
func locations() []location {
	cline := []string{"User/globalStorage/saoudrizwan.claude-dev/tasks"}
	return []location{
		{"claude-code", "CLAUDE_CONFIG_DIR", ".claude", []string{"projects"}},
		{"claude-code", "XDG_CONFIG_HOME", ".config", []string{"claude/projects"}},
		{"codex", "CODEX_HOME", ".codex", []string{"sessions", "archived_sessions"}},
		{"opencode", "XDG_DATA_HOME", ".local/share", []string{"opencode/opencode*.db", "opencode/storage"}},
		{"pi", "PI_CODING_AGENT_DIR", ".pi/agent", []string{"sessions"}},
		{"copilot-cli", "COPILOT_HOME", ".copilot", []string{"session-state", "history-session-state"}},
		{"gemini-cli", "", ".gemini", []string{"tmp/*/chats"}},
		{"qwen", "", ".qwen", []string{"projects", "tmp/*/chats"}},
		{"cline", "CLINE_DATA_DIR", ".cline/data", []string{"sessions", "tasks"}},
		{"cline", "CLINE_SESSION_DATA_DIR", ".cline/data/sessions", []string{"."}},
		{"cline", "CLINE_DIR", ".cline", []string{"data/sessions", "data/tasks", "tasks"}},
		{"cline", "XDG_CONFIG_HOME", ".config/Code", cline},
		{"cline", "", "Library/Application Support/Code", cline},
		{"cline", "", "AppData/Roaming/Code", cline},
	}
}

// Find returns the existing locations on this machine where agents keep their sessions. home is the user's home directory, or
// "" if there is none. getenv is os.Getenv. A location that is there and cannot be read is returned, too.
func Find(home string, getenv func(string) string) []Source {
	var found []Source
	seen := map[string]bool{}
	for _, p := range locations() {
		dir := ""
		if home != "" {
			dir = filepath.Join(home, filepath.FromSlash(p.dir))
		}
		if p.variable != "" {
			if set := getenv(p.variable); set != "" {
				dir = set
				if p.variable == "XDG_CONFIG_HOME" && p.agent == "cline" {
					dir = filepath.Join(set, "Code")
				}
			}
		}
		if dir == "" {
			continue
		}
		for _, pattern := range p.below {
			for _, path := range existing(dir, pattern) {
				if !seen[path] {
					seen[path] = true
					found = append(found, Source{Agent: p.agent, Path: path})
				}
			}
		}
	}
	return found
}

// existing returns the existing paths below dir that match the pattern.
func existing(dir, pattern string) []string {
	path := filepath.Join(dir, filepath.FromSlash(pattern))
	if _, err := os.Stat(path); err == nil {
		return []string{path}
	} else if !strings.Contains(pattern, "*") {
		if _, link := os.Lstat(path); link != nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return nil
		}
		return []string{path}
	}
	before, _, _ := strings.Cut(pattern, "*")
	parent := filepath.Join(dir, filepath.FromSlash(before[:strings.LastIndex(before, "/")+1]))
	if _, err := os.ReadDir(parent); errors.Is(err, fs.ErrPermission) {
		return []string{parent}
	}
	names, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return nil
	}
	for i := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(names[i]))
	}
	return names
}
