package llmtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/llmtest"
)

// geminiModel starts a model that answers with two calls. The first call has the signature of the thinking.
func geminiModel(t *testing.T) *llmtest.Server {
	return start(t, llmtest.Config{Models: []string{"gemini-3-pro"}, Handler: func(*llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: "hm"}, {Text: "I read two files, and then I say more than one piece of a stream."},
			{Kind: llm.ToolCall, Name: "read", Args: `{"path":"a","more":[1]}`}, {Kind: llm.ToolCall, Name: "read", Args: `{"path":"b"}`},
		}}}, nil
	}})
}

// The server accepts and refuses the same requests as the provider, with the same messages (WIRE-8).
func TestGeminiRules(t *testing.T) {
	s := geminiModel(t)
	const user = `{"role":"user","parts":[{"text":"go"}]}`
	call := func(name, args, signature string) string {
		part := `{"functionCall":{"name":"` + name + `","args":` + args + `}`
		if signature != "" {
			part += `,"thoughtSignature":"` + signature + `"`
		}
		return part + `}`
	}
	model := func(parts ...string) string {
		return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
	}
	results := func(names ...string) string {
		var parts []string
		for _, name := range names {
			parts = append(parts, `{"functionResponse":{"name":"`+name+`","response":{"output":"x"}}}`)
		}
		return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
	}
	_, data, _ := post(t, s.URL+"/v1beta/models/gemini-3-pro:generateContent", []byte(`{"contents":[`+user+`]}`))
	var answer struct {
		Candidates []struct {
			Content struct {
				Parts []struct{ ThoughtSignature string }
			}
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil || len(answer.Candidates) != 1 {
		t.Fatalf("%v: %s", err, data)
	}
	signature := answer.Candidates[0].Content.Parts[2].ThoughtSignature
	if signature == "" || answer.Candidates[0].Content.Parts[3].ThoughtSignature != "" {
		t.Fatalf("the first call alone is signed: %s", data)
	}
	given := model(call("read", `{"more":[1],"path":"a"}`, signature), call("read", `{"path":"b"}`, ""))
	const (
		unequal = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
		early   = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		late    = "Please ensure that function response turn comes immediately after a function call turn."
	)
	for name, c := range map[string]struct {
		contents []string
		refusal  string // the beginning of the message; "": accepted
		old      bool   // the model does not check signatures
	}{
		"grown":                       {[]string{user, given, results("read", "read")}, "", false},
		"none":                        {nil, "* GenerateContentRequest.contents: contents is not specified", false},
		"no parts":                    {[]string{user, model()}, "* GenerateContentRequest.contents[1].parts", false},
		"another role":                {[]string{`{"role":"assistant","parts":[{"text":"x"}]}`}, "gemini request: ", false},
		"a response less":             {[]string{user, given, results("read")}, unequal, false},
		"a response more":             {[]string{user, given, results("read", "read", "read")}, unequal, false},
		"no responses":                {[]string{user, given, user}, unequal, false},
		"no responses at the end":     {[]string{user, given}, unequal, false},
		"a response to nothing":       {[]string{user, results("read")}, late, false},
		"calls first":                 {[]string{given, results("read", "read")}, early, false},
		"calls after an answer":       {[]string{user, model(`{"text":"x"}`), given, results("read", "read")}, early, false},
		"a response of another":       {[]string{user, given, results("read", "write")}, `Function response "write"`, false},
		"no signature":                {[]string{user, model(call("read", `{}`, "")), results("read")}, "Function call is missing a thought_signature in functionCall parts.", false},
		"no signature, earlier turn":  {[]string{user, model(call("read", `{}`, "")), results("read"), user}, "", false},
		"no signature, earlier model": {[]string{user, model(call("read", `{}`, "")), results("read")}, "", true},
		"another call's signature":    {[]string{user, model(call("read", `{"path":"c"}`, signature)), results("read")}, "Corrupted thought signature.", false},
		"a stand-in":                  {[]string{user, model(call("read", `{}`, "skip_thought_signature_validator")), results("read")}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			at := "gemini-3-pro"
			if c.old {
				at = "gemini-2.5-pro"
			}
			body := []byte(`{"contents":[` + strings.Join(c.contents, ",") + `]}`)
			for _, method := range []gemini.Method{gemini.Generate, gemini.StreamGenerate, gemini.CountTokens} {
				resp, data, _ := post(t, fmt.Sprintf("%s/v1beta/models/%s:%s?key=k", s.URL, at, method), body)
				var said struct {
					Error struct {
						Code            int
						Message, Status string
					}
				}
				_ = json.Unmarshal(data, &said) // a stream is not such an object
				if want := c.refusal == ""; (resp.StatusCode == http.StatusOK) != want || !want && (said.Error.Code != 400 || said.Error.Status != "INVALID_ARGUMENT" || !strings.HasPrefix(said.Error.Message, c.refusal)) {
					t.Errorf("%s: %s %s", method, resp.Status, data)
				}
			}
		})
	}
}

// A stream has events if the query asks for them. Otherwise it is one array with the same content.
func TestGeminiStreams(t *testing.T) {
	s := geminiModel(t)
	const path = "/v1/models/gemini-3-pro:streamGenerateContent"
	body := []byte(`{"contents":[{"role":"user","parts":[{"text":"go"}]}]}`)
	_, events, _ := post(t, s.URL+path+"?alt=sse", body)
	resp, array, _ := post(t, s.URL+path, body)
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("the array is of type %s", got)
	}
	var want []json.RawMessage
	for line := range strings.Lines(string(events)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			want = append(want, json.RawMessage(strings.TrimSpace(data)))
		}
	}
	var got []json.RawMessage
	if err := json.Unmarshal(array, &got); err != nil {
		t.Fatalf("%v: %s", err, array)
	}
	texts := func(raw []json.RawMessage) (out []string) {
		for _, r := range raw {
			var compact any
			if err := json.Unmarshal(r, &compact); err != nil {
				t.Fatal(err)
			}
			delete(compact.(map[string]any), "usageMetadata") // the second request reads the cache
			text, _ := json.Marshal(compact)
			out = append(out, string(text))
		}
		return out
	}
	if d := cmp.Diff(texts(want), texts(got)); d != "" || len(got) < 5 {
		t.Errorf("%d chunks: %s", len(got), d)
	}
	r, err := http.Get(s.URL + "/v1beta/models")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var models struct{ Models []struct{ Name string } }
	if err := json.NewDecoder(r.Body).Decode(&models); err != nil || len(models.Models) != 1 || models.Models[0].Name != "models/gemini-3-pro" {
		t.Errorf("models: %+v, %v", models, err)
	}
}
