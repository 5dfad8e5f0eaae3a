package proxy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
)

// clouds sets the upstream of the Messages API for all clouds.
func clouds(c *proxy.Config) {
	base := c.Upstreams[llm.Messages]
	c.Upstreams[llm.Vertex], c.Upstreams[llm.Azure], c.Upstreams[llm.Bedrock] = base, base, base
}

// Requests on the paths of clouds are planned like others. If the body names no model, the path does.
func TestClouds(t *testing.T) {
	messages := conversation("hello", 3)
	nameless := strings.Replace(messages, `"model":"model-a" ,`, `"anthropic_version":"vertex-2023-10-16",`, 1)
	chat := `{"messages":[{"role":"system","content":"` + rules + `"},{"role":"user","content":"hello"}`
	for range 3 {
		chat += `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"a.go\"}"}}]}` +
			`,{"role":"tool","tool_call_id":"c","content":"` + strings.ReplaceAll(strings.ReplaceAll(content(20), "\n", "\\n"), "\t", "\\t") + `"}`
	}
	chat += "]}"
	for _, test := range []struct{ path, body, api, model string }{
		{"/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101:rawPredict", nameless, llm.Messages, "claude-opus-4-5@20251101"},
		{"/v1/projects/p/locations/global/publishers/anthropic/models/count-tokens:rawPredict", messages, record.CountTokens, "model-a"},
		{"/anthropic/v1/messages?beta=true", messages, llm.Messages, "model-a"},
		{"/openai/deployments/fast/chat/completions?api-version=2024-10-21", chat, llm.Chat, "fast"},
	} {
		t.Run(test.path, func(t *testing.T) {
			up := &recorder{}
			r := newRig(t, up, clouds)
			if status, answer := r.post(test.path, test.body, "Authorization", "Bearer key"); status != 200 {
				t.Fatal(status, answer)
			}
			got := up.last(t)
			if got.uri != test.path || got.header.Get("Authorization") != "Bearer key" {
				t.Errorf("it goes to %s with %v", got.uri, got.header)
			}
			if !strings.Contains(string(got.body), "left out") {
				t.Errorf("nothing is left out: %s", got.body)
			}
			row := r.row()
			if diff := cmp.Diff([]string{test.api, test.model, ""}, []string{row.API, row.Model, row.Passed}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request to Bedrock goes out unchanged, with the Host that its signature covers. The log says so once.
func TestBedrock(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, clouds)
	body := strings.Replace(conversation("hello", 3), `"model":"model-a"`, `"anthropic_version":"bedrock-2023-05-31"`, 1)
	const path = "/model/us.anthropic.claude-opus-4-6-v1%3A0/invoke-with-response-stream"
	for range 2 {
		const signature = "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"
		if status, answer := r.post(path, body, "Authorization", signature, "Accept-Encoding", "gzip"); status != 200 {
			t.Fatal(status, answer)
		}
		got := up.last(t)
		if string(got.body) != body || got.uri != path || got.header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("%s %v is not as it was", got.uri, got.header)
		}
		if got.host != strings.TrimPrefix(r.url, "http://") {
			t.Errorf("the signed Host became %s", got.host)
		}
	}
	if r.post(path, body, "Authorization", "Bearer key"); up.last(t).host == strings.TrimPrefix(r.url, "http://") {
		t.Error("a Host that is not signed is the upstream's")
	}
	if n := strings.Count(r.log.String(), "Bedrock"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, r.log)
	}
	if rows := r.rows(); len(rows) != 0 {
		t.Errorf("rows: %+v", rows)
	}
}

// WIRE-6: if a cloud has no upstream, its requests go nowhere, and the answer says what to do.
func TestCloudUnset(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	for path, key := range map[string]string{
		"/openai/deployments/d/chat/completions?api-version=1": "--upstream-azure", "/anthropic/v1/messages": "--upstream-azure",
		"/model/m/invoke": "--upstream-bedrock",
	} {
		if status, answer := r.post(path, "{}", "Api-Key", "secret"); status != 404 || !strings.Contains(answer, key) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if up.count() != 0 {
		t.Error("something went upstream")
	}
}
