package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

var update = flag.Bool("update", false, "rewrite the generated documents")

// The documents for authors of clients are generated from the Go types. schema.json has a JSON Schema of each type of frame;
// asyncapi.json says who sends which frame.
func TestGeneratedDocuments(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	var any []*jsonschema.Schema
	for _, s := range shapes {
		schemas[s.name] = schemaOf(t, s)
		any = append(any, &jsonschema.Schema{Ref: "#/$defs/" + s.name})
	}
	compare(t, "schema.json", &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: "urn:stet:gateway:1",
		Title: "Frames of the stet gateway, version 1", OneOf: any, Defs: schemas,
	})
	compare(t, "asyncapi.json", asyncAPI(schemas))
}

// schemaOf returns the schema of a type of frame. Flags may be left out. (FILE-3)
func schemaOf(t *testing.T, s *shape) *jsonschema.Schema {
	object := &jsonschema.Schema{Type: "object"}
	out, err := jsonschema.ForType(reflect.TypeOf(s.empty()).Elem(), &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): object,
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[tool.Diff]():       {Type: "string"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	limited(out, reflect.TypeOf(s.empty()).Elem(), -1)
	kind := any(s.name)
	out.Properties["type"] = &jsonschema.Schema{Type: "string", Const: &kind}
	out.PropertyOrder = append([]string{"type"}, out.PropertyOrder...)
	out.Required = append([]string{"type"}, s.required...)
	out.Description = s.about
	return out
}

// limited writes the limits of strings and lists into a schema. The limits are in bytes, and JSON Schema counts characters. A string
// never has more characters than bytes, so the schema refuses no string that the code takes.
func limited(s *jsonschema.Schema, t reflect.Type, most int) {
	number := func(n int) *int { return &n }
	switch t.Kind() {
	case reflect.Pointer:
		limited(s, t.Elem(), most)
	case reflect.String:
		if most >= 0 {
			s.MaxLength = number(most)
		}
	case reflect.Slice:
		if s.Items != nil {
			s.MaxItems = number(limits.List)
			limited(s.Items, t.Elem(), most)
		}
	case reflect.Struct:
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[name]; p != nil {
				limited(p, f.Type, limits.MaxOf(f))
			}
		}
	}
}

func compare(t *testing.T, file string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	if *update {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(have, b) {
		t.Errorf("%s is not what the types say: run go test ./gateway/wire -update (%v)", file, err)
	}
}

// Encoded frames match the schemas, and frames that the schemas refuse are refused by Decode.
func TestSchemasMatch(t *testing.T) {
	for i, f := range samples() {
		resolved, err := schemaOf(t, shapes[i]).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		b := encode(t, f)
		var v map[string]any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v", b, err)
		}
		v["more"] = 1
		if resolved.Validate(v) == nil {
			t.Errorf("%s: the schema takes keys that there are not", TypeOf(f))
		}
	}
}

// doc is a node of a document.
type doc = map[string]any

// roles says what each role sends and receives.
var roles = []struct {
	name, about string
	sends, gets []*shape
}{
	{Agent, "makes calls", []*shape{hello, toolCall, cancel, part, taken, ack, fault}, []*shape{hello, toolResult, progress, part, taken, event, fault, ack}},
	{Host, "has a workspace, and does the calls", []*shape{hello, toolResult, progress, part, taken, question, fault, ack}, []*shape{hello, toolCall, cancel, progress, part, taken, question, event, fault, ack}},
}

// asyncAPI returns the AsyncAPI document.
func asyncAPI(schemas map[string]*jsonschema.Schema) doc {
	messages, onChannel, operations := doc{}, doc{}, doc{}
	for _, s := range shapes {
		messages[s.name] = doc{"name": s.name, "summary": s.about, "contentType": "application/json", "payload": schemas[s.name]}
		onChannel[s.name] = doc{"$ref": "#/components/messages/" + s.name}
	}
	for _, r := range roles {
		for action, frames := range map[string][]*shape{"receive": r.sends, "send": r.gets} {
			verb := map[string]string{"receive": "Sends", "send": "Gets"}[action]
			var refs []doc
			for _, s := range frames {
				refs = append(refs, doc{"$ref": "#/channels/connect/messages/" + s.name})
			}
			operations[r.name+verb] = doc{
				"action": action, "channel": doc{"$ref": "#/channels/connect"}, "messages": refs,
				"summary": "What the role " + r.name + ", which " + r.about + ", " + map[string]string{"Sends": "sends", "Gets": "gets"}[verb] + ".",
			}
		}
	}
	return doc{
		"asyncapi": "3.0.0",
		"info": doc{
			"title": "stet gateway", "version": "1",
			"description": "Connects agents with workspaces on other machines, and with the people who decide about their writes. A frame is a JSON object in one text message.",
		},
		"defaultContentType": "application/json",
		"channels": doc{"connect": doc{
			"address": "/v1/connect", "messages": onChannel,
			"description": "A WebSocket. The token goes into the header Authorization (Bearer), or into a subprotocol stet.token.TOKEN beside stet.v1.",
		}},
		"operations": operations,
		"components": doc{"messages": messages},
	}
}
