package transcript

// format is one kind of session file.
type format struct {
	name  string
	agent string             // the agent that writes it
	match func(s shape) bool // reports whether a value with this shape is in the format
	read  func(src *source) ([]*Session, error)
}

// formats returns the formats in the order in which they are tried. Formats that are easier to recognise come first.
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

// formatNames returns the names of the formats that Open reads. opencode's database has the format "opencode-db".
func formatNames() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return append(names, opencodeDBFormat)
}

// AgentOf returns the name, for people, of the agent that writes a format. If the format is not known, it returns the
// format's name.
func AgentOf(name string) string {
	for _, f := range formats() {
		if f.name == name || name == opencodeDBFormat && f.agent == "opencode" {
			return f.agent
		}
	}
	return name
}

// detect returns the format of a file, by its first bytes. ok is false if it is not known.
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
