package transcript

// format is one kind of session file.
type format struct {
	name  string
	match func(s shape) bool // is a value with this shape the format's?
	read  func(src *source) ([]*Session, error)
}

// formats lists the kinds in the order in which they are tried: the ones with
// the more telling marks first.
func formats() []format {
	return []format{
		{"opencode-export", isOpencodeExport, readOpencodeExport},
		{"opencode-storage", isOpencodeSession, readOpencodeStorage},
		{"codex-rollout", isCodex, readCodex},
		{"copilot-cli-events", isCopilot, readCopilot},
		{"pi-session", isPi, readPi},
		{"gemini-cli-chat", isGemini, readGemini},
		{"qwen-chat", isQwen, readQwen},
		{"claude-code-jsonl", isClaudeCode, readClaudeCode},
		{"mini-swe-agent-traj", isMini, readMini},
		{"swe-agent-traj", isSWEAgent, readSWEAgent},
		{"openhands-output", isOpenHands, readOpenHands},
		{"claude-trace-requests", isTrace, readTrace},
		{"cline-messages", isCline, readCline},
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
