package tool

import (
	"bytes"
	"encoding/json"

	"github.com/stet-dev/stet/internal/limits"
)

// PathIn returns the path in a call's arguments: the member "path", as the call writes it. It returns "" if there is none, and only
// the beginning of a very long path. The rest of the arguments, which may be megabytes, is not read.
func PathIn(arguments json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
		if name == "path" {
			return pathOf(value)
		}
	}
	return ""
}

func pathOf(value json.RawMessage) string {
	var path string
	if json.Unmarshal(value, &path) != nil {
		return ""
	}
	return limits.Shorten(path, limits.Path)
}
