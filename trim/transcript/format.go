package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// The formats, and how a file's format is recognised by the shape of its first JSON values.

// Format is a kind of session file.
type Format struct {
	Name  string             // Session.Format
	Agent string             // the agent that writes it, for people
	Match func(s Shape) bool // reports whether a value with this shape is in the format
	Read  func(f *File) ([]*Session, error)
}

// formats returns the formats of this package in the order in which they are tried. Formats that are easier to recognise come first.
func formats() []Format {
	return []Format{
		{"opencode-export", "opencode", isOpencodeExport, readOpencodeExport},
		{"opencode-storage", "opencode", isOpencodeSession, readOpencodeStorage},
		{"codex-rollout", "Codex", isCodex, readCodex},
		{"copilot-cli-events", "Copilot CLI", isCopilot, readCopilot},
		{"pi-session", "pi", isPi, readPi},
		{"gemini-cli-chat", "Gemini CLI", isGemini, readGemini},
		{"qwen-chat", "Qwen Code", isQwen, readQwen},
		{"claude-code-jsonl", "Claude Code", isClaudeCode, readClaudeCode},
		{"cline-messages", "Cline", isCline, readCline},
	}
}

// all returns the formats that Open reads.
func (o Opener) all() []Format { return append(formats(), o.Formats...) }

// formatNames returns the names of the formats that Open reads. opencode's database has the format "opencode-db".
func (o Opener) formatNames() []string {
	var names []string
	for _, f := range o.all() {
		names = append(names, f.Name)
	}
	return append(names, opencodeDBFormat)
}

// detect returns the format of a file, by its first bytes. ok is false if it is not known.
func (o Opener) detect(head []byte) (format Format, ok bool) {
	all := o.all()
	for _, s := range shapes(head, 64) {
		for _, f := range all {
			if f.Match(s) {
				return f, true
			}
		}
	}
	return Format{}, false
}

// Shape describes a JSON value. It maps the paths in the value to the values of short strings. Other values are "". For
// example: "messages[].role" → "user", "payload" → "". Paths are at most six levels deep. If a path occurs several times,
// the first value is kept.
type Shape map[string]string

// Has reports whether the value has all these paths.
func (s Shape) Has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := s[p]; !ok {
			return false
		}
	}
	return true
}

// shapes returns the shapes of the first JSON values in head, at most n. The values follow one another, as in a file of
// JSON lines. The last one may be cut off. After a damaged value, shapes continues with the next line.
func shapes(head []byte, n int) []Shape {
	var all []Shape
	for len(all) < n {
		if head = bytes.TrimLeft(head, " \t\r\n\x00"); len(head) == 0 {
			break
		}
		dec := json.NewDecoder(bytes.NewReader(head))
		s := Shape{}
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
func (s Shape) value(dec *json.Decoder, path string, depth int) error {
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
