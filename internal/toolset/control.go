package toolset

import (
	"log/slog"
	"time"

	"github.com/stet-dev/stet/internal/config"
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

// Limits are the limits of files. The zero value of each is the default of workspace.Options, which it is a part of.
type Limits struct {
	Read, Write, Parts int64 // bytes
	KeepBytes          int64
	KeepAge            time.Duration
}

// LimitsOf returns the configured limits.
func LimitsOf(c *config.Config) Limits {
	mb := func(n int) int64 { return int64(n) << 20 }
	return Limits{
		Read: mb(c.ReadLimit), Write: mb(c.WriteLimit), Parts: max(mb(c.PartsLimit), mb(c.WriteLimit)),
		KeepBytes: mb(c.KeptMegabytes), KeepAge: time.Duration(c.KeptDays) * 24 * time.Hour,
	}
}

// OpenWorkspace opens a directory in the way of every command that writes to it. What is kept for undo goes by the limits too, so
// every command must have the same.
func OpenWorkspace(dir, state string, l Limits, log *slog.Logger) (*workspace.Root, error) {
	return workspace.Open(dir, workspace.Options{
		State: state, ReadLimit: l.Read, WriteLimit: l.Write, PartsLimit: l.Parts, KeepBytes: l.KeepBytes, KeepAge: l.KeepAge,
		Control: agentFiles(), Log: log,
	})
}
