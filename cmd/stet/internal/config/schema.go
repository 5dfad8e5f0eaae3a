package config

import (
	"bytes"
	"encoding/json"
)

// Schema returns a JSON Schema of a configuration file, for editors.
func Schema() (string, error) {
	properties := map[string]any{}
	for _, k := range keys {
		p := map[string]any{"type": map[Type]string{text: "string", Number: "integer", Bool: "boolean", tables: "array", table: "object"}[k.Type], "description": k.Doc}
		if k.Doc == "" {
			p["description"] = k.Help
		}
		if k.Values != nil {
			p["enum"] = k.Values
		}
		if k.Default != nil && k.Default != "" {
			p["default"] = k.Default
		}
		if k.Type == tables {
			p["items"] = map[string]string{"type": "object"}
		}
		properties[k.Name] = p
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "stet configuration",
		"type": "object", "additionalProperties": false, "properties": properties,
	})
	return b.String(), err
}
