package toollist

import "testing"

// Tools are removed from the list in the format of each API. All other bytes are unchanged. If something refers to a tool, or if
// no tool would be left, all tools stay.
func TestAppendWithout(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"messages": {
			`{ "tools" : [ {"name":"a", "x": [1]} , {"name":"drop1","input_schema":{}},{"name":"drop2"} ], "messages":[{"content":"drop1 \"drop1\""}]}`,
			`{ "tools" : [{"name":"a", "x": [1]}], "messages":[{"content":"drop1 \"drop1\""}]}`,
		},
		"chat": {
			`{"messages":[],"tools":[{"type":"function","function":{"name":"drop1"}},{"type":"custom","custom":{"name":"drop2"}},{"type":"function","function":{"name":"b"}}]}`,
			`{"messages":[],"tools":[{"type":"function","function":{"name":"b"}}]}`,
		},
		"responses": {
			`{"tools":[{"type":"function","name":"drop1"},{"type":"web_search"},{"type":"namespace","name":"n","tools":[{"name":"drop1"},{"name":"c"}]},{"type":"namespace","name":"m","tools":[{"name":"drop2"}]}]}`,
			`{"tools":[{"type":"web_search"},{"type":"namespace","name":"n","tools":[{"name":"c"}]}]}`,
		},
		"gemini": {
			`{"tools":[{"functionDeclarations":[{"name":"drop1"},{"name":"d"}]},{"googleSearch":{}}]}`,
			`{"tools":[{"functionDeclarations":[{"name":"d"}]},{"googleSearch":{}}]}`,
		},
		"a cache marker":       {`{"tools":[{"name":"a"},{"name":"drop1","cache_control":{}}]}`, ""},
		"it must be called":    {`{"tools":[{"name":"a"},{"name":"drop1"}],"tool_choice":{"type":"tool","name":"drop1"}}`, ""},
		"it may be called":     {`{"tools":[{"functionDeclarations":[{"name":"drop1"},{"name":"d"}]}],"tool_config":{"function_calling_config":{"allowed_function_names":["drop1"]}}}`, ""},
		"it was searched for":  {`{"tools":[{"name":"a"},{"name":"drop1"}],"messages":[{"type":"tool_reference","tool_name":"drop1"}]}`, ""},
		"another was":          {`{"tools":[{"name":"a"},{"name":"drop1"}],"messages":[{"type":"tool_reference","tool_name":"a"}]}`, `{"tools":[{"name":"a"}],"messages":[{"type":"tool_reference","tool_name":"a"}]}`},
		"none would be left":   {`{"tools":[{"name":"drop1"}]}`, ""},
		"no tools":             {`{"tools":null}`, ""},
		"an element is no one": {`{"tools":["drop1",{"name":"drop1"},{"name":"a"}]}`, ""},
		"no JSON":              {`{"tools":[{"name":"drop1"},{"name":"a"}]`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.want == "" {
				test.want = test.body
			}
			got := AppendWithout([]byte("before"), []byte(test.body), map[string]bool{"drop1": true, "drop2": true})
			if string(got) != "before"+test.want {
				t.Errorf("got  %s\nwant before%s", got, test.want)
			}
		})
	}
}
