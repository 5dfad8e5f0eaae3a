package gemini

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestUsageOf(t *testing.T) { // CTX-1
	for raw, want := range map[string]llm.Usage{
		`{"promptTokenCount":2006,"cachedContentTokenCount":1920,"candidatesTokenCount":30,"thoughtsTokenCount":120,"totalTokenCount":2156,
		  "promptTokensDetails":[{"modality":"TEXT","tokenCount":2006}]}`: {Input: 86, CacheRead: 1920, Output: 150, Reasoning: 120},
		`{"promptTokenCount":5,"toolUsePromptTokenCount":7}`: {Input: 12},
		`{"promptTokenCount":5,"cachedContentTokenCount":9}`: {CacheRead: 5},
		`{"promptTokenCount":5,"candidatesTokenCount":null}`: {Input: 5},
		`{}`: {},
	} {
		got, err := GenerateContent{}.UsageOf([]byte(raw))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{``, `[]`, `null`, `{"promptTokenCount":-1}`, `{"promptTokenCount":"5"}`, `{"x":1`} {
		if got, err := (GenerateContent{}).UsageOf([]byte(raw)); err == nil {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

var chunks = []string{
	`{"responseId":"r","modelVersion":"m-1","candidates":[{"content":{"role":"model","parts":[{"text":"usageMetadata"}]},"index":0}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":64}}`,
	`{"responseId":"r","modelVersion":"m-1","candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}}]},"index":0}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":64,"candidatesTokenCount":3}}`,
	`{"responseId":"r","modelVersion":"m-1","candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":64,"candidatesTokenCount":5,"thoughtsTokenCount":2}}`,
}

func TestMeter(t *testing.T) { // CTX-1
	said := llm.Reading{Usage: llm.Usage{Input: 36, CacheRead: 64, Output: 7, Reasoning: 2}, Counted: true, Model: "m-1", StopReason: "STOP"}
	events := "data: " + strings.Join(chunks, "\r\n\r\ndata: ") + "\r\n\r\n"
	array := "[" + strings.Join(chunks, "\n,\r\n") + "]"
	for contentType, body := range map[string]string{
		"text/event-stream": events, "application/json; charset=UTF-8": array, "": array,
	} {
		codectest.Meter(t, GenerateContent{}, contentType, body, said)
		m := GenerateContent{}.NewMeter(contentType)
		m.Write([]byte(body[:len(body)-20])) // incomplete: the meter returns what it has read so far
		if r := m.Reading(); !r.Counted || r.Usage.Prompt() != 100 || r.StopReason != "" {
			t.Errorf("%s, cut: %+v", contentType, r)
		}
	}
	codectest.Meter(t, GenerateContent{}, "application/json",
		`{"modelVersion":"m-1","promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":9}}`,
		llm.Reading{Usage: llm.Usage{Input: 9}, Counted: true, Model: "m-1", StopReason: "SAFETY"})
}

func TestDecodeResponse(t *testing.T) {
	res, err := GenerateContent{}.DecodeResponse([]byte(chunks[1]))
	if err != nil {
		t.Fatal(err)
	}
	res.Message.Parts[0].Span = llm.Span{}
	want := &llm.Response{
		ID: "r", Model: "m-1", Usage: llm.Usage{Input: 36, CacheRead: 64, Output: 3},
		Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "call-0", Name: "read", Args: "{}"}}},
	}
	if d := gocmp.Diff(want, res); d != "" {
		t.Error(d)
	}
	for _, body := range []string{``, `{}`, `{"candidates":[]}`, `{"candidates":[{"content":{"parts":5}}]}`, `{"candidates":[{}]}`, `{"candidates":[{"content":{"parts":[]}}]`} {
		if res, err := (GenerateContent{}).DecodeResponse([]byte(body)); err == nil {
			t.Errorf("%s: %+v", body, res)
		}
	}
	if res, err = (GenerateContent{}).DecodeResponse([]byte(`{"promptFeedback":{"blockReason":"SAFETY"}}`)); err != nil || res.StopReason != "SAFETY" {
		t.Errorf("blocked: %+v, %v", res, err)
	}
}

// BILL-2
func TestUsageTier(t *testing.T) {
	for raw, want := range map[string]string{`{"serviceTier":"flex"}`: "flex", `{"trafficType":"ON_DEMAND_PRIORITY"}`: "priority", `{"trafficType":"ON_DEMAND"}`: "", `{"trafficType":"PROVISIONED_THROUGHPUT"}`: ""} {
		if got, err := (GenerateContent{}).UsageOf([]byte(raw)); err != nil || got.Tier != want {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	if got := UnknownUsage([]byte(`{"promptTokenCount":1,"newTokenCount":2,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1}]}`)); len(got) != 1 || got[0] != "newTokenCount" {
		t.Errorf("%q", got)
	}
}
