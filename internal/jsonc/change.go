package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// Lookup returns the value at a path of keys. ok is false if there is none.
func Lookup(text []byte, path []string) (value any, ok bool, err error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil, false, nil
	}
	var root any
	if err := Unmarshal(text, &root); err != nil {
		return nil, false, fmt.Errorf("this is no object of JSON: %w", err)
	}
	for _, key := range path {
		object, is := root.(map[string]any)
		if !is {
			return nil, false, nil
		}
		if root, ok = object[key]; !ok {
			return nil, false, nil
		}
	}
	return root, true, nil
}

// Replace replaces the value at a path of keys. All other bytes stay.
func Replace(text []byte, path []string, value any) ([]byte, error) {
	return change(text, path, func(object *hujson.Object, i int) error {
		b, err := json.Marshal(value)
		if err != nil {
			return err
		}
		now, err := hujson.Parse(b)
		object.Members[i].Value.Value = now.Value
		return err
	})
}

// Remove removes the member at a path of keys. All other bytes stay, also comments before it.
func Remove(text []byte, path []string) ([]byte, error) {
	return change(text, path, func(object *hujson.Object, i int) error {
		gone := object.Members[i]
		after := &object.AfterExtra
		last := i == len(object.Members)-1
		if !last {
			after = &object.Members[i+1].Name.BeforeExtra
		}
		*after = slices.Concat(bytes.TrimRight(gone.Name.BeforeExtra, " \t\r\n"), *after)
		object.Members = slices.Delete(object.Members, i, i+1)
		if last && i > 0 && gone.Value.AfterExtra == nil { // the text has no comma after the last member
			object.Members[i-1].Value.AfterExtra = nil
		}
		return nil
	})
}

// change changes the member at a path of keys, which is member i of an object.
func change(text []byte, path []string, do func(object *hujson.Object, i int) error) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("this is no object of JSON: %w", err)
	}
	at := &root
	for depth, key := range path {
		object, ok := at.Value.(*hujson.Object)
		i := -1
		if ok {
			i = slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool {
				name, ok := m.Name.Value.(hujson.Literal)
				return ok && name.String() == key
			})
		}
		switch {
		case i < 0:
			return nil, fmt.Errorf("%s does not exist", strings.Join(path[:depth+1], "."))
		case depth == len(path)-1:
			if err := do(object, i); err != nil {
				return nil, err
			}
			return root.Pack(), nil
		}
		at = &object.Members[i].Value
	}
	return nil, errors.New("there is no path to change")
}

// Append adds a value at the end of the list at a path of keys. Missing objects and the list are made. All other bytes stay.
func Append(text []byte, path []string, value any) ([]byte, error) {
	v, there, err := Lookup(text, path)
	if err != nil {
		return nil, err
	}
	last := len(path) - 1
	if !there {
		return Add(text, path[:last], map[string]any{path[last]: []any{value}})
	}
	if _, is := v.([]any); !is {
		return nil, fmt.Errorf("%s is there and no list", strings.Join(path, "."))
	}
	return patch(text, map[string]any{"op": "add", "path": pointer(path, "-"), "value": value})
}

// RemoveAt removes element i of the list at a path of keys. All other bytes stay.
func RemoveAt(text []byte, path []string, i int) ([]byte, error) {
	return patch(text, map[string]any{"op": "remove", "path": pointer(path, strconv.Itoa(i))})
}

// pointer returns a JSON pointer (RFC 6901).
func pointer(path []string, end string) (p string) {
	for _, key := range append(slices.Clip(path), end) {
		p += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	return p
}

// patch does one operation of a JSON patch (RFC 6902).
func patch(text []byte, operation map[string]any) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("this is no object of JSON: %w", err)
	}
	b, err := json.Marshal([]any{operation})
	if err == nil {
		err = root.Patch(b)
	}
	return root.Pack(), err
}
