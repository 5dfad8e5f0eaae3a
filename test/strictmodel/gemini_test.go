package strictmodel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// The server accepts and refuses the same requests as the provider, with the same messages (WIRE-8).
func TestGeminiRules(t *testing.T) {
	server, err := strictmodel.Start(llmtest.Config{Handler: func(*llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: "hm"}, {Text: "I read two files."},
			{Kind: llm.ToolCall, Name: "read", Args: `{"path":"a","more":[1]}`}, {Kind: llm.ToolCall, Name: "read", Args: `{"path":"b"}`},
		}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	s := provider{t, server}
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
	_, data := s.post("/v1beta/models/gemini-3-pro:generateContent", `{"contents":[`+user+`]}`, "")
	var answer struct {
		Candidates []struct {
			Content struct {
				Parts []struct{ ThoughtSignature string }
			}
		}
	}
	if err := json.Unmarshal([]byte(data), &answer); err != nil || len(answer.Candidates) != 1 {
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
			body := `{"contents":[` + strings.Join(c.contents, ",") + `]}`
			for _, method := range []gemini.Method{gemini.Generate, gemini.StreamGenerate, gemini.CountTokens} {
				status, data := s.post(fmt.Sprintf("/v1beta/models/%s:%s?key=k", at, method), body, "")
				var said struct {
					Error struct {
						Code            int
						Message, Status string
					}
				}
				_ = json.Unmarshal([]byte(data), &said) // a stream is not such an object
				if want := c.refusal == ""; (status == http.StatusOK) != want || !want && (said.Error.Code != 400 || said.Error.Status != "INVALID_ARGUMENT" || !strings.HasPrefix(said.Error.Message, c.refusal)) {
					t.Errorf("%s: %d %s", method, status, data)
				}
			}
		})
	}
}
