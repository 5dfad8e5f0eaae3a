package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/test/strictmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wires are the formats from the side of a client.
var wires = []struct {
	name, path string
	streamed   string // the path of a request with a streamed answer
	codec      llm.Codec
	stop       string // stop reason of an answer with calls
}{
	{"messages", "/v1/messages", "/v1/messages", anthropic.Messages{}, "tool_use"},
	{"chat", "/v1/chat/completions", "/v1/chat/completions", openai.Chat{}, "tool_calls"},
	{"responses", "/v1/responses", "/v1/responses", openai.Responses{}, "completed"},
	{"gemini", "/v1beta/models/scripted:generateContent", "/v1beta/models/scripted:streamGenerateContent?alt=sse", gemini.GenerateContent{}, "STOP"},
}

var script = llmtest.Script{
	Root: "/home/me/project",
	Turns: []llmtest.Turn{
		{Thinking: "The file first.", Text: "I read it: 日本 🌱", Do: []llmtest.Action{
			llmtest.Read("a.txt"), llmtest.ReadLines("a.txt", 5, 9),
		}},
		llmtest.Say("I ask."),
		llmtest.Say("I edit.", llmtest.Edit("a.txt", "old", "new")),
		llmtest.Say("Done with it."),
	},
}

// request returns a conversation with one tool for reading.
func request(messages ...llm.Message) *llm.Request {
	req := &llm.Request{Model: "scripted", MaxTokens: 1000, Messages: append([]llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: strings.Repeat("You tend a garden. ", 400)}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "Look at a.txt."}}},
	}, messages...)}
	req.AddTool("read", "read a file", []byte(`{"type":"object","properties":{"filePath":{"type":"string"},"offset":{"type":"number"},"limit":{"type":"number"}},"required":["filePath"]}`))
	req.AddTool("edit", "edit a file", []byte(`{"type":"object","properties":{"filePath":{"type":"string"},"oldString":{"type":"string"},"newString":{"type":"string"}}}`))
	return req
}

func start(t *testing.T, cfg llmtest.Config) *llmtest.Server {
	t.Helper()
	s, err := strictmodel.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func post(t *testing.T, url string, body []byte, header ...string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}

func encode(t *testing.T, codec llm.Codec, req *llm.Request) []byte {
	t.Helper()
	body, err := codec.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// kinds returns the kinds of the parts of an answer, with full texts and calls.
func kinds(parts []llm.Part) []string {
	var out []string
	for _, p := range parts {
		switch p.Kind {
		case llm.Text:
			out = append(out, "text "+p.Text)
		case llm.ToolCall:
			out = append(out, "call "+p.Name+" "+p.Args)
		}
	}
	return out
}

// TestConversation plays the script. Each answer is sent back with results. All answers are read with the codecs of the proxy.
func TestConversation(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s := start(t, llmtest.Config{Script: script})
			req := request()
			want := [][]string{
				{"text I read it: 日本 🌱", `call read {"filePath":"/home/me/project/a.txt"}`, `call read {"filePath":"/home/me/project/a.txt","limit":5,"offset":5}`},
				{"text I ask."},
				{"text I edit.", `call edit {"filePath":"/home/me/project/a.txt","newString":"new","oldString":"old"}`},
				{"text Done with it."},
				{"text Done."},
			}
			for turn := range want {
				req.Stream = false
				body := encode(t, w.codec, req)
				_, data, err := post(t, s.URL+w.path, body)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := w.codec.DecodeResponse(data)
				if err != nil {
					t.Fatalf("turn %d: %v\n%s", turn, err, data)
				}
				if got := kinds(resp.Message.Parts); !slices.Equal(got, want[turn]) {
					t.Errorf("turn %d: got %q, want %q", turn, got, want[turn])
				}
				req.Stream = true
				checkStream(t, s, w.streamed, w.codec, req, resp)
				if turn == 0 && resp.StopReason != w.stop {
					t.Errorf("stop reason %q, want %q", resp.StopReason, w.stop)
				}
				got := s.Requests()
				if last := got[len(got)-2]; !bytes.Equal(last.Body, body) || last.Step != turn || last.Wire != w.name || last.Status != 200 {
					t.Errorf("turn %d: kept step %d, wire %s, status %d", turn, last.Step, last.Wire, last.Status)
				}
				answered(req, resp)
			}
		})
	}
}

// checkStream sends req for a streamed answer. The meter must read the same values from the stream as from the whole answer.
func checkStream(t *testing.T, s *llmtest.Server, path string, codec llm.Codec, req *llm.Request, whole *llm.Response) {
	t.Helper()
	resp, data, err := post(t, s.URL+path, encode(t, codec, req))
	if err != nil {
		t.Fatal(err)
	}
	meter := codec.NewMeter(resp.Header.Get("Content-Type"))
	for _, b := range data {
		_, _ = meter.Write([]byte{b})
	}
	got := meter.Reading()
	if !got.Counted || got.Usage.Output != whole.Usage.Output || got.Usage.Prompt() != whole.Usage.Prompt() ||
		got.Model != whole.Model || got.StopReason != whole.StopReason {
		t.Errorf("the stream says %+v, the whole %+v", got, whole)
	}
}

