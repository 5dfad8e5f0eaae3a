package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// The formats, and how a file's format is recognised by the shape of its first JSON values.

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

// shape describes a JSON value. It maps the paths in the value to the values of short strings. Other values are "". For
// example: "messages[].role" → "user", "payload" → "". Paths are at most six levels deep. If a path occurs several times,
// the first value is kept.
type shape map[string]string

func (s shape) has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := s[p]; !ok {
			return false
		}
	}
	return true
}

// shapes returns the shapes of the first JSON values in head, at most n. The values follow one another, as in a file of
// JSON lines. The last one may be cut off. After a damaged value, shapes continues with the next line.
func shapes(head []byte, n int) []shape {
	var all []shape
	for len(all) < n {
		if head = bytes.TrimLeft(head, " \t\r\n\x00"); len(head) == 0 {
			break
		}
		dec := json.NewDecoder(bytes.NewReader(head))
		s := shape{}
		err := s.value(dec, "", 0)
		if len(s) > 0 {
			all = append(all, s)
		}
		switch {
		case err == nil:
			head = head[dec.InputOffset():]
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // cut off
			return all
		default:
			_, head, _ = bytes.Cut(head, []byte("\n"))
		}
	}
	return all
}

const (
	shapeDepth  = 6  // values nested deeper than this are not kept
	shortString = 80 // the text of longer strings is not kept
)

// value reads one value. If there is an error, the shape has what came before it.
func (s shape) value(dec *json.Decoder, path string, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	text, _ := token.(string)
	if len(text) > shortString {
		text = ""
	}
	if _, seen := s[path]; !seen && path != "" && depth <= shapeDepth {
		s[path] = text
	}
	switch token {
	case json.Delim('['):
		path += "[]"
		for dec.More() {
			if err := s.value(dec, path, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name := key.(string) // the decoder returns the names of an object as strings
			if path != "" {
				name = path + "." + name
			}
			if err := s.value(dec, name, depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = dec.Token() // the end of the list or object
	return err
}
