package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// toolNames lists for each Op the names under which agents offer such a tool, in order of preference. For names after the shells
// the action is written as a command line.
var toolNames = map[Op][]string{
	OpRead:  {"Read", "read", "read_file", "read_files"},
	OpEdit:  {"Edit", "edit", "edit_file", "replace", "MultiEdit", "apply_patch", "editor"},
	OpWrite: {"Write", "write", "write_file", "apply_patch", "editor"},
	OpShell: {"Bash", "bash", "run_shell_command", "run_commands", "exec_command", "shell", "shell_command", "exec"},
}

// render turns a into a call of a tool that req offers. If no tool fits, it names a shell, and the agent answers with an error.
func render(a Action, root string, req *llm.Request) (name, args string) {
	if a.Op == OpCall {
		return a.Tool, a.Args
	}
	for _, want := range toolNames[a.Op] {
		for _, spec := range offered(req) {
			if spec.Name == want {
				return spec.Name, arguments(a, root, spec.Name, spec.Schema)
			}
		}
	}
	if a.Op != OpShell {
		return render(Shell(commandLine(a)), root, req)
	}
	return "shell", encode(map[string]any{"command": a.Command})
}

// offer is a tool that a request offers.
type offer struct {
	Name   string
	Schema json.RawMessage
}

// offered lists the tools that a request offers. Newer versions of Codex offer tools in an item of the conversation instead of the list.
func offered(req *llm.Request) (out []offer) {
	for _, t := range req.Tools {
		out = append(out, offer{t.Name, t.Schema})
	}
	if len(out) > 0 {
		return out
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind != llm.Opaque || !strings.Contains(p.Raw, `"additional_tools"`) {
				continue
			}
			var item struct {
				Tools []struct {
					Tools []struct {
						Name       string
						Parameters json.RawMessage
					}
				}
			}
			_ = json.Unmarshal([]byte(p.Raw), &item) // an invalid item offers no tools
			for _, space := range item.Tools {
				for _, t := range space.Tools {
					out = append(out, offer{t.Name, t.Parameters})
				}
			}
		}
	}
	return out
}

// schema holds the fields of a JSON Schema that the choice of arguments uses.
type schema struct {
	Properties map[string]struct {
		Type  any
		Items *schema
	}
	Required []string
}

func (s schema) has(key string) bool { _, ok := s.Properties[key]; return ok }

// first returns the first of keys that the schema has, or else keys[0].
func (s schema) first(keys ...string) string {
	for _, k := range keys {
		if s.has(k) {
			return k
		}
	}
	return keys[0]
}

// arguments writes a as the arguments of the tool name, by its JSON Schema.
func arguments(a Action, root, name string, described []byte) string {
	var s schema
	_ = json.Unmarshal(described, &s) // an invalid schema has no properties; then the defaults below apply
	if name == "apply_patch" {
		if len(s.Properties) == 0 {
			return patch(a) // a custom tool: free text
		}
		return encode(map[string]any{s.first("patchText", "input", "patch"): patch(a)})
	}
	if name == "exec" && len(s.Properties) == 0 { // a program that calls tools
		return "const r = await tools.exec_command(" + encode(map[string]any{"cmd": a.Command}) + "); text(r.output)"
	}
	args := map[string]any{}
	if a.Op == OpShell {
		shellArguments(args, a.Command, s)
	} else {
		fileArguments(args, a, root, name, s)
	}
	for _, key := range s.Required {
		if _, ok := args[key]; !ok {
			args[key] = zero(s.Properties[key].Type)
		}
	}
	return encode(args)
}

func shellArguments(args map[string]any, command string, s schema) {
	switch key := s.first("command", "cmd", "commands"); {
	case key == "commands":
		args[key] = []string{command}
	case s.Properties[key].Type == "array":
		args[key] = []string{"bash", "-lc", command}
	default:
		args[key] = command
	}
}

