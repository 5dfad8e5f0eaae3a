package transcript

// format is one kind of session file.
type format struct {
	name  string
	agent string             // who writes it
	match func(s shape) bool // is a value with this shape the format's?
	read  func(src *source) ([]*Session, error)
}

// formats lists the kinds in the order in which they are tried: the ones with
// the more telling marks first.
func formats() []format {
	return []format{
		{"opencode-export", "opencode", isOpencodeExport, readOpencodeExport},
		{"opencode-storage", "opencode", isOpencodeSession, readOpencodeStorage},
		{"codex-rollout", "Codex", isCodex, readCodex},
		{"copilot-cli-events", "Copilot CLI", isCopilot, readCopilot},
		{"pi-session", "pi", isPi, readPi},
		{"gemini-cli-chat", "Gemini CLI", isGemini, readGemini},
		{"qwen-chat", "Qwen Code", isQwen, readQwen},
		{"claude-code-jsonl", "Claude Code", isClaudeCode, readClaudeCode},
		{"mini-swe-agent-traj", "mini-swe-agent", isMini, readMini},
		{"swe-agent-traj", "SWE-agent", isSWEAgent, readSWEAgent},
		{"openhands-output", "OpenHands", isOpenHands, readOpenHands},
		{"claude-trace-requests", "Claude Code", isTrace, readTrace},
		{"cline-messages", "Cline", isCline, readCline},
	}
}

// formatNames returns the names of the formats that Open knows. The live database
// of opencode is "opencode-db".
func formatNames() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return append(names, opencodeDBFormat)
}

// AgentOf returns the name of the agent whose sessions have a format, as people write it; the
// format itself where that is not known.
func AgentOf(name string) string {
	for _, f := range formats() {
		if f.name == name || name == opencodeDBFormat && f.agent == "opencode" {
			return f.agent
		}
	}
	return name
}

// detect returns the format of a file by its first bytes, or false.
func detect(head []byte) (format, bool) {
	all := formats()
	for _, s := range shapes(head, 64) {
		for _, f := range all {
			if f.match(s) {
				return f, true
			}
		}
	}
	return format{}, false
}