// answered appends resp to req, with a result for each call, or with another prompt.
func answered(req *llm.Request, resp *llm.Response) {
	results := llm.Message{Role: llm.Tool}
	for _, p := range resp.Message.Parts {
		if p.Kind == llm.ToolCall {
			results.Parts = append(results.Parts, llm.Part{Kind: llm.ToolResult, CallID: p.CallID, Text: "one\ntwo"})
		}
	}
	msg := llm.Message{Role: llm.Assistant}
	for _, p := range resp.Message.Parts {
		if p.Kind != llm.Thinking {
			msg.Parts = append(msg.Parts, p)
		}
	}
	req.Messages = append(req.Messages, msg)
	if len(results.Parts) > 0 {
		req.Messages = append(req.Messages, results)
	} else {
		req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "Go on."}}})
	}
}

// CTX-1: the providers count cached tokens in different ways. The codecs must return the same usage.
func TestUsage(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s := start(t, llmtest.Config{Script: script})
			body := encode(t, w.codec, request())
			if w.name == "messages" {
				body = bytes.Replace(body, []byte(`{"type":"text"`), []byte(`{"cache_control":{"type":"ephemeral"},"type":"text"`), 1)
				if !bytes.Contains(body, []byte("cache_control")) {
					body = append(bytes.TrimSuffix(body, []byte("}")), `,"cache_control":{"type":"ephemeral"}}`...)
				}
			}
			usage := func() llm.Usage {
				_, data, _ := post(t, s.URL+w.path, body)
				resp, err := w.codec.DecodeResponse(data)
				if err != nil {
					t.Fatal(err)
				}
				return resp.Usage
			}
			first, second := usage(), usage()
			if first.CacheRead != 0 || second.CacheRead < 1024 || second.CacheRead%128 != 0 {
				t.Errorf("cache read %d, then %d", first.CacheRead, second.CacheRead)
			}
			if p := first.Prompt(); p != second.Prompt() || p < len(body)/6 || p > len(body)/3 {
				t.Errorf("prompt of %d and %d tokens for %d bytes", p, second.Prompt(), len(body))
			}
			if (first.CacheWrite > 0) != (w.name == "messages") {
				t.Errorf("cache written: %d", first.CacheWrite)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			s := start(t, llmtest.Config{Script: script})
			req := request()
			whole := encode(t, w.codec, req)
			req.Stream = true
			streamed := encode(t, w.codec, req)

			s.Fail(llmtest.Fault{Status: 429, RetryAfter: 3}, llmtest.Fault{Status: 529}, llmtest.Fault{Status: 500, Body: "<html>"})
			resp, data, _ := post(t, s.URL+w.path, whole)
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" || !json.Valid(data) || !bytes.Contains(data, []byte("Too Many Requests")) {
				t.Errorf("429: %s %q %s", resp.Status, resp.Header.Get("Retry-After"), data)
			}
			if resp, data, _ = post(t, s.URL+w.streamed, streamed); resp.StatusCode != 529 || !bytes.Contains(data, []byte("Overloaded")) {
				t.Errorf("529: %s %s", resp.Status, data)
			}
			if resp, data, _ = post(t, s.URL+w.path, whole); resp.StatusCode != 500 || string(data) != "<html>" {
				t.Errorf("500: %s %s", resp.Status, data)
			}
			if resp, _, err := post(t, s.URL+w.path, whole); resp.StatusCode != 200 || err != nil {
				t.Errorf("after the faults: %s, %v", resp.Status, err)
			}
			if _, _, err := post(t, s.URL+w.path, whole, llmtest.FaultHeader, "cut=1"); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("cut body: %v", err)
			}
			_, data, err := post(t, s.URL+w.streamed, streamed, llmtest.FaultHeader, "cut=3")
			if n := bytes.Count(data, []byte("\n\n")); n != 3 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("cut stream: %d events, %v", n, err)
			}
			_, data, err = post(t, s.URL+w.streamed, streamed, llmtest.FaultHeader, "error=3")
			if n := bytes.Count(data, []byte("\n\n")); n != 4 || err != nil || !bytes.Contains(data, []byte("Overloaded")) {
				t.Errorf("stream with an error: %d events, %v", n, err)
			}
			_, plain, _ := post(t, s.URL+w.streamed, streamed)
			if _, data, err = post(t, s.URL+w.streamed, streamed, llmtest.FaultHeader, "chunk=7"); err != nil || len(data) != len(plain) {
				t.Errorf("in chunks: %d bytes for %d, %v", len(data), len(plain), err)
			}
			if _, data, err = post(t, s.URL+w.streamed, streamed, llmtest.FaultHeader, "bad=odd&bad-after=2"); err != nil || bytes.Count(data, []byte("\n\nodd")) != 1 || len(data) >= len(plain) {
				t.Errorf("bad event: %v %s", err, data)
			}
			s.Fail(llmtest.Fault{Reset: true}, llmtest.Fault{Status: 307, Location: "/elsewhere"})
			if resp, err := http.Post(s.URL+w.path, "application/json", bytes.NewReader(whole)); err == nil {
				resp.Body.Close()
				t.Errorf("reset: %s", resp.Status)
			}
			if resp, _, _ := post(t, s.URL+w.path, whole); resp.StatusCode != 404 || resp.Request.URL.Path != "/elsewhere" {
				t.Errorf("redirected: %s", resp.Status)
			}
			if resp, _, _ := post(t, s.URL+w.path, whole, llmtest.FaultHeader, "cut=x"); resp.StatusCode != 400 {
				t.Errorf("a fault that is none: %s", resp.Status)
			}
			if resp, data, _ := post(t, s.URL+w.path, []byte(`{"model":`)); resp.StatusCode != 400 || !json.Valid(data) {
				t.Errorf("a body that is none: %s %s", resp.Status, data)
			}
		})
	}
}