func fileArguments(args map[string]any, a Action, root, name string, s schema) {
	file := a.Path
	if root != "" && !path.IsAbs(file) {
		file = path.Join(root, file)
	}
	if s.has("files") { // several files in one call
		one := map[string]any{"path": file}
		if a.First > 0 {
			one["start_line"], one["end_line"] = a.First, a.Last
		}
		args["files"] = []any{one}
		return
	}
	args[s.first("file_path", "filePath", "filepath", "path", "absolute_path")] = file
	switch a.Op {
	case OpRead:
		switch {
		case a.First == 0:
		case s.has("start_line") && s.has("limit"):
			args["start_line"], args["limit"] = a.First, a.Last-a.First+1
		case s.has("start_line"):
			args["start_line"], args["end_line"] = a.First, a.Last
		case s.has("offset"):
			offset := a.First
			if name == "read_file" && s.has("file_path") {
				offset-- // Qwen Code counts from 0
			}
			args["offset"], args["limit"] = offset, a.Last-a.First+1
		}
	case OpWrite:
		args[s.first("content", "new_text")] = a.Content
	case OpEdit:
		if s.has("edits") {
			one := s
			if items := s.Properties["edits"].Items; items != nil {
				one = *items
			}
			args["edits"] = []any{map[string]any{
				one.first("old_string", "oldString", "oldText", "old_text"): a.Old, one.first("new_string", "newString", "newText", "new_text"): a.New,
			}}
			return
		}
		args[s.first("old_string", "oldString", "oldText", "old_text")] = a.Old
		args[s.first("new_string", "newString", "newText", "new_text")] = a.New
	}
}

// geminiJSON returns the answer to a request in the Gemini format that asks for JSON, as an agent does that chooses its model by
// asking one. ok is false if the request asks for something else.
func geminiJSON(body []byte) (text string, ok bool) {
	var asks struct {
		GenerationConfig struct {
			ResponseMimeType   string
			ResponseSchema     *example
			ResponseJSONSchema *example `json:"responseJsonSchema"`
		}
	}
	if !bytes.Contains(body, []byte("generationConfig")) || json.Unmarshal(body, &asks) != nil || asks.GenerationConfig.ResponseMimeType != "application/json" {
		return "", false
	}
	s := asks.GenerationConfig.ResponseJSONSchema
	if s == nil {
		s = asks.GenerationConfig.ResponseSchema
	}
	return encode(s.value()), true
}

// example has the fields of a JSON Schema from which a value is made.
type example struct {
	Type       any
	Enum       []any
	Properties map[string]*example
}

// value returns a value that fits the schema; an object without one.
func (e *example) value() any {
	switch {
	case e == nil:
		return map[string]any{}
	case len(e.Enum) > 0:
		return e.Enum[0]
	case len(e.Properties) == 0:
		if typ, ok := e.Type.(string); ok {
			return zero(strings.ToLower(typ))
		}
		return zero(nil)
	}
	all := map[string]any{}
	for name, p := range e.Properties {
		all[name] = p.value()
	}
	return all
}

// zero returns a value for a required argument that the script does not set.
func zero(typ any) any {
	switch typ {
	case "boolean":
		return false
	case "integer", "number":
		return 1
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return "scripted"
}

// patch writes an edit or a write in the patch format of apply_patch.
func patch(a Action) string {
	if a.Op == OpWrite {
		return "*** Begin Patch\n*** Add File: " + a.Path + "\n" + prefixed("+", a.Content) + "*** End Patch\n"
	}
	return "*** Begin Patch\n*** Update File: " + a.Path + "\n@@\n" +
		prefixed("-", a.Old) + prefixed("+", a.New) + "*** End Patch\n"
}

func prefixed(prefix, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(prefix + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// commandLine writes an action for an agent that has only a shell.
func commandLine(a Action) string {
	switch {
	case a.Op == OpRead && a.First > 0:
		return fmt.Sprintf("sed -n '%d,%dp' %s", a.First, a.Last, a.Path)
	case a.Op == OpRead:
		return "cat " + a.Path
	default:
		return "apply_patch <<'PATCH'\n" + patch(a) + "PATCH"
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are all made in this package
	}
	return string(b)
}
