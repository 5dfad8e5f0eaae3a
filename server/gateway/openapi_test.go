package gateway

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/limits"
)

var update = flag.Bool("update", false, "rewrite openapi.json")

type doc = map[string]any

// openapi.json matches the frames and the routes.
func TestOpenAPI(t *testing.T) {
	b, err := os.ReadFile("wire/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var frames struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(b, &frames); err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(openAPIDoc(frames.Defs), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, openAPI) {
		t.Error("openapi.json is not what it should be: run go test ./gateway -run TestOpenAPI -update")
	}
	hub, _ := newHub(t, Config{})
	for path, ops := range openAPIDoc(frames.Defs)["paths"].(doc) {
		for method := range ops.(doc) {
			r := httptest.NewRequest(strings.ToUpper(method), "http://127.0.0.1"+strings.NewReplacer("{", "", "}", "").Replace(path), nil)
			r.Header.Set("Authorization", "Bearer agent-a")
			w := httptest.NewRecorder()
			hub.Handler().ServeHTTP(w, r)
			if w.Code == http.StatusMethodNotAllowed || w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "page not found") {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

func openAPIDoc(frames map[string]json.RawMessage) doc {
	ref := func(name string) doc { return doc{"$ref": "#/components/schemas/" + name} }
	body := func(about, schema string) doc {
		return doc{"description": about, "content": doc{"application/json": doc{"schema": ref(schema)}}}
	}
	in := func(where, name, about string, schema doc) doc {
		return doc{"name": name, "in": where, "required": where == "path", "description": about, "schema": schema}
	}
	name := doc{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}
	whole := doc{"type": "integer", "minimum": 0}
	session := in("path", "session", "Client session: limits, grants and undo go by it. Any name; no other token reaches it.", name)
	callID := in("path", "call", "The call's id", name)
	wait := in("query", "wait", "Seconds to wait for the result; 45 if left out, 600 at most", whole)
	results := doc{
		"200": body("What the call came to; a failed call has its code in error", "tool_result"),
		"202": doc{"description": "It goes on, with tool_result where it waits for a person: await it by its call_id", "content": doc{
			"application/json": doc{"schema": doc{"oneOf": []doc{ref("tool_result"), ref("progress")}}},
		}},
		"400": body("The request is wrong", "error"), "401": body("No token, or not a good one", "error"),
		"403": body("Not for this token, this host name or this origin", "error"),
	}
	with := func(more doc) doc {
		out := doc{}
		for k, v := range results {
			out[k] = v
		}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	gone := doc{"404": body("There is no such call", "error")}
	return doc{
		"openapi":  "3.1.0",
		"info":     doc{"title": "stet gateway", "version": "1", "description": "Calls to the tools of workspaces, over plain HTTP."},
		"security": []doc{{"token": []string{}}},
		"paths": doc{
			"/v1/workspaces": doc{"get": doc{
				"summary": "The workspaces that have a host, with their tools", "operationId": "workspaces",
				"responses": doc{"200": body("The list", "workspaces"), "401": results["401"], "403": results["403"]},
			}},
			"/v1/sessions/{session}/tools/{tool}": doc{"post": doc{
				"summary": "Make a call; the body is its arguments", "operationId": "call",
				"parameters": []doc{
					session, in("path", "tool", "The tool's name", doc{"type": "string", "maxLength": limits.Name}),
					in("query", "workspace", "Where the call goes; may be left out where there is one", name),
					in("query", "call_id", "Its id, used once in the session; one is made if left out", name),
					in("query", "timeout_seconds", "30 if left out, 86400 at most; a person's time does not count", whole),
					in("query", "approval_timeout_seconds", "600 if left out, 86400 at most: how long a person may take", whole), wait,
				},
				"requestBody": doc{"description": "The arguments of the call, up to 16 MB", "content": doc{"application/json": doc{"schema": doc{"type": "object"}}}},
				"responses":   with(doc{"409": body("The call_id was used before", "error"), "413": body("The body is too large", "error"), "503": body("There is no room in memory: come again after Retry-After seconds", "error")}),
			}},
			"/v1/sessions/{session}/calls/{call}": doc{
				"get": doc{
					"summary": "Await a call's result", "operationId": "await",
					"parameters": []doc{session, callID, wait}, "responses": with(gone),
				},
				"delete": doc{
					"summary": "Cancel a call; the answer is what became of it", "operationId": "cancel",
					"parameters": []doc{session, callID}, "responses": with(gone),
				},
			},
			"/v1/sessions/{session}": doc{"delete": doc{
				"summary": "End a session: its calls, and what it was granted", "operationId": "end",
				"parameters": []doc{session}, "responses": doc{"204": doc{"description": "Done"}, "401": results["401"], "403": results["403"]},
			}},
		},
		"components": doc{
			"securitySchemes": doc{"token": doc{"type": "http", "scheme": "bearer", "description": "A token with the scope agent"}},
			"schemas": doc{
				"tool_result": frames["tool_result"], "progress": frames["progress"], "error": frames["error"],
				"workspaces": doc{"type": "array", "items": doc{
					"type": "object", "required": []string{"name", "tools"},
					"properties": doc{"name": name, "tools": doc{"type": "array", "items": doc{
						"type": "object", "required": []string{"name", "schema"},
						"properties": doc{
							"name": doc{"type": "string"}, "description": doc{"type": "string"}, "schema": doc{"type": "object"},
							"read_only": doc{"type": "boolean"}, "destructive": doc{"type": "boolean"},
						},
					}}},
				}},
			},
		},
	}
}
