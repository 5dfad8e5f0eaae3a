package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// geminiSession has the contents that an agent sends with each request.
type geminiSession struct {
	t        *testing.T
	rig      *rig
	model    string
	contents []json.RawMessage
}

func (s *geminiSession) body() string {
	contents, err := json.Marshal(s.contents)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf(`{ "contents":%s,"systemInstruction":{"parts":[{"text":%q}]},"x_unknown":[1.0],"tools":[{"functionDeclarations":[`+
		`{"name":"read_file","parametersJsonSchema":{"type":"object","properties":{"file_path":{"type":"string"}}}}]}] }`, contents, strings.Repeat(rules, 4))
}

// ask sends the conversation, adds the answer unchanged, and then a result for each call. It reports whether there was a call.
func (s *geminiSession) ask(method string) bool {
	s.t.Helper()
	status, answer := s.rig.post("/v1beta/models/"+s.model+":"+method, s.body(), "X-Goog-Api-Key", "the-key")
	if status != http.StatusOK {
		s.t.Fatalf("%d %s", status, answer)
	}
	type call struct{ ID, Name string }
	type chunk struct {
		Candidates []struct {
			Content struct{ Parts []json.RawMessage }
		}
	}
	var chunks []chunk
	for line := range strings.Lines(answer) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var c chunk
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				s.t.Fatal(err)
			}
			chunks = append(chunks, c)
		}
	}
	if len(chunks) == 0 && json.Unmarshal([]byte(answer), &chunks) != nil {
		chunks = make([]chunk, 1)
		if err := json.Unmarshal([]byte(answer), &chunks[0]); err != nil {
			s.t.Fatalf("%v: %s", err, answer)
		}
	}
	var parts, results []json.RawMessage
	for _, c := range chunks {
		for _, part := range c.Candidates[0].Content.Parts {
			parts = append(parts, part)
			var said struct{ FunctionCall *call }
			if err := json.Unmarshal(part, &said); err == nil && said.FunctionCall != nil {
				result, _ := json.Marshal(map[string]any{"functionResponse": map[string]any{
					"id": said.FunctionCall.ID, "name": said.FunctionCall.Name, "response": map[string]any{"output": content(40)},
				}})
				results = append(results, result)
			}
		}
	}
	add := func(role string, parts []json.RawMessage) {
		content, _ := json.Marshal(map[string]any{"role": role, "parts": parts})
		s.contents = append(s.contents, content)
	}
	add("model", parts)
	if len(results) > 0 {
		add("user", results)
	}
	return len(results) > 0
}

// A conversation has signed calls, with and without ids, streamed in both forms and not streamed. No request fails that would
// pass without stet. Repeated reads are left out, and the usage is counted. What was sent is sent in the same form again. The key
// reaches only the provider (WIRE-8, SEC-1).
func TestGemini(t *testing.T) {
	for _, test := range []struct{ model, method string }{
		{"gemini-3-pro-preview", "streamGenerateContent?alt=sse"},
		{"gemini-3-pro-preview", "streamGenerateContent"},
		{"gemini-3-pro-preview", "generateContent"},
		{"gemini-2.5-pro", "streamGenerateContent?alt=sse"},
	} {
		t.Run(test.model+" "+test.method, func(t *testing.T) {
			turns := []llmtest.Turn{}
			for range 4 {
				turns = append(turns, llmtest.Say("I read it.", llmtest.Read("/home/me/project/a.go"), llmtest.Read("/home/me/project/a.go")))
			}
			model, err := strictmodel.Start(llmtest.Config{Script: llmtest.Script{Turns: turns}})
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			r := newRig(t, http.NotFoundHandler(), func(c *proxy.Config) {
				c.Upstreams[llm.Gemini], c.History = model.URL, trim.Config{}
			})
			s := &geminiSession{t: t, rig: r, model: test.model, contents: []json.RawMessage{[]byte(`{"role":"user","parts":[{"text":"Read it."}]}`)}}
			for s.ask(test.method) {
				count := "/v1beta/models/" + test.model + ":countTokens?key=the-key"
				status, answer := r.post(count, s.body())
				if status != 200 || !strings.Contains(answer, "totalTokens") {
					t.Errorf("counting: %d %s", status, answer)
				}
				whole := fmt.Sprintf(`{"generateContentRequest":{"model":"models/%s",%s, "contents":[] }`, test.model, s.body()[1:])
				if status, same := r.post(count, whole); status != 200 || same != answer {
					t.Errorf("counting a whole request: %d %s, want %s", status, same, answer)
				}
			}
			var sent []string
			for _, got := range model.Requests() {
				if body := string(got.Body); strings.HasPrefix(body, `{"generateContentRequest"`) && !strings.HasSuffix(body, `"x_unknown":[1.0],"tools":[{"functionDeclarations":[`+
					`{"name":"read_file","parametersJsonSchema":{"type":"object","properties":{"file_path":{"type":"string"}}}}]}] }, "contents":[] }`) {
					t.Errorf("a whole request: %s", body)
				} else if strings.HasPrefix(body, `{"g`) {
					continue
				}
				if got.Header.Get("X-Goog-Api-Key") != "the-key" && got.Query != "key=the-key" {
					t.Errorf("the key does not arrive: %v %q", got.Header, got.Query)
				}
				sent = append(sent, string(got.Body))
			}
			for i, body := range sent { // each pair has the body of a request for an answer, and of a count after it
				until := strings.Index(body, `],"systemInstruction"`)
				if i > 0 && !strings.HasPrefix(body, sent[i-1][:strings.Index(sent[i-1], `],"systemInstruction"`)]) {
					t.Errorf("request %d does not begin with the one before", i)
				}
				if !strings.HasSuffix(body[until:], "] }") || !strings.Contains(body[until:], `"x_unknown":[1.0]`) {
					t.Errorf("request %d: %s", i, body[until:])
				}
			}
			if n := strings.Count(s.body(), "line 12 of a file"); n != 8 || strings.Count(sent[len(sent)-1], "line 12 of a file") >= n {
				t.Errorf("nothing is left out of %d", n)
			}
			rows := r.rows()
			saved, read := 0, 0
			for _, row := range rows {
				saved += row.TokensOff - row.Tokens
				read += row.Usage.CacheRead
				if row.Status != 200 || row.Passed != "" || row.Cut || row.Model != test.model || row.Conversation != rows[0].Conversation && row.API == llm.Gemini {
					t.Errorf("%+v", row)
				}
				if row.API == llm.Gemini && row.Usage.Input+row.Usage.CacheRead == 0 {
					t.Errorf("no usage: %+v", row)
				}
			}
			if saved <= 0 || read == 0 || len(rows) != 13 {
				t.Errorf("saved %d, read %d from the cache, %d rows", saved, read, len(rows))
			}
			if text := fmt.Sprint(r.log, rows); strings.Contains(text, "the-key") {
				t.Errorf("the key is in log or rows: %s", text)
			}
		})
	}
}

