package rpclines

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/rawjson"
)

// Oversize says what in a message is too long; "": nothing. Names have at most limits.Name bytes, paths
// limits.Path, and lists limits.List entries. The whole has at most most bytes besides payloads: payload has, for a method, the member of
// its parameters that has no limit here; a result has none either. What is not JSON is not looked at.
func Oversize(body []byte, most int, payload map[string]string) string {
	m := measured{around: len(body), payload: payload}
	m.message(body)
	if m.around > most {
		return fmt.Sprintf("the message has %d bytes besides its payload, at most %d", m.around, most)
	}
	for _, part := range m.parts {
		var v any
		if json.Unmarshal(part.value, &v) == nil {
			if why := long(part.key, v); why != "" {
				return why
			}
		}
	}
	return ""
}

// measured has the parts of messages whose strings are limited, and the number of bytes without payloads.
type measured struct {
	payload map[string]string
	around  int
	parts   []member
}

type member struct {
	key   string
	value []byte
}

func (m *measured) message(body []byte) {
	var params []byte
	free := ""
	for _, of := range members(body) {
		switch of.key {
		case "params":
			params = of.value
		case "result":
			m.around -= len(of.value)
		case "method":
			method, _ := rawjson.Unquote(of.value) // "" has no payload
			free = m.payload[method]
			fallthrough
		default:
			m.parts = append(m.parts, of)
		}
	}
	if free == "" {
		m.parts = append(m.parts, member{"params", params})
		return
	}
	for _, of := range members(params) {
		if of.key == free {
			m.around -= len(of.value)
		} else {
			m.parts = append(m.parts, of)
		}
	}
}

// members returns the members of an object; none if it is another value.
func members(object []byte) (all []member) {
	s := rawjson.New(object)
	for s.Enter('{'); s.Next(); {
		key, at := string(s.Key()), s.Skip()
		if s.Err() != nil {
			return all
		}
		all = append(all, member{key, at.Of(object)})
	}
	return all
}

// Members that name something, and those that have a path.
var (
	names = []string{
		"id", "method", "name", "version", "title", "protocolVersion", "progressToken", "requestId", "requestState", "level", "cursor",
		"sessionId", "modeId", "methodId", "optionId", "messageId",
	}
	paths = []string{"cwd", "path", "uri", "command", "url"}
)

// long says what in a value is too long.
func long(key string, v any) string {
	switch v := v.(type) {
	case string:
		most := len(v)
		if slices.Contains(names, key) {
			most = limits.Name
		} else if slices.Contains(paths, key) {
			most = limits.Path
		}
		if len(v) > most {
			return fmt.Sprintf("%s has %d bytes, at most %d", key, len(v), most)
		}
	case []any:
		if len(v) > limits.List {
			return fmt.Sprintf("%s has %d entries, at most %d", limits.Clip(key, limits.Name), len(v), limits.List)
		}
		for _, one := range v {
			if why := long(key, one); why != "" {
				return why
			}
		}
	case map[string]any:
		for key, one := range v {
			if why := long(key, one); why != "" {
				return why
			}
		}
	}
	return ""
}
