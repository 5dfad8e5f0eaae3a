package codectest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// text draws a text that JSON preserves. It has other characters than space, because a format may leave out blank texts.
func text(t *rapid.T, label string) string {
	lossless := func(s string) bool { return !strings.ContainsRune(s, '\ufffd') && strings.TrimSpace(s) != "" }
	return rapid.StringN(1, 30, -1).Filter(lossless).Draw(t, label)
}

func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // v has only strings
	}
	return string(b)
}

// words draws the parts of a text.
func words(t *rapid.T, label string) []llm.Part {
	var parts []llm.Part
	for range rapid.IntRange(1, 2).Draw(t, label) {
		parts = append(parts, llm.Part{Text: text(t, label)})
	}
	return parts
}

// request draws a request in the form that Decode returns: first the system text, and then user messages, answers of the model,
// and results.
func (f Format) request(t *rapid.T) *llm.Request {
	req := &llm.Request{
		Model: text(t, "model"), MaxTokens: rapid.IntRange(f.MinLimit, 1e6).Draw(t, "max"),
		Stream: rapid.Bool().Draw(t, "stream"), SessionKey: rapid.StringMatching(`[a-z0-9-]{0,9}`).Draw(t, "key"),
	}
	if f.Pathed {
		req.Model, req.Stream, req.SessionKey = "", false, ""
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
		req.AddTool(fmt.Sprint("tool", i), text(t, "description"), []byte(`{"type":"object"}`))
	}
	add := func(role llm.Role, parts ...llm.Part) {
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: parts})
	}
	if rapid.Bool().Draw(t, "system") {
		add(llm.System, words(t, "system")...)
	}
	add(llm.User, words(t, "user")...)
	for i := range rapid.IntRange(0, 5).Draw(t, "turns") {
		answer, results := f.turn(t, i)
		add(llm.Assistant, answer...)
		if f.Together && len(results) > 0 {
			add(llm.Tool, results...)
		} else {
			for _, r := range results {
				add(llm.Tool, r)
			}
		}
		if len(results) == 0 || rapid.Bool().Draw(t, "speaks") {
			add(llm.User, append(words(t, "user"), llm.Part{Kind: llm.Opaque, Raw: f.Opaque})...)
		}
	}
	return req
}

// turn draws an answer of the model and the results of its calls.
func (f Format) turn(t *rapid.T, i int) (answer, results []llm.Part) {
	if rapid.Bool().Draw(t, "thinks") {
		thought := text(t, "thought")
		answer = append(answer, llm.Part{Kind: llm.Thinking, Text: thought, Raw: fmt.Sprintf(f.Thought, quoted(thought))})
	}
	answer = append(answer, words(t, "answer")...)
	for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
		id := fmt.Sprintf("call_%d_%d", i, j)
		args := quoted(map[string]string{"path": text(t, "args")})
		if f.Free && rapid.Bool().Draw(t, "free") {
			args = "*** " + text(t, "args")
		}
		answer = append(answer, llm.Part{Kind: llm.ToolCall, CallID: id, Name: "tool0", Args: args})
		results = append(results, llm.Part{Kind: llm.ToolResult, CallID: id, Text: text(t, "result"),
			IsError: f.Flagged && rapid.Bool().Draw(t, "error")})
	}
	return answer, results
}