// An error is reported in the API's format, without the key.
func TestGeminiFailures(t *testing.T) {
	r := newRig(t, http.NotFoundHandler(), func(c *proxy.Config) { c.Upstreams[llm.Gemini] = "http://127.0.0.1:1" })
	for _, test := range []struct {
		path, header, want string
		status             int
	}{
		{"/v1beta/models/m:generateContent?key=the-key", "X-Header", "UNAVAILABLE", 502},
		{"/v1beta/models/m:countTokens?key=the-key", "X-Header", "UNAVAILABLE", 502},
		{"/v1beta/models/m:streamGenerateContent?key=the-key", "Host", "PERMISSION_DENIED", 403},
	} {
		status, answer := r.post(test.path, `{"contents":[]}`, test.header, "evil.example")
		var said struct {
			Error struct {
				Code            int
				Message, Status string
			}
		}
		if err := json.Unmarshal([]byte(answer), &said); err != nil || status != test.status || said.Error.Code != status || said.Error.Status != test.want {
			t.Errorf("%s: %d %s", test.path, status, answer)
		}
		if strings.Contains(answer, "the-key") {
			t.Errorf("the key comes back: %s", answer)
		}
	}
	if strings.Contains(r.log.String(), "the-key") {
		t.Errorf("the key is in the log:\n%s", r.log)
	}
}

// Other requests of this provider's API are sent unchanged: other methods, bodies of account logins, and conversations that the
// provider keeps.
func TestGeminiPasses(t *testing.T) {
	for _, test := range []struct{ path, body, api, passed string }{
		{"/v1internal:streamGenerateContent?alt=sse", `{"model":"m","request":{"contents":[]}}`, "", ""},
		{"/v1beta/models/m:embedContent", `{"content":{}}`, "", ""},
		{"/v1beta/cachedContents?key=k", `{"contents":[]}`, "", ""},
		{"/v1beta/models/m:generateContent", `{"contents":[],"cachedContent":"cachedContents/c"}`, llm.Gemini, "chained"},
		{"/v1beta/models/m:countTokens", `{"generateContentRequest":{"contents":{}}}`, record.CountTokens, "malformed"},
	} {
		t.Run(test.path, func(t *testing.T) {
			up := &recorder{answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }}
			r := newRig(t, up)
			if status, answer := r.post(test.path, test.body, "Authorization", "Bearer token"); status != 200 {
				t.Fatal(status, answer)
			}
			if got := up.last(t); string(got.body) != test.body || got.uri != test.path || got.header.Get("Authorization") != "Bearer token" {
				t.Errorf("%s %s", got.uri, got.body)
			}
			var api, passed string
			for _, row := range r.rows() {
				api, passed = row.API, row.Passed
			}
			if d := cmp.Diff([]string{test.api, test.passed}, []string{api, passed}); d != "" {
				t.Error(d)
			}
		})
	}
}
