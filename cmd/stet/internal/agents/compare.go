package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm/llmtest"
)

// Capture is an agent's first request, taken apart: header by header, beta by beta, tool by tool, and the body key by key.
type Capture struct {
	API   string // the wire format
	Tools int
	Bytes int // of the body
	parts map[string]any
}

// FirstRequest takes the first request that has a text apart, that with tools if one has them.
func FirstRequest(all []llmtest.Request, text string) (first *Capture, err error) {
	for _, q := range all {
		if q.Wire == "" || !bytes.Contains(q.Body, []byte(text)) {
			continue
		}
		c, err := captureOf(q)
		if err != nil || c.Tools > 0 {
			return c, err
		}
		if first == nil {
			first = c
		}
	}
	if first == nil {
		err = errors.New("no request has come")
	}
	return first, err
}

// captureOf takes a request apart.
func captureOf(q llmtest.Request) (*Capture, error) {
	var body map[string]any
	if err := json.Unmarshal(q.Body, &body); err != nil {
		return nil, fmt.Errorf("the body of %s: %w", q.Path, err)
	}
	header, betas, tools := map[string]any{}, map[string]any{}, map[string]any{}
	for name, values := range q.Header {
		value := strings.Join(values, ", ")
		switch name {
		case "Content-Length": // it follows from the body
		case "Anthropic-Beta", "Openai-Beta":
			for beta := range strings.SplitSeq(value, ",") {
				betas[strings.TrimSpace(beta)] = "sent"
			}
		default:
			header[strings.ToLower(name)] = value
		}
	}
	addTools(tools, "", body["tools"])
	delete(body, "tools")
	input, _ := body["input"].([]any)
	for _, item := range input {
		if item, _ := item.(map[string]any); item["type"] == "additional_tools" { // of the Responses API
			addTools(tools, "", item["tools"])
			delete(item, "tools")
		}
	}
	if blocks, is := body["system"].([]any); is {
		body["system"] = systemText(blocks)
	}
	path := q.Method + " " + q.Path
	if q.Query != "" {
		path += "?" + q.Query
	}
	if q.Socket {
		path = "WebSocket " + q.Path
	}
	return &Capture{API: q.Wire, Tools: len(tools), Bytes: len(q.Body), parts: map[string]any{
		"request": path, "header": header, "beta": betas, "tool": tools, "body": body,
	}}, nil
}

// systemText returns the lines of a system text, and its cache markers, wherever the text is cut into blocks.
func systemText(blocks []any) map[string]any {
	lines, markers := []any{}, []any{}
	for i, b := range blocks {
		block, _ := b.(map[string]any)
		if i > 0 {
			lines = append(lines, "")
		}
		s, _ := block["text"].(string)
		for line := range strings.SplitSeq(s, "\n") {
			lines = append(lines, line)
		}
		if marker := block["cache_control"]; marker != nil {
			markers = append(markers, marker)
		}
	}
	return map[string]any{"text": lines, "cache_control": markers}
}

// addTools adds the tools of a list by their names. An entry may hold further tools: a namespace of the Responses API, or the one entry of
// Gemini's API.
func addTools(all map[string]any, namespace string, list any) {
	entries, _ := list.([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		named := entry
		if f, is := entry["function"].(map[string]any); is {
			named = f
		}
		name, _ := named["name"].(string)
		if name == "" {
			name, _ = entry["type"].(string) // a tool of the provider
		}
		if namespace != "" {
			name = namespace + "." + name
		}
		switch {
		case entry["functionDeclarations"] != nil:
			addTools(all, "", entry["functionDeclarations"])
		case entry["tools"] != nil:
			addTools(all, name, entry["tools"])
		default:
			all[name] = entry
		}
	}
}

// Difference is one thing in which a request is not as the one that the agent sends directly.
type Difference struct {
	What   string `json:"what"` // "beta NAME", "header name", "tool Name", "body system.1.cache_control"
	How    string `json:"how"`  // missing, added or changed
	Was    string `json:"was,omitempty"`
	Is     string `json:"is,omitempty"`
	Reason string `json:"reason,omitempty"` // why it is expected; empty: it is not
	Keep   string `json:"keep,omitempty"`   // how the agent sends what is missing all the same
	// Connection says that it concerns the connection, and not the request.
	Connection bool `json:"connection,omitempty"`
}

// Compare returns the differences of a request from the one that the agent sends directly. other is a second request that the agent
// has sent directly: what differs between these two (ids, times) differs always, and is left out. Each known difference of this
// version of the agent in this way has its reason.
func Compare(direct, other, c *Capture, agent, version, way string) []Difference {
	var always, all []Difference
	differences(&always, "", direct.parts, other.parts)
	differences(&all, "", direct.parts, c.parts)
	all = slices.DeleteFunc(all, func(d Difference) bool {
		return slices.ContainsFunc(always, func(a Difference) bool { return a.What == d.What && (a.How != "changed" || d.How == "changed") })
	})
	for i := range all {
		all[i].explain(agent, version, way)
	}
	return all
}

// differences appends the differences of b from a. Of what is missing as a whole only its name is listed.
func differences(all *[]Difference, at string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, is := b.(map[string]any); is {
			for _, key := range slices.Sorted(maps.Keys(a)) {
				if v, ok := b[key]; ok {
					differences(all, below(at, key), a[key], v)
				} else {
					*all = append(*all, Difference{What: below(at, key), How: "missing", Was: short(a[key])})
				}
			}
			for _, key := range slices.Sorted(maps.Keys(b)) {
				if _, ok := a[key]; !ok {
					*all = append(*all, Difference{What: below(at, key), How: "added", Is: short(b[key])})
				}
			}
			return
		}
	case []any:
		if b, is := b.([]any); is {
			for i := range max(len(a), len(b)) {
				switch here := below(at, strconv.Itoa(i)); {
				case i >= len(b):
					*all = append(*all, Difference{What: here, How: "missing", Was: short(a[i])})
				case i >= len(a):
					*all = append(*all, Difference{What: here, How: "added", Is: short(b[i])})
				default:
					differences(all, here, a[i], b[i])
				}
			}
			return
		}
	}
	if x, y := asText(a), asText(b); x != y {
		*all = append(*all, Difference{What: at, How: "changed", Was: fromDifference(x, y), Is: fromDifference(y, x)})
	}
}

// below returns the name of a part: "header NAME", "body KEY.KEY".
func below(at, key string) string {
	switch {
	case at == "":
		return key
	case strings.Contains(at, " "):
		return at + "." + key
	}
	return at + " " + key
}

func asText(v any) string {
	if s, is := v.(string); is {
		return s
	}
	b, _ := json.Marshal(v) // it was JSON
	return string(b)
}

// short returns the beginning of a value.
func short(v any) string { return limits.Shorten(asText(v), 80) }

// fromDifference returns a text from a little before it differs from another.
func fromDifference(s, other string) string {
	n := 0
	for n < len(s) && n < len(other) && s[n] == other[n] {
		n++
	}
	return short(strings.ToValidUTF8(s[max(0, n-20):], ""))
}
