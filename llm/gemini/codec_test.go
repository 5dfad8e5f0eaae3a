package gemini

import (
	"cmp"
	"net/http"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

const sample = `{
  "contents": [
    {"role": "user", "parts": [{"text": "Look \"here\".\n"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
       {"fileData": {"fileUri": "https://host/f", "mimeType": "text/plain"}}]},
    {"parts": [
       {"text": "hm", "thought": true, "thoughtSignature": "c2ln"},
       {"text": "I look.", "thoughtSignature": "c2ln"},
       {"functionCall": {"name": "read", "args": {"path": "a.go"}}, "thoughtSignature": "c2ln"},
       {"functionCall": {"name": "read", "args": {"path": "b.go"}}},
       {"functionCall": {"id": "own", "name": "write", "args": {"path": "c.go"}}},
       {"functionCall": {"name": "list"}},
       {"executableCode": {"language": "PYTHON", "code": "1+1"}},
       {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}], "role": "model"},
    {"role": "user", "parts": [
       {"functionResponse": {"id": "own", "name": "write", "response": {"output": "written", "more": [1]}}},
       {"functionResponse": {"id": "theirs", "name": "read", "response": {"output": "package a"}}},
       {"functionResponse": {"name": "read", "response": {"error": "no such file"}, "parts": [{"inlineData": {}}]}},
       {"functionResponse": {"name": "list", "response": {"files": ["a"]}}},
       {"text": "Go on."}]},
    {"role": "model", "parts": [{"function_call": {"name": "read", "args": {"path": "d.go"}}}]},
    {"role": "function", "parts": [{"function_response": {"name": "read", "response": {"content": "package d"}}}]},
    {"role": "model", "parts": [{"text": "That is all."}]}
  ],
  "systemInstruction": {"role": "user", "parts": [{"text": "You help."}]},
  "tools": [{"functionDeclarations": [
      {"name": "read", "description": "Reads.", "parametersJsonSchema": {"type": "object"}},
      {"name": "list", "parameters": {"type": "OBJECT"}}]}, {"googleSearch": {}}],
  "generationConfig": {"maxOutputTokens": 900, "thinkingConfig": {"includeThoughts": true}},
  "safetySettings": [{}], "labels": {"a": "b"}
}`

func TestCodec(t *testing.T) {
	codectest.Run(t, codectest.Format{
		Codec: GenerateContent{}, Sample: sample, Thought: `{"text":%[1]s,"thought":true,"thoughtSignature":%[1]s}`,
		Opaque: `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`, Together: true, Flagged: true, Pathed: true,
	})
}

func FuzzDecode(f *testing.F) {
	codectest.Fuzz(f, GenerateContent{}, sample,
		`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"output":"a\ud800"}}}]}]}`,
		`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"\u006futput":"a"}}}]}],"system_instruction":{"parts":[]}}`)
}

type part struct {
	Role           llm.Role
	Kind           llm.Kind
	Text, ID, Args string
	Editable       bool
}

// Calls without ids are paired with their responses. Calls with a signature cannot be edited. Unknown parts are opaque (WIRE-8,
// CTX-3).
func TestDecode(t *testing.T) {
	req, err := GenerateContent{}.Decode([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if req.MaxTokens != 900 || req.Chained || req.Model != "" {
		t.Errorf("%+v", req)
	}
	var tools []string
	for _, tool := range req.Tools {
		tools = append(tools, tool.Name+" "+tool.Description+" "+string(tool.Schema))
	}
	if d := gocmp.Diff([]string{`read Reads. {"type": "object"}`, `list  {"type": "OBJECT"}`, `googleSearch  {}`}, tools); d != "" {
		t.Error(d)
	}
	var got []part
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			got = append(got, part{m.Role, p.Kind, p.Text, p.CallID, p.Args, p.Span.Valid()})
		}
	}
	want := []part{
		{llm.System, llm.Text, "You help.", "", "", true},
		{llm.User, llm.Text, "Look \"here\".\n", "", "", true},
		{llm.User, llm.Opaque, "", "", "", false},
		{llm.User, llm.Opaque, "", "", "", false},
		{llm.Assistant, llm.Thinking, "hm", "", "", false},
		{llm.Assistant, llm.Text, "I look.", "", "", true},
		{llm.Assistant, llm.ToolCall, "", "call-0", `{"path": "a.go"}`, false},
		{llm.Assistant, llm.ToolCall, "", "call-1", `{"path": "b.go"}`, true},
		{llm.Assistant, llm.ToolCall, "", "own", `{"path": "c.go"}`, true},
		{llm.Assistant, llm.ToolCall, "", "call-3", `{}`, false},
		{llm.Assistant, llm.Opaque, "", "", "", false},
		{llm.Assistant, llm.Opaque, "", "", "", false},
		{llm.Tool, llm.ToolResult, "written", "own", "", true},
		{llm.Tool, llm.ToolResult, "package a", "call-0", "", true},
		{llm.Tool, llm.ToolResult, "no such file", "call-1", "", true},
		{llm.Tool, llm.ToolResult, `{"files": ["a"]}`, "call-3", "", false},
		{llm.User, llm.Text, "Go on.", "", "", true},
		{llm.Assistant, llm.ToolCall, "", "call-4", `{"path": "d.go"}`, true},
		{llm.Tool, llm.ToolResult, "package d", "call-4", "", true},
		{llm.Assistant, llm.Text, "That is all.", "", "", true},
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	failed := req.Messages[3].Parts[2]
	if !failed.IsError || req.Messages[3].Parts[1].IsError {
		t.Errorf("errors: %+v", req.Messages[3].Parts)
	}
	if n := codectest.Patch(t, GenerateContent{}, []byte(sample), req, codectest.IsResult); n != 4 {
		t.Errorf("%d results", n)
	}
	if n := codectest.Patch(t, GenerateContent{}, []byte(sample), req, codectest.IsAny); n != 12 {
		t.Errorf("%d values", n)
	}
}

// A body of countTokens may have a whole request. Then only this request is counted. Its spans are places in the body.
func TestDecodeCounted(t *testing.T) {
	for _, around := range [][2]string{
		{`{"generateContentRequest":`, `}`}, {`{"contents":[{"parts":[{"text":"other"}]}], "generate_content_request": `, ` ,"x":1} `},
		{` {"x":[{}],"generateContentRequest":`, `,"contents":[] }`},
	} {
		body := []byte(around[0] + sample + around[1])
		want, _ := GenerateContent{}.Decode([]byte(sample))
		req, err := GenerateContent{}.DecodeAfter(body, want, []byte(sample), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range req.Messages {
			for i, p := range m.Parts {
				if p.Span.Valid() {
					m.Parts[i].Span = llm.Span{Start: p.Span.Start - len(around[0]), End: p.Span.End - len(around[0])}
				}
			}
		}
		want.Layout = nil
		if d := gocmp.Diff(want, req); d != "" {
			t.Error(d)
		}
	}
}

// cachedContent names the beginning of a conversation that the provider stores. The request is Chained, because that beginning is
// not in the body.
func TestDecodeCached(t *testing.T) {
	for body, want := range map[string]bool{
		`{"contents":[],"cachedContent":"cachedContents/x"}`: true, `{"cached_content":"c","contents":[]}`: true,
		`{"contents":[],"cachedContent":""}`: false, `{"contents":[],"cachedContent":null}`: false,
	} {
		req, err := GenerateContent{}.Decode([]byte(body))
		if err != nil || req.Chained != want {
			t.Errorf("%s: %+v, %v", body, req, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"contents":{}}`, `{"contents":null}`, `{"contents":"x"}`, `{"contents":["x"]}`,
		`{"contents":[{"role":"robot","parts":[]}]}`, `{"contents":[{"role":"user","parts":{}}]}`, `{"contents":[{"role":"user","parts":["x"]}]}`,
		`{"contents":[],"contents":[]}`, `{"contents":[{"role":"user","parts":[],"parts":[]}]}`, `{"contents":[{"role":"user","parts":[{"text":5}]}]}`,
		`{"contents":[{"role":"model","parts":[{"functionCall":5}]}]}`, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":5}}]}]}`,
		`{"contents":[{"role":"user","parts":[{"functionResponse":{"response":"x"}}]}]}`, `{"contents":[{"role":"user","parts":[{"text":"a","text":"b"}]}]}`,
		`{"contents":[],"tools":{}}`, `{"contents":[],"tools":["x"]}`, `{"contents":[],"tools":[{"functionDeclarations":["x"]}]}`,
		`{"contents":[],"systemInstruction":"x"}`, `{"contents":[]} {}`,
		`{"generateContentRequest":{}}`, `{"generateContentRequest":[]}`, `{"generateContentRequest":{"contents":[]},"generateContentRequest":{}}`,
		`{"generateContentRequest":{"contents":[]}`, `{"contents":[],"generateContentRequest":{"contents":{}}}`,
	} {
		if req, err := (GenerateContent{}).Decode([]byte(body)); err == nil {
			t.Errorf("%s: %+v", body, req)
		}
	}
}

func TestCaptures(t *testing.T) {
	recordings := os.DirFS(cmp.Or(os.Getenv("STET_CAPTURES"), "../../../shared/captures"))
	codectest.Captures(t, recordings, func(t *testing.T, _ string, bodies [][]byte) {
		codectest.PatchResults(t, GenerateContent{}, bodies)
		codectest.Grow(t, GenerateContent{}, bodies)
	}, "gemini")
}

func TestAddress(t *testing.T) {
	type address struct {
		Model  string
		Method Method
	}
	for path, want := range map[string]address{
		"/v1beta/models/gemini-3-pro:generateContent":                           {"gemini-3-pro", Generate},
		"/v1/models/gemini-2.5-flash:streamGenerateContent":                     {"gemini-2.5-flash", StreamGenerate},
		"/v1alpha/tunedModels/t:countTokens":                                    {"t", CountTokens},
		"/models/m:generateContent":                                             {"m", Generate},
		"/v1beta/models/m:embedContent":                                         {},
		"/v1beta/models/m":                                                      {},
		"/v1internal:generateContent":                                           {},
		"/v1beta/models/a/b:generateContent":                                    {},
		"/v1/projects/p/locations/l/publishers/google/models/m:generateContent": {},
	} {
		var got address
		var ok bool
		got.Model, got.Method, ok = Address(path)
		if got != want || ok != (want != address{}) {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

func TestSession(t *testing.T) {
	for name, want := range map[string]string{"X-Session-Id": "s", "X-Session-Affinity": "s", "X-Goog-Api-Key": ""} {
		conversation, agent := GenerateContent{}.Session(http.Header{name: {"s"}}.Get, &llm.Request{})
		if conversation != want || agent != "" {
			t.Errorf("%s: %q, %q", name, conversation, agent)
		}
	}
}
