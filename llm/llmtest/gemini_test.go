package llmtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
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
