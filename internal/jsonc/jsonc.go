// Package jsonc reads JSON with comments and trailing commas, and adds members
// to such a text without changing anything else in it. Configuration files of
// editors and agents are written in it.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/stet-dev/stet/internal/invisible"
)

// Unmarshal is json.Unmarshal for a text that may have comments and trailing
// commas, and may begin with a byte-order mark.
func Unmarshal(text []byte, v any) error {
	standard, err := hujson.Standardize(bytes.Clone(invisible.SkipMark(text)))
	if err != nil {
		return err
	}
	return json.Unmarshal(standard, v)
}

// Add adds an entry to the object at a path of keys, and returns the new text. Missing objects on the path are made; an empty text
// counts as an empty object. New lines have the line ends and the indentation of the text. All other bytes stay.
//
// If the entry exists, its members are kept, and only missing members are added. A member with another value is an error that names
// it, because the person may have set it on purpose; see Missing.
func Add(text []byte, path []string, entry map[string]any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("this is no object of JSON: %w", err)
	}
	at := &root
	for depth, key := range path {
		object, ok := at.Value.(*hujson.Object)
		switch {
		case !ok && depth == 0:
			return nil, errors.New("this is no object of JSON")
		case !ok:
			return nil, fmt.Errorf("%s is there and no object", strings.Join(path[:depth], "."))
		}
		next, err := member(object, key)
		if err != nil {
			return nil, fmt.Errorf("%s %w", strings.Join(path[:depth+1], "."), err)
		}
		if next == nil {
			var value any = entry
			for _, key := range slices.Backward(path[depth+1:]) {
				value = map[string]any{key: value}
			}
			err := insert(object, key, value, layoutOf(text, at))
			return root.Pack(), err
		}
		at = next
	}
	return complete(text, &root, at, path, entry)
}

// complete adds the missing members of entry to the object at.
func complete(text []byte, root, at *hujson.Value, path []string, entry map[string]any) ([]byte, error) {
	var there any
	if err := Unmarshal(at.Pack(), &there); err != nil {
		return nil, err
	}
	wanted, err := asRead(entry)
	if err != nil {
		return nil, err
	}
	missing, err := Missing(there, wanted)
	if err != nil {
		return nil, fmt.Errorf("%s is there already: %w", strings.Join(path, "."), err)
	}
	object, _ := at.Value.(*hujson.Object) // Missing has checked that it is an object
	l := layoutOf(text, at)
	for _, key := range missing {
		if err := insert(object, key, entry[key], l); err != nil {
			return nil, err
		}
	}
	return root.Pack(), nil
}

// Missing returns the keys of wanted that an entry does not have, sorted. It returns an error if the entry has another value for a
// key, or is not an object. An empty object in wanted accepts any value.
func Missing(entry any, wanted map[string]any) (missing []string, err error) {
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
		case isTable && len(table) == 0:
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

// asRead returns entry with the types of json.Unmarshal.
func asRead(entry map[string]any) (plain map[string]any, err error) {
	b, err := json.Marshal(entry)
	if err == nil {
		err = json.Unmarshal(b, &plain)
	}
	return plain, err
}

// member returns the value of a key in an object, or nil.
func member(object *hujson.Object, key string) (found *hujson.Value, err error) {
	for i := range object.Members {
		m := &object.Members[i]
		if name, ok := m.Name.Value.(hujson.Literal); !ok || name.String() != key {
			continue
		}
		if found != nil {
			return nil, errors.New("is there twice: remove one, and try again")
		}
		found = &m.Value
	}
	return found, nil
}

// layout describes the formatting of an object's members in the text.
type layout struct {
	newline string // "\n" or "\r\n"
	outer   string // indentation of the line in which the object begins
	inner   string // indentation of its members
}

func layoutOf(text []byte, at *hujson.Value) layout {
	l := layout{newline: "\n"}
	if n := bytes.IndexByte(text, '\n'); n > 0 && text[n-1] == '\r' {
		l.newline = "\r\n"
	}
	l.outer = indentation(text, at.StartOffset)
	l.inner = l.outer + "  "
	object, ok := at.Value.(*hujson.Object)
	if !ok || len(object.Members) == 0 {
		return l
	}
	if first := object.Members[0].Name; bytes.ContainsRune(first.BeforeExtra, '\n') {
		l.inner = indentation(text, first.StartOffset)
	}
	return l
}

// indentation returns the white space at the beginning of the line at offset.
func indentation(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// insert adds a member after the others of an object. Comments after the last member stay there.
func insert(object *hujson.Object, key string, value any, l layout) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(l.inner, "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	parsed, err := hujson.Parse(bytes.ReplaceAll(bytes.TrimSpace(b.Bytes()), []byte("\n"), []byte(l.newline)))
	if err != nil {
		return err
	}
	comments := bytes.TrimRight(object.AfterExtra, " \t\r\n")
	end := object.AfterExtra[len(comments):]
	if bytes.HasPrefix(end, []byte(l.newline)) {
		end = end[bytes.LastIndexByte(end, '\n')+1:]
	} else if !bytes.ContainsRune(end, '\n') {
		end = []byte(l.outer)
	}
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(key)}, Value: parsed}
	m.Name.BeforeExtra = slices.Concat(comments, []byte(l.newline+l.inner))
	m.Value.BeforeExtra = hujson.Extra(" ")
	if n := len(object.Members); n > 0 && object.Members[n-1].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{} // the text has a comma after the last member
	}
	object.Members = append(object.Members, m)
	object.AfterExtra = slices.Concat([]byte(l.newline), end)
	return nil
}
