package toolset

import (
	"log/slog"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/files/workspace"
)

// agentFiles are the agents' own files that run something or give an agent rights: hooks, servers, permissions, plugins. A person
// is always asked about a write to one. Names are as in workspace.Options.Control, and in addition to those of workspace.
// The source of a row is the agent's documentation of its settings, as of November 2026. A new directory or rc file of an agent
// that is not here is asked about too: see workspace.Control.
var agentFiles = []struct {
	source string
	names  []string
}{
	{"docs.claude.com/en/docs/claude-code/settings", []string{".claude/", ".claude.json", ".claude-plugin/"}},
	{"agents.md; agentskills.io", []string{".agents/", ".agent/"}},
	{"developers.openai.com/codex/config", []string{".codex/"}},
	{"opencode.ai/docs/config", []string{"opencode.json", "opencode.jsonc", ".opencode.json", ".opencode.jsonc", ".opencode/"}},
	{"github.com/google-gemini/gemini-cli, docs/cli/settings.md", []string{".gemini/"}},
	{"github.com/QwenLM/qwen-code, docs", []string{".qwen/"}},
	{"github.com/charmbracelet/crush", []string{"crush.json", ".crush.json", ".crush/"}},
	{"jetbrains.com/help/junie; jetbrains.com/help/ai-assistant", []string{".junie/", ".aiassistant/"}},
	{"docs.augmentcode.com", []string{".augment/"}},
	{"docs.trae.ai", []string{".trae/"}},
	{"docs.factory.ai", []string{".factory/"}},
	{"docs.openhands.dev", []string{".openhands/"}},
	{"docs.continue.dev/reference", []string{".continue/", ".continuerc.json"}},
	{"docs.cline.bot; docs.roocode.com; kilo.ai/docs", []string{".cline/", ".clinerules", ".clinerules/", ".roo/", ".kilocode/", ".kilo/"}},
	{"cursor.com/docs", []string{".cursorrules"}},
	{"docs.windsurf.com", []string{".windsurf/", ".windsurfrules", ".codeium/"}},
	{"docs.aws.amazon.com/amazonq; kiro.dev/docs", []string{".amazonq/", ".kiro/"}},
	{"aider.chat/docs/config", []string{".aider.conf.yml", ".aider.model.settings.yml"}},
	{"block.github.io/goose/docs", []string{".goosehints", ".goose/"}},
	{"docs.github.com/copilot", []string{".copilot/"}},
	{"github.com/badlogic/pi-mono, packages/coding-agent/docs", []string{".pi/"}},
	{"ampcode.com/manual", []string{".amp/"}},
	{"docs.mistral.ai/vibe/code/cli/configuration", []string{".vibe/"}},
	{"support.atlassian.com/rovo/docs/manage-rovo-dev-cli-settings", []string{".rovodev/"}},
	{"codebuddy.ai/docs/cli/settings", []string{".codebuddy/"}},
	{"docs.warp.dev", []string{".warp/"}},
	{"docs.tabnine.com", []string{".tabnine/"}},
	{"docs.zencoder.ai; github.com/MoonshotAI/kimi-cli; github.com/oraios/serena", []string{".zencoder/", ".kimi/", ".serena/"}},
	{"of other programs: Cargo, Bazel, Yarn, gdb, lldb, tmux, XDG", []string{
		".config/", ".cargo/config", ".cargo/config.toml", ".bazelrc", ".pnp.cjs", ".gdbinit", ".lldbinit", ".tmux.conf",
	}},
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
	o := workspace.Options{
		State: state, ReadLimit: l.Read, WriteLimit: l.Write, PartsLimit: l.Parts, KeepBytes: l.KeepBytes, KeepAge: l.KeepAge, Log: log,
	}
	for _, of := range agentFiles {
		o.Control = append(o.Control, of.names...)
	}
	return workspace.Open(dir, o)
}
