package main

// agentFiles are the agents' own files that make something run or say what an
// agent may do: hooks, servers, permissions, plugins. A write to one is always
// asked for (FILE-13). Names as in workspace.Options.Control.
func agentFiles() []string {
	return []string{
		".claude/", ".claude.json", ".mcp.json",
		".codex/",
		"opencode.json", "opencode.jsonc", ".opencode/",
		".gemini/", ".qwen/",
		".continue/", ".cline/", ".clinerules", ".clinerules/", ".roo/", ".kilocode/",
		".cursor/", ".cursorrules", ".windsurf/", ".windsurfrules", ".zed/", ".amazonq/", ".kiro/",
		".aider.conf.yml", ".goosehints", ".goose/", ".copilot/",
		".stet.toml", ".config/",
		".cargo/config", ".cargo/config.toml", ".bazelrc", ".pnp.cjs", ".yarnrc.yml", ".npmrc", ".gdbinit", ".lldbinit",
		".tmux.conf", ".pre-commit-config.yaml", ".husky/", "lefthook.yml",
	}
}
