package agents

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/internal/jsonc"
)

// addTable appends a table to a TOML text. The old text does not change, and the new lines have its line ends. An existing table of
// that name is left alone if it is the same, and is an error otherwise.
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
			return nil, fmt.Errorf("%s is there, but it is not a table; change that by hand, and try again", key)
		}
		at = object(at, key)
	}
	last := path[len(path)-1]
	if there, is := at[last]; is {
		missing, err := jsonc.Missing(there, wanted)
		switch {
		case err != nil:
			return nil, fmt.Errorf("[%s] is there already: %w", name, err)
		case len(missing) > 0:
			return nil, fmt.Errorf("[%s] is there already without %s; add it by hand, or remove the table and try again", name, strings.Join(missing, ", "))
		}
		return text, nil
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
	now := withLineEnds(text, out.Bytes())
	if toml.Unmarshal(now, &after) != nil || !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("%s is written in one line ({ … }): no table can be added to it; make it [%[1]s], or add stet to it by hand",
			strings.Join(path[:len(path)-1], "."))
	}
	return now, nil
}

// plainTable returns entry as it is read back from TOML.
func plainTable(entry map[string]any) (map[string]any, error) {
	b, err := toml.Marshal(entry)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	err = toml.Unmarshal(b, &plain)
	return plain, err
}
