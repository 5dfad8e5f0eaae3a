package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// addMember puts an entry under a path of keys, as setMember does. Of an entry
// that is there already nothing is changed: what it lacks is added, and where it
// says something else, that is an error.
func addMember(text []byte, path []string, entry map[string]any) ([]byte, error) {
	var there any
	_ = json.Unmarshal(withoutComments(text), &there) // setMember says what is wrong with it
	for _, key := range path {
		m, _ := there.(map[string]any)
		there = m[key]
	}
	if there == nil {
		return setMember(text, path, entry)
	}
	wanted, err := plainJSON(entry)
	if err != nil {
		return nil, err
	}
	missing, err := lacks(there, wanted.(map[string]any))
	if err != nil {
		return nil, fmt.Errorf("%s is there already: %w", strings.Join(path, "."), err)
	}
	for _, key := range missing {
		if text, err = setMember(text, append(slices.Clone(path), key), entry[key]); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// lacks returns the keys of wanted that an entry lacks. That it says something
// else is an error that names it: it may be meant so.
func lacks(entry any, wanted map[string]any) (missing []string, err error) {
	has, ok := entry.(map[string]any)
	if !ok {
		return nil, errors.New("it holds no settings; remove it, and try again")
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value, there := has[key]
		table, isTable := wanted[key].(map[string]any)
		switch {
		case !there:
			missing = append(missing, key)
		case isTable && len(table) == 0: // whatever it holds is theirs
		case !reflect.DeepEqual(value, wanted[key]):
			return nil, fmt.Errorf("its %q is %s and not %s; change it by hand, or remove the entry and try again", key, inJSON(value), inJSON(wanted[key]))
		}
	}
	return missing, nil
}

func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// plainJSON is value as it is read back.
func plainJSON(value any) (plain any, err error) {
	b, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(b, &plain)
	}
	return plain, err
}

// setMember puts a value into a text of JSON that may have comments and
// trailing commas, under a path of keys where there is nothing yet. Objects on
// the way that are not there are made; all else stays byte for byte. An empty
// text is an empty object. What is added has the line ends of the text.
func setMember(text []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	var before map[string]any
	if err := json.Unmarshal(withoutComments(text), &before); err != nil || before == nil {
		return nil, fmt.Errorf("this is no object of JSON: %v", err)
	}
	wanted, err := plainJSON(value)
	if err != nil {
		return nil, err
	}
	at, last := before, path[len(path)-1]
	for _, key := range path[:len(path)-1] {
		at = object(at, key)
	}
	if _, there := at[last]; there {
		return nil, fmt.Errorf("%s is there already", strings.Join(path, "."))
	}
	at[last] = wanted
	out, err := spliceMember(text, path, value)
	if err != nil {
		return nil, err
	}
	out = withLineEnds(text, out)
	// What was made must mean what the old text did, and the new member.
	var after map[string]any
	if err := json.Unmarshal(withoutComments(out), &after); err != nil {
		return nil, fmt.Errorf("it cannot be added to: %w", err)
	}
	if !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("it cannot be added to: %s stands there twice, or in a way that is not understood", strings.Join(path, "."))
	}
	return out, nil
}

// spliceMember makes the new text. That text is an object is known.
func spliceMember(text []byte, path []string, value any) ([]byte, error) {
	open := skipBlank(text, 0)
	for depth, key := range path {
		m := scanObject(text, open, key)
		if m.end < 0 {
			return nil, fmt.Errorf("the object is not closed")
		}
		switch {
		case m.value >= 0 && text[m.value] != '{':
			return nil, fmt.Errorf("%s is there and no object", strings.Join(path[:depth+1], "."))
		case m.value >= 0:
			open = m.value
		default:
			for i := len(path) - 1; i > depth; i-- {
				value = map[string]any{path[i]: value}
			}
			return insertMember(text, open, m, key, value)
		}
	}
	return text, nil
}

