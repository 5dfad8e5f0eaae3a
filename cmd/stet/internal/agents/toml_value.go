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
	var at any
	root := map[string]any{}
	if err := toml.Unmarshal(text, &root); err != nil {
		return "", false, err
	}
	at = root
	for _, key := range path {
		table, _ := at.(map[string]any)
		if at, ok = table[key]; !ok {
			return "", false, nil
		}
	}
	value, ok = at.(string)
	return value, ok, nil
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
	return now, sameBut(text, now, path, "")
}

// sameBut checks that two texts have the same content except for one key. In now, that key has the value, or does not exist if
// value is empty.
func sameBut(text, now []byte, path []string, value string) error {
	before, after := map[string]any{}, map[string]any{}
	if err := toml.Unmarshal(text, &before); err != nil {
		return err
	}
	at := before
	for _, key := range path[:len(path)-1] {
		at = object(at, key)
	}
	if last := path[len(path)-1]; value == "" {
		delete(at, last)
	} else {
		at[last] = value
	}
	if toml.Unmarshal(now, &after) != nil || !reflect.DeepEqual(before, after) {
		return fmt.Errorf("%s: %w", strings.Join(path, "."), errByHand)
	}
	return nil
}
