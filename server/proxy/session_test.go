package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
)

var codecs = map[string]llm.Codec{
	llm.Messages: anthropic.Messages{}, llm.Chat: openai.Chat{}, llm.Responses: openai.Responses{},
	llm.Gemini: gemini.GenerateContent{},
}

// agent is a small agent. It does the reads that the model asks for, and keeps its conversation as a list.
type agent struct {
	rig   *rig
	api   string
	path  string
	codec llm.Codec
	req   llm.Request
	model *llmtest.Server
}

func newAgent(t *testing.T, i int, script llmtest.Script, change ...func(*proxy.Config)) *agent {
	t.Helper()
	model := strictmodel.New(script)
	t.Cleanup(func() { _ = model.Close() })
	r := newRig(t, http.NotFoundHandler(), append([]func(*proxy.Config){func(c *proxy.Config) {
		c.Upstreams = llm.Upstreams{llm.Messages: model.URL, llm.Chat: model.URL + "/v1", llm.Responses: model.URL + "/v1/", llm.Gemini: model.URL + "/v1beta"}
	}}, change...)...)
	a := &agent{rig: r, api: apis[i].api, path: apis[i].path, codec: codecs[apis[i].api], model: model}
	system := rules
	if a.api == llm.Gemini { // the provider's cache only keeps longer prompts
		system = strings.Repeat(rules, 4)
	}
	a.req = llm.Request{
		Model: "scripted", MaxTokens: 500,
		Tools: []tool.Spec{{Name: "Read", Description: "reads a file", Schema: []byte(`{"type":"object","properties":{` +
			`"file_path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["file_path"]}`)}},
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{{Text: "You are a test. Working directory: /home/me/project\n" + system}}},
			{Role: llm.User, Parts: []llm.Part{{Text: "look at a.go"}}},
		},
	}
	return a
}

// turn makes one request, and does what the answer asks for. It reports whether the answer asked for anything.
func (a *agent) turn(t *testing.T) (more bool) {
	t.Helper()
	body, err := a.codec.Encode(&a.req)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := a.rig.post(a.path, string(body), "Content-Type", "application/json")
	if status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	resp, err := a.codec.DecodeResponse([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	a.req.Messages = append(a.req.Messages, resp.Message)
	results := llm.Message{Role: llm.Tool}
	for _, p := range resp.Message.Parts {
		if p.Kind == llm.ToolCall {
			results.Parts = append(results.Parts, llm.Part{Kind: llm.ToolResult, CallID: p.CallID, Text: content(20)})
		}
	}
	if len(results.Parts) > 0 {
		a.req.Messages = append(a.req.Messages, results)
	}
	return len(results.Parts) > 0
}

// results returns the texts of the results in a request.
func results(req *llm.Request) (texts []string) {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResult {
				texts = append(texts, p.Text)
			}
		}
	}
	return texts
}

// A session over each API: repeated reads leave the requests, the agent's own list is not changed, and the usage that the model
// counted is recorded (TRIM-1, TRIM-12, TRIM-14).
func TestSession(t *testing.T) {
	again := llmtest.Say("again", llmtest.Read("a.go"))
	script := llmtest.Script{Root: "/home/me/project", Turns: []llmtest.Turn{again, again, again, again}}
	for i, api := range apis {
		for _, policy := range []trim.Policy{trim.Off, trim.KeepLatest, trim.Lossless} {
			t.Run(api.api+"/"+string(policy), func(t *testing.T) {
				a := newAgent(t, i, script, func(c *proxy.Config) { c.History = trim.Config{Policy: policy, KeepReads: 1} })
				for a.turn(t) {
				}
				got := a.model.Requests()
				last := results(got[len(got)-1].Decoded)
				whole := 0
				for _, text := range last {
					if text == content(20) {
						whole++
					}
				}
				switch {
				case len(got) != 5 || len(last) != 4:
					t.Fatalf("%d requests, %d results in the last", len(got), len(last))
				case policy == trim.Off && whole != 4, policy == trim.KeepLatest && whole != 1,
					policy == trim.Lossless && (whole == 0 || whole == 4):
					t.Errorf("%d of %d results are whole: %q", whole, len(last), last)
				}
				for _, text := range results(&a.req) {
					if text != content(20) {
						t.Errorf("the agent's own conversation changed: %q", text)
					}
				}
				rows := a.rig.rows()
				if len(rows) != 5 {
					t.Fatalf("%d rows", len(rows))
				}
				for _, row := range rows {
					if row.Conversation != rows[0].Conversation || row.Usage.Prompt() == 0 || row.Passed != "" || row.Cut || row.Project != "/home/me/project" {
						t.Errorf("row %+v", row)
					}
				}
				totals := a.rig.proxy.Totals()
				if saved := totals.TokensOff - totals.Tokens; (saved > 0) != (policy != trim.Off) || totals.TokensOff == 0 {
					t.Errorf("totals %+v", totals)
				}
			})
		}
	}
}

// Streams of each API, whole and cut: the client sees what the model sent, and the usage is recorded.
func TestStreams(t *testing.T) {
	for i, api := range apis {
		for _, cut := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, cut after %d", api.api, cut), func(t *testing.T) {
				a := newAgent(t, i, llmtest.Script{End: "All of it is done, and there are three pieces."})
				a.req.Stream = true
				if a.api == llm.Gemini { // the body does not say that it streams
					a.path = strings.Replace(a.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
				}
				body, err := a.codec.Encode(&a.req)
				if err != nil {
					t.Fatal(err)
				}
				a.model.Fail(llmtest.Fault{CutAfter: cut})
				resp, err := a.rig.client.Post(a.rig.url+a.path, "application/json", strings.NewReader(string(body)))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				through, err := io.ReadAll(resp.Body)
				if (err != nil) != (cut > 0) {
					t.Errorf("through the proxy: %v", err)
				}
				if !strings.Contains(string(through), "data:") {
					t.Errorf("no stream: %q", through)
				}
				row := a.rig.row()
				if row.Cut != (cut > 0) || cut == 0 && row.Usage.Output == 0 {
					t.Errorf("row %+v", row)
				}
			})
		}
	}
}

// Errors of the model reach the client unchanged, in each API.
func TestFailures(t *testing.T) {
	for i, api := range apis {
		for _, status := range []int{400, 401, 429, 500, 529} {
			a := newAgent(t, i, llmtest.Script{})
			fault := llmtest.Fault{Status: status, RetryAfter: 7}
			a.model.Fail(fault, fault)
			body, err := a.codec.Encode(&a.req)
			if err != nil {
				t.Fatal(err)
			}
			gotStatus, gotHeader, got := a.rig.do("POST", a.path, strings.NewReader(string(body)))
			a.rig.url = a.model.URL // the same request without the proxy
			wantStatus, wantHeader, want := a.rig.do("POST", a.path, strings.NewReader(string(body)))
			if gotStatus != wantStatus || got != want || gotHeader.Get("Retry-After") != wantHeader.Get("Retry-After") {
				t.Errorf("%s: %d %v %s, directly %d %v %s", api.api, gotStatus, gotHeader, got, wantStatus, wantHeader, want)
			}
			if row := a.rig.row(); row.Status != status {
				t.Errorf("row %+v", row)
			}
		}
	}
}
