package agents

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// errByHand says that a value has a form that is not edited here, for example a table on one line.
var errByHand = errors.New("it is written in a way that stet does not edit: change it by hand")

// tomlSpan is the span of a table's key in a TOML text.
type tomlSpan struct {
	header     int // end of the line with the table's header; -1: the text has no such line
	from, upTo int // the value, if found
	found      bool
}

// spanOf finds the key at a path.
func spanOf(text []byte, path []string) (at tomlSpan, err error) {
	at.header = -1
	table := path[:len(path)-1]
	if len(table) == 0 {
		at.header = 0
	}
	var p unstable.Parser
	p.Reset(text)
	var within []string
	for p.NextExpression() {
		e := p.Expression()
		var key []string
		end := 0
		for it := e.Key(); it.Next(); {
			key = append(key, string(it.Node().Data))
			end = int(it.Node().Raw.Offset + it.Node().Raw.Length)
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			if within = key; slices.Equal(key, table) && e.Kind == unstable.Table {
				at.header = lineEnd(text, end)
			}
		case unstable.KeyValue:
			if value := e.Value(); slices.Equal(slices.Concat(within, key), path) && value.Kind == unstable.String {
				at.from, at.upTo, at.found = int(value.Raw.Offset), int(value.Raw.Offset+value.Raw.Length), true
			}
		}
	}
	return at, p.Error()
}

// lineEnd returns the start of the line after the line at an offset.
func lineEnd(text []byte, offset int) int {
	if n := bytes.IndexByte(text[offset:], '\n'); n >= 0 {
		return offset + n + 1
	}
	return len(text)
}

// lookupTOML returns the text at a path of keys; ok is false if there is none.
func lookupTOML(text []byte, path []string) (value string, ok bool, err error) {
	last := len(path) - 1
	table, err := tableAt(text, path[:last])
	value, ok = table[path[last]].(string)
	return value, ok, err
}

// setTOML sets a key to a text. All other bytes stay.
func setTOML(text []byte, path []string, value string) ([]byte, error) {
	at, err := spanOf(text, path)
	if err != nil {
		return nil, err
	}
	var now []byte
	switch {
	case at.found:
		now = slices.Concat(text[:at.from], []byte(strconv.Quote(value)), text[at.upTo:])
	case at.header >= 0:
		line := fmt.Sprintf("%s = %s\n", path[len(path)-1], strconv.Quote(value))
		if head := text[:at.header]; len(head) > 0 && head[len(head)-1] != '\n' {
			line = "\n" + line
		}
		now = withLineEnds(text, slices.Concat(text[:at.header], []byte(line), text[at.header:]))
	default:
		return nil, fmt.Errorf("%s: %w", strings.Join(path, "."), errByHand)
	}
	return now, sameBut(text, now, path, value)
}

// removeTOML removes the line of a key. All other bytes stay.
func removeTOML(text []byte, path []string) ([]byte, error) {
	at, err := spanOf(text, path)
	if err != nil {
		return nil, err
	}
	if !at.found {
		return nil, fmt.Errorf("%s: %w", strings.Join(path, "."), errByHand)
	}
	from := bytes.LastIndexByte(text[:at.from], '\n') + 1
	now := slices.Concat(text[:from], text[lineEnd(text, at.upTo):])
	return now, sameBut(text, now, path, nil)
}

// sameBut checks that two texts have the same content except for what is at a path. In now, that has the value, or is not there if the value is nil; then
// an empty table above it may be there or not.
func sameBut(text, now []byte, path []string, value any) error {
	last := len(path) - 1
	var said [2]map[string]any
	for i, t := range [][]byte{text, now} {
		if err := toml.Unmarshal(t, &said[i]); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(path, "."), errByHand)
		}
		if said[i] == nil {
			said[i] = map[string]any{}
		}
		above := said[i]
		for _, key := range path[:last] {
			above = object(above, key)
		}
		switch {
		case i == 0 && value == nil:
			delete(above, path[last])
		case i == 0:
			above[path[last]] = value
		}
		if len(above) == 0 && last == 1 {
			delete(said[i], path[0])
		}
	}
	if !reflect.DeepEqual(said[0], said[1]) {
		return fmt.Errorf("%s: %w", strings.Join(path, "."), errByHand)
	}
	return nil
}
