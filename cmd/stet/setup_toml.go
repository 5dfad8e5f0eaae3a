package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// addTable puts a table behind a text of TOML, which stays byte for byte. A
// table of that name is left as it is if it says the same, and is an error
// otherwise.
func addTable(text []byte, path []string, entry map[string]any) ([]byte, error) {
	var before map[string]any
	if err := toml.Unmarshal(text, &before); err != nil {
		return nil, err
	}
	if before == nil {
		before = map[string]any{}
	}
	wanted, err := plainTable(entry)
	if err != nil {
		return nil, err
	}
	name := strings.Join(path, ".")
	at := before
	for _, key := range path[:len(path)-1] {
		if _, is := at[key].(map[string]any); !is && at[key] != nil {
			return nil, fmt.Errorf("%s is there and no table", key)
		}
		at = object(at, key)
	}
	last := path[len(path)-1]
	if there, is := at[last]; is {
		if has, _ := there.(map[string]any); holdsAll(has, wanted) {
			return text, nil
		}
		return nil, fmt.Errorf("[%s] is there already and says something else: change it by hand, or remove it", name)
	}
	at[last] = wanted
	body, err := toml.Marshal(entry)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(text)
	if len(text) > 0 {
		if !bytes.HasSuffix(text, []byte("\n")) {
			out.WriteByte('\n')
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "[%s]\n%s", name, body)
	var after map[string]any
	if toml.Unmarshal(out.Bytes(), &after) != nil || !reflect.DeepEqual(before, after) {
		return nil, errors.New("a table cannot be added behind what is there")
	}
	return out.Bytes(), nil
}

// plainTable is entry as it is read back.
func plainTable(entry map[string]any) (map[string]any, error) {
	b, err := toml.Marshal(entry)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	err = toml.Unmarshal(b, &plain)
	return plain, err
}

// holdsAll reports whether table has what wanted has.
func holdsAll(table, wanted map[string]any) bool {
	merged := maps.Clone(wanted)
	for key := range wanted {
		merged[key] = table[key]
	}
	return table != nil && reflect.DeepEqual(merged, wanted)
}
