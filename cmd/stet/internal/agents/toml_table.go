package agents

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tableAt returns the table at a path, or nil.
func tableAt(text []byte, path []string) (map[string]any, error) {
	at := map[string]any{}
	if err := toml.Unmarshal(text, &at); err != nil {
		return nil, err
	}
	for _, key := range path {
		if at, _ = at[key].(map[string]any); at == nil {
			return nil, nil
		}
	}
	return at, nil
}

// removeTable removes a table with its own header, and the tables below it, each with one empty line before it. All other bytes
// stay, also comments after a table.
func removeTable(text []byte, path []string) ([]byte, error) {
	var now []byte
	copied, begin := 0, -1 // copied: offset up to which the text was copied or removed; begin: start of the table being removed
	removeUpTo := func(next int) {
		if begin < 0 {
			return
		}
		now = append(now, withoutEmptyLine(text[copied:begin])...)
		copied, begin = begin+len(withoutComments(text[begin:next])), -1
	}
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var key []string
		header := -1
		for it := e.Key(); it.Next(); {
			if key = append(key, string(it.Node().Data)); header < 0 {
				header = bytes.LastIndexByte(text[:it.Node().Raw.Offset], '\n') + 1
			}
		}
		removeUpTo(header)
		if len(key) >= len(path) && slices.Equal(key[:len(path)], path) {
			begin = header
		}
	}
	if err := p.Error(); err != nil {
		return nil, err
	}
	removeUpTo(len(text))
	now = append(now, text[copied:]...)
	return now, sameBut(text, now, path, nil)
}

// withoutEmptyLine returns a text without its last line, if that is empty.
func withoutEmptyLine(text []byte) []byte {
	for _, end := range []string{"\r\n", "\n"} {
		if before, ok := bytes.CutSuffix(text, []byte(end)); ok && bytes.HasSuffix(before, []byte("\n")) {
			return before
		}
	}
	return text
}

// withoutComments returns a text without the empty lines and comments at its end.
func withoutComments(text []byte) []byte {
	for len(text) > 0 {
		begin := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		if line := bytes.TrimSpace(text[begin:]); len(line) > 0 && line[0] != '#' {
			break
		}
		text = text[:begin]
	}
	return text
}
