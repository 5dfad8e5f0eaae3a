package toolset

import (
	"log/slog"

	"github.com/stet-dev/stet/workspace"
)

// agentFiles are the agents' own files that run something or give an agent rights: hooks, servers, permissions, plugins. A person
// is always asked about a write to one (FILE-13). Names are as in workspace.Options.Control, and in addition to those of workspace.
func agentFiles() []string {
	return []string{
		".claude/", ".claude.json", ".claude-plugin/", ".agents/", ".agent/",
		".codex/",
		"opencode.json", "opencode.jsonc", ".opencode/",
		".gemini/", ".qwen/", "crush.json", ".crush.json", ".crush/", ".junie/", ".augment/", ".trae/", ".factory/", ".openhands/",
		".continue/", ".cline/", ".clinerules", ".clinerules/", ".roo/", ".kilocode/",
		".cursorrules", ".windsurf/", ".windsurfrules", ".amazonq/", ".kiro/",
		".aider.conf.yml", ".goosehints", ".goose/", ".copilot/",
		".config/", ".cargo/config", ".cargo/config.toml", ".bazelrc", ".pnp.cjs", ".gdbinit", ".lldbinit", ".tmux.conf",
	}
}

// OpenWorkspace opens a directory in the way of every command that writes to it.
func OpenWorkspace(dir, state string, log *slog.Logger) (*workspace.Root, error) {
	return workspace.Open(dir, workspace.Options{State: state, WriteLimit: writeLimit, Control: agentFiles(), Log: log})
}
