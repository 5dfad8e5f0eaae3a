package clients

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

var update = flag.Bool("update", false, "write clients/ts/src/*.gen.ts")

const made = "// Made of the Go types by \"go test ./test/clients -run TestGenerated -update\". Do not edit.\n"

// The types of the TypeScript client are generated from the gateway's schema, which is generated from the Go types, and from the
// specs of the file tools. (FILE-3, FILE-5)
func TestGenerated(t *testing.T) {
	for name, text := range map[string]string{"wire.gen.ts": wireTypes(t), "tools.gen.ts": toolTypes(t)} {
		file := filepath.Join("../../clients/ts/src", name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != text {
			t.Errorf("%s is not of the Go types: run this test with -update", file)
		}
	}
}

// wireTypes returns the types of the frames and of their parts.
func wireTypes(t *testing.T) string {
	raw, err := os.ReadFile("../../server/gateway/wire/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Defs  map[string]json.RawMessage `json:"$defs"`
		OneOf []struct {
			Ref string `json:"$ref"`
		}
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t}
	var frames []string
	for _, one := range all.OneOf {
		name := strings.TrimPrefix(one.Ref, "#/$defs/")
		w.declare(typeName(name), all.Defs[name])
		frames = append(frames, typeName(name))
	}
	return fmt.Sprintf("%s\n/** Version of the protocol. */\nexport const version = %d\n%s\nexport type Frame = %s\n",
		made, wire.Version, w.b.String(), strings.Join(frames, " | "))
}

// codes are the codes with which a call can fail.
var codes = []tool.Code{
	tool.FileNotFound, tool.PermissionDenied, tool.InvalidPath, tool.EncodingError, tool.FileTooLarge, tool.UserRejected,
	tool.ConcurrentModification, tool.RateLimited, tool.Timeout, tool.HostUnavailable, tool.InvalidArgument, tool.Cancelled,
	tool.IsDirectory, tool.BinaryFile, tool.DiskFull,
}

// toolTypes returns the types of the codes and of the file tools.
func toolTypes(t *testing.T) string {
	root, err := workspace.Open(t.TempDir(), workspace.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	var names, specs strings.Builder
	w := &writer{t: t}
	for _, one := range tools.All() {
		s := one.Spec()
		title := typeName(s.Name) + "Arguments"
		w.declare(title, s.Schema)
		fmt.Fprintf(&names, "  %s: %s\n", s.Name, title)
		spec, err := json.MarshalIndent(wire.Tool{
			Name: s.Name, Description: s.Description, Schema: s.Schema, ReadOnly: s.ReadOnly, Destructive: s.Destructive,
		}, "  ", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&specs, "  %s: %s,\n", s.Name, spec)
	}
	var b strings.Builder
	b.WriteString(made + "import type { Tool } from './wire.gen.ts'\n\n/** What a call can fail with. */\nexport type Code =\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "  | '%s'\n", c)
	}
	b.WriteString(w.b.String())
	b.WriteString("\n/** The arguments of the file tools, by name. */\nexport interface FileTools {\n" + names.String() + "}\n")
	b.WriteString("\n/** What the file tools say of themselves. */\nexport const fileTools: Record<keyof FileTools, Tool> = {\n" + specs.String() + "}\n")
	return b.String()
}

// schema has the parts of JSON Schema that the schemas use.
type schema struct {
	Type        kinds           `json:"type"`
	Const       string          `json:"const"`
	Description string          `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	Items       json.RawMessage `json:"items"`
	Required    []string        `json:"required"`
}

// kinds are the types that a value may have, without null.
type kinds []string

func (k *kinds) UnmarshalJSON(b []byte) error {
	var all []string
	if json.Unmarshal(b, &all) != nil {
		all = []string{strings.Trim(string(b), `"`)}
	}
	*k = slices.DeleteFunc(all, func(s string) bool { return s == "null" })
	return nil
}

// writer writes schemas of objects as interfaces.
type writer struct {
	t    *testing.T
	b    strings.Builder
	done []string
}

// declare writes an interface, and after it the interfaces of the objects in it.
func (w *writer) declare(name string, raw json.RawMessage) {
	if slices.Contains(w.done, name) {
		return
	}
	w.done = append(w.done, name)
	s := w.read(raw)
	fmt.Fprintf(&w.b, "\n%sexport interface %s {\n", comment(s.Description, ""), name)
	inner := w.properties(s, func(key string, of schema, raw json.RawMessage) {
		mark := "?"
		if slices.Contains(s.Required, key) {
			mark = ""
		}
		fmt.Fprintf(&w.b, "%s  %s%s: %s\n", comment(of.Description, "  "), key, mark, w.typeOf(key, raw))
	})
	w.b.WriteString("}\n")
	for _, declare := range inner {
		declare()
	}
}

// properties calls visit for the properties of an object in their order. It returns functions that declare the objects among
// them.
func (w *writer) properties(s schema, visit func(key string, of schema, raw json.RawMessage)) (inner []func()) {
	d := json.NewDecoder(strings.NewReader(string(s.Properties)))
	if _, err := d.Token(); err != nil {
		w.t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			w.t.Fatal(err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			w.t.Fatal(err)
		}
		of, object := w.read(raw), raw
		visit(key.(string), of, raw)
		if of.Items != nil {
			object = of.Items
		}
		if w.read(object).Properties != nil {
			inner = append(inner, func() { w.declare(inside(key.(string), of), object) })
		}
	}
	return inner
}

func (w *writer) read(raw json.RawMessage) (s schema) {
	if err := json.Unmarshal(raw, &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// typeOf returns the type of a property.
func (w *writer) typeOf(key string, raw json.RawMessage) string {
	s := w.read(raw)
	if len(s.Type) != 1 {
		w.t.Fatalf("%s has not one type: %s", key, raw)
	}
	switch s.Type[0] {
	case "string":
		if s.Const != "" {
			return "'" + s.Const + "'"
		}
		return "string"
	case "boolean":
		return "boolean"
	case "integer", "number":
		return "number"
	case "array":
		if w.read(s.Items).Properties != nil {
			return inside(key, s) + "[]"
		}
		return w.typeOf(key, s.Items) + "[]"
	case "object":
		if s.Properties != nil {
			return inside(key, s)
		}
		return "Record<string, unknown>"
	}
	w.t.Fatalf("no TypeScript for %s", raw)
	return ""
}

// inside returns the name of the type of the objects in a property.
func inside(key string, s schema) string {
	if s.Items != nil {
		key = strings.TrimSuffix(key, "s")
	}
	return typeName(key)
}

// typeName turns write_file into WriteFile.
func typeName(name string) (out string) {
	for part := range strings.SplitSeq(name, "_") {
		out += strings.ToUpper(part[:1]) + part[1:]
	}
	return out
}

func comment(text, indent string) string {
	if text == "" {
		return ""
	}
	return indent + "/** " + strings.ReplaceAll(text, "\n", " ") + " */\n"
}
