package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

// Bounds on what a model is told of the tools of a Group. What is beyond them
// stands in every request, and endpoints refuse it: then nothing could be asked
// any more.
const (
	maxTools = 100       // of all servers together; some endpoints take 128 in all
	maxAbout = 4 << 10   // of a description, in bytes
	maxSpecs = 192 << 10 // of all descriptions and schemas, in bytes
)

// ErrPart says that some of a server's tools are not among those of the Group.
var ErrPart = errors.New("only a part of its tools is used")

// specOf is what a model is told of a tool, but for the name.
func specOf(t *mcp.Tool) tool.Spec {
	about := t.Description
	if about == "" {
		about = t.Title
	}
	schema, beside := schemaOf(t.InputSchema)
	s := tool.Spec{Description: cut(about+beside, maxAbout), Schema: schema, Destructive: true}
	if a := t.Annotations; a != nil {
		s.ReadOnly = a.ReadOnlyHint
		s.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
	}
	return s
}

// alternatives are what endpoints refuse at the top of a schema.
var alternatives = []string{"allOf", "anyOf", "enum", "not", "oneOf"}

// schemaOf is a schema as all endpoints take it: of an object, whose properties
// are named. What they do not take is put into words, for the server insists on it.
func schemaOf(schema any) (out json.RawMessage, beside string) {
	var members map[string]json.RawMessage
	raw, err := json.Marshal(schema)
	if err != nil || json.Unmarshal(raw, &members) != nil || members == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), ""
	}
	odd := map[string]json.RawMessage{}
	for _, name := range alternatives {
		if said, ok := members[name]; ok {
			odd[name] = said
			delete(members, name)
		}
	}
	whole := len(odd) == 0
	if string(members["type"]) != `"object"` {
		members["type"], whole = json.RawMessage(`"object"`), false
	}
	if !strings.HasPrefix(string(members["properties"]), "{") {
		members["properties"], whole = json.RawMessage("{}"), false
	}
	if whole {
		return raw, ""
	}
	if out, err = json.Marshal(members); err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), ""
	}
	if len(odd) > 0 {
		if said, err := json.Marshal(odd); err == nil {
			beside = "\n\nThe arguments have to match this schema too: " + string(said)
		}
	}
	return out, beside
}

// cut is s, or the beginning of it that has n bytes at most.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// room is what is left of the bounds.
type room struct{ tools, bytes int }

// take takes as many tools of a server as there is room for, in its order. The
// error says that some are left out.
func (r *room) take(c *client) ([]*remote, error) {
	taken := slices.DeleteFunc(slices.Clone(c.tools), func(t *remote) bool {
		size := len(t.spec.Description) + len(t.spec.Schema)
		if r.tools == 0 || size > r.bytes {
			return true
		}
		r.tools--
		r.bytes -= size
		return false
	})
	if len(taken) == len(c.tools) && !c.more {
		return taken, nil
	}
	return taken, fmt.Errorf("MCP server %s: %w, %d: a model can be told of %d tools in %d KiB", plain(c.server.Name), ErrPart, len(taken), maxTools, maxSpecs>>10)
}
