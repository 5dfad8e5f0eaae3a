package tool

import (
	"encoding/json"
	"strings"
)

// PathIn is the path that a call's arguments name, as they do, for a record of
// the call: "" where they name none, and its beginning where it is very long.
func PathIn(arguments json.RawMessage) string {
	var a struct {
		Path any `json:"path"`
	}
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	s, _ := a.Path.(string)
	const most = 4096 // bytes
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
