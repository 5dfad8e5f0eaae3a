package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// Limits for the descriptions of a Group's tools. The descriptions are part of every request to the model, and endpoints refuse
// requests with more.
const (
	maxTools = 100       // tools of all servers; some endpoints accept 128 tools in total
	maxAbout = 4 << 10   // bytes of one description
	maxSpecs = 192 << 10 // bytes of all descriptions and schemas
)

// ErrPart says that some tools of a server are not in the Group.
var ErrPart = errors.New("only a part of its tools is used")

// Missing returns the text for a person about an error of [Group.Tools]. The error may contain words of a server, so control
// characters are escaped.
func Missing(err error) string {
	missing := "it"
	if errors.Is(err, ErrPart) {
		missing = "the others"
	}
	return invisible.Escape(fmt.Sprintf("%v. The agent works without %s.", err, missing), nil)
}

// specOf returns the description of a tool for a model, without the name.
func specOf(t *mcp.Tool) tool.Spec {
	about := t.Description
	if about == "" {
		about = t.Title
	}
	schema, inWords := schemaOf(t.InputSchema)
	s := tool.Spec{Description: limits.Shorten(about+inWords, maxAbout), Schema: schema, Destructive: true}
	if a := t.Annotations; a != nil {
		s.ReadOnly = a.ReadOnlyHint
		s.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
	}
	return s
}

// alternatives are the members that endpoints refuse at the top level of a schema.
var alternatives = []string{"allOf", "anyOf", "enum", "not", "oneOf"}

// schemaOf returns a schema in the form that all endpoints accept: an object with properties. inWords describes the removed
// members, because the server still requires them.
func schemaOf(schema any) (out json.RawMessage, inWords string) {
	var members map[string]json.RawMessage
	raw, err := json.Marshal(schema)
	if err != nil || json.Unmarshal(raw, &members) != nil || members == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), ""
	}
	removed := map[string]json.RawMessage{}
	for _, name := range alternatives {
		if member, ok := members[name]; ok {
			removed[name] = member
			delete(members, name)
		}
	}
	whole := len(removed) == 0
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
	if len(removed) > 0 {
		if said, err := json.Marshal(removed); err == nil {
			inWords = "\n\nThe arguments have to match this schema too: " + string(said)
		}
	}
	return out, inWords
}

// bounds are the numbers of tools and of bytes of descriptions that are still free.
type bounds struct{ tools, bytes int }

// take returns the tools of a server that fit, in the server's order. The error says that some do not fit.
func (r *bounds) take(c *client) ([]*remoteTool, error) {
	taken := slices.DeleteFunc(slices.Clone(c.tools), func(t *remoteTool) bool {
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
	return taken, fmt.Errorf("MCP server %s: %w, %d: a model can be given %d tools in %d KiB", plain(c.server.Name), ErrPart, len(taken), maxTools, maxSpecs>>10)
}