// insertMember puts a new member behind the others of the object.
func insertMember(text []byte, open int, m members, key string, value any) ([]byte, error) {
	outer := indentOf(text, open)
	inner := outer + "  "
	if m.first > 0 && bytes.ContainsRune(text[open:m.first], '\n') {
		inner = indentOf(text, m.first)
	}
	b, err := indentedJSON(value, inner)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	member := fmt.Sprintf("%s: %s", quoted, b)
	if m.last < 0 { // an empty object; there may be comments in it
		tail := "\n" + outer
		if lineIsBlank(text, m.end) {
			return splice(text, lineStart(text, m.end), m.end, []byte(inner+member+tail)), nil
		}
		return splice(text, m.end, m.end, []byte("\n"+inner+member+tail)), nil
	}
	at, lead := m.last, ","
	if m.comma > 0 {
		at, lead = m.comma, ""
		member += ","
	}
	added := "\n" + inner + member
	if !lineIsBlank(text, m.end) && !bytes.ContainsRune(text[at:m.end], '\n') { // all on one line
		added += "\n" + outer
	}
	// A comment behind the last member stays on its line.
	eol := at
	if m.comma < 0 {
		text = splice(text, at, at, []byte(lead))
		eol, m.end = at+1, m.end+1
	}
	if n := bytes.IndexByte(text[eol:m.end], '\n'); n >= 0 {
		eol += n
		if eol > 0 && text[eol-1] == '\r' {
			eol--
		}
		if open := bytes.Index(text[at:eol], []byte("/*")); open >= 0 && !bytes.Contains(text[at+open:eol], []byte("*/")) {
			eol = m.end // a comment over several lines: behind it
		}
	}
	return splice(text, eol, eol, []byte(added)), nil
}

// members says where things are in an object.
type members struct {
	value int // where the value of the key begins; -1: there is none
	first int // where the first member begins; 0: there is none
	last  int // where the last member ends; -1: there is none
	comma int // where the comma behind it ends; -1: there is none
	end   int // where the closing brace is; -1: nowhere
}

// scanObject looks for a key in the object that begins at open.
func scanObject(text []byte, open int, key string) members {
	m := members{value: -1, last: -1, comma: -1, end: -1}
	for i := skipBlank(text, open+1); i < len(text); i = skipBlank(text, i) {
		switch text[i] {
		case '}':
			m.end = i
			return m
		case ',':
			i++
			m.comma = i
			continue
		case '"':
		default:
			return m
		}
		if m.first == 0 {
			m.first = i
		}
		end := skipValue(text, i)
		var name string
		if json.Unmarshal(text[i:end], &name) != nil {
			return m
		}
		colon := skipBlank(text, end)
		if colon >= len(text) || text[colon] != ':' {
			return m
		}
		v := skipBlank(text, colon+1)
		if v >= len(text) {
			return m
		}
		if name == key {
			m.value = v
		}
		i = skipValue(text, v)
		m.last, m.comma = i, -1
	}
	return m
}

// skipBlank returns where, from i on, something is that is no space and no
// comment.
func skipBlank(text []byte, i int) int {
	for i < len(text) {
		switch {
		case strings.IndexByte(" \t\r\n", text[i]) >= 0, bytes.HasPrefix(text[i:], []byte("\ufeff")) && i == 0:
			i++
		case bytes.HasPrefix(text[i:], []byte("//")):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case bytes.HasPrefix(text[i:], []byte("/*")):
			n := bytes.Index(text[i+2:], []byte("*/"))
			if n < 0 {
				return len(text)
			}
			i += n + 4
		default:
			return i
		}
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(text))
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			start := i
			for i < len(text) && strings.IndexByte("{}[]\",:/ \t\r\n", text[i]) < 0 {
				i++
			}
			if i == start {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
		i = skipBlank(text, i)
	}
	return i
}

// indentedJSON is value over several lines, the later ones indented so far.
func indentedJSON(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(indent, "  ")
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func splice(text []byte, from, to int, b []byte) []byte {
	out := make([]byte, 0, len(text)+len(b))
	out = append(out, text[:from]...)
	out = append(out, b...)
	return append(out, text[to:]...)
}

func lineStart(text []byte, i int) int { return bytes.LastIndexByte(text[:i], '\n') + 1 }

// lineIsBlank reports whether there is but space before i in its line, and the
// line is not the first.
func lineIsBlank(text []byte, i int) bool {
	start := lineStart(text, i)
	return start > 0 && len(bytes.TrimSpace(text[start:i])) == 0
}

// indentOf is the space that the line of i begins with.
func indentOf(text []byte, i int) string {
	line := text[lineStart(text, i):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