// If the client disconnects during a slow answer, the server ends the request at once.
func TestSlowAnswerEndsWithClient(t *testing.T) {
	s := start(t, llmtest.Config{})
	for _, text := range []string{"delay=1h", "pause=1h"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		req := request()
		req.Stream = true
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/chat/completions", bytes.NewReader(encode(t, openai.Chat{}, req)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(llmtest.FaultHeader, text)
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHandler(t *testing.T) {
	s := start(t, llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
		switch req.Model {
		case "busy":
			return llm.Response{}, &llmtest.Fault{Status: 429, RetryAfter: -1}
		case "broken":
			return llm.Response{}, errors.New("out of order")
		}
		return llm.Response{
			Message: llm.Message{Parts: []llm.Part{{Kind: llm.ToolCall, Name: "look", Args: "{}"}}},
			Usage:   llm.Usage{Input: 7, Output: 5},
		}, nil
	}})
	for _, w := range wires {
		req := request()
		_, data, _ := post(t, s.URL+w.path, encode(t, w.codec, req))
		resp, err := w.codec.DecodeResponse(data)
		if err != nil || resp.Usage.Prompt() != 7 || resp.Usage.Output != 5 || len(resp.Message.Parts) != 1 || resp.Message.Parts[0].CallID == "" {
			t.Errorf("%s: %+v, %v", w.name, resp, err)
		}
		req.Model = "busy"
		at := func() string { return s.URL + strings.Replace(w.path, "scripted", req.Model, 1) }
		if resp, _, _ := post(t, at(), encode(t, w.codec, req)); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "0" {
			t.Errorf("%s, busy: %s", w.name, resp.Status)
		}
		req.Model = "broken"
		if resp, data, _ := post(t, at(), encode(t, w.codec, req)); resp.StatusCode != 500 || !bytes.Contains(data, []byte("out of order")) {
			t.Errorf("%s, broken: %s %s", w.name, resp.Status, data)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	s := start(t, llmtest.Config{Models: []string{"a", "b"}})
	do := func(method, path string, header ...string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(data)
	}
	if code, _ := do("HEAD", "/"); code != 200 {
		t.Errorf("HEAD /: %d", code)
	}
	if code, body := do("GET", "/v1/models"); code != 200 || !strings.Contains(body, `"owned_by"`) {
		t.Errorf("models: %d %s", code, body)
	}
	if code, body := do("GET", "/v1/models", "Anthropic-Version", "2023-06-01"); code != 200 || !strings.Contains(body, `"last_id":"b"`) {
		t.Errorf("models: %d %s", code, body)
	}
	if code, _ := do("GET", "/v1/chat/completions", "Upgrade", "websocket", "Connection", "Upgrade"); code != 426 {
		t.Errorf("WebSocket: %d", code)
	}
	if code, body := do("GET", "/v1/nothing"); code != 404 || !json.Valid([]byte(body)) || !strings.Contains(body, `"error"`) {
		t.Errorf("nothing: %d %s", code, body)
	}
	resp, data, _ := post(t, s.URL+"/v1/messages/count_tokens", encode(t, anthropic.Messages{}, request()))
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	if json.Unmarshal(data, &count) != nil || count.Tokens < 1900 {
		t.Errorf("count: %s %s", resp.Status, data)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error("closed twice:", err)
	}
}
