package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// shortened counts the results in a Messages body: n that do not hold the file, and whole ones that do.
func shortened(t *testing.T, body []byte) (n, whole int) {
	t.Helper()
	var b struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatalf("upstream got no JSON: %v", err)
	}
	for _, m := range b.Messages {
		var parts []struct{ Type, Content string }
		if json.Unmarshal(m.Content, &parts) != nil {
			continue
		}
		for _, p := range parts {
			switch {
			case p.Type != "tool_result":
			case p.Content == content(20):
				whole++
			default:
				n++
			}
		}
	}
	return n, whole
}

// Old reads leave the request, and nothing else in it changes. A count of tokens gets the same request (TRIM-1, TRIM-2, TRIM-12).
func TestTrimmed(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		up := &recorder{}
		r := newRig(t, up)
		body := conversation("look at a.go", 4)
		if status, answer := r.post(path, body); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		got := up.last(t)
		if n, whole := shortened(t, got.body); n != 3 || whole != 1 {
			t.Errorf("%s: %d shortened, %d whole: %s", path, n, whole, got.body)
		}
		if got.length != int64(len(got.body)) || !strings.Contains(string(got.body), `{ "model":"model-a" ,"max_tokens":1e2,"x_unknown":{"a":[1.0,2]},`) {
			t.Errorf("%s: length %d of %d: %s", path, got.length, len(got.body), got.body)
		}
		row := r.row()
		if row.BytesIn != int64(len(body)) || row.BytesOut != got.length || row.Observe || row.Passed != "" {
			t.Errorf("row %+v", row)
		}
		trims, err := r.store.Trims(t.Context(), record.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if path == "/v1/messages" {
			if row.Reads != 4 || row.Trimmed != 3 || row.Tokens >= row.TokensOff || row.Added <= 0 || len(trims) != 3 {
				t.Errorf("row %+v, %d trims", row, len(trims))
			}
			if x := trims[0]; x.CallID != "call_0" || x.Reason != "older" || x.Before != len(content(20)) || x.After >= x.Before ||
				x.Conversation != row.Conversation || len(x.Paths) != 1 {
				t.Errorf("trim %+v", x)
			}
		} else if row.API != record.CountTokens || row.TokensOff != 0 || len(trims) != 0 {
			t.Errorf("row %+v, %d trims", row, len(trims))
		}
	}
}

// Under lossless, repeats leave the request. A result that stays shortened is recorded once, and is logged and counted in each
// request (TRIM-14).
func TestRepeats(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Lossless} })
	for reads := 1; reads <= 3; reads++ {
		r.post("/v1/messages", conversation("look at a.go", reads))
	}
	if n, whole := shortened(t, up.last(t).body); n == 0 || n+whole != 3 {
		t.Errorf("%d shortened, %d whole", n, whole)
	}
	rows := r.rows()
	_, _, metrics := r.do("GET", "/metrics", nil) // the metrics of all requests, which rows has recorded
	if len(rows) != 3 || rows[0].Conversation != rows[2].Conversation || rows[0].Trimmed != 0 || rows[2].Trimmed == 0 {
		t.Errorf("rows %+v", rows)
	}
	trims, err := r.store.Trims(t.Context(), record.Query{})
	if err != nil || len(trims) != rows[2].Trimmed {
		t.Errorf("%d trims for %d results, %v", len(trims), rows[2].Trimmed, err)
	}
	for _, want := range []string{
		"left out of the request", "paths=", "tokens=",
	} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if !strings.Contains(metrics, `stet_trims_total{reason="repeat"}`) {
		t.Errorf("metrics: %s", metrics)
	}
	totals := r.proxy.Totals()
	if totals.Requests != 3 || totals.Conversations != 1 || totals.Tokens >= totals.TokensOff {
		t.Errorf("totals %+v", totals)
	}
}

// With Observe, the proxy changes nothing and reports everything.
func TestObserve(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.Observe = true })
	body := conversation("look at a.go", 4)
	r.post("/v1/messages", body)
	if got := string(up.last(t).body); got != body {
		t.Errorf("upstream got %s", got)
	}
	row := r.row()
	if !row.Observe || row.Trimmed != 3 || row.Tokens >= row.TokensOff || row.BytesOut != row.BytesIn || row.Policy != "keep-latest" {
		t.Errorf("row %+v", row)
	}
	trims, err := r.store.Trims(t.Context(), record.Query{})
	if err != nil || len(trims) != 3 {
		t.Errorf("trims %+v, %v", trims, err)
	}
}

// Usage is read while the answer passes, streamed or not.
func TestUsage(t *testing.T) {
	answers := map[string][2]string{
		llm.Messages: {
			`{"type":"message","role":"assistant","model":"model-a","content":[],"stop_reason":"end_turn","usage":{"input_tokens":11,"cache_read_input_tokens":22,"cache_creation_input_tokens":33,"output_tokens":44}}`,
			started + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":44}}\n\n",
		},
		llm.Chat: {
			`{"id":"c","model":"model-a","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":33,"completion_tokens":44,"total_tokens":77,"prompt_tokens_details":{"cached_tokens":22}}}`,
			"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\ndata: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":33,\"completion_tokens\":44,\"prompt_tokens_details\":{\"cached_tokens\":22}}}\n\ndata: [DONE]\n\n",
		},
		llm.Responses: {
			`{"id":"r","object":"response","status":"completed","model":"model-a","output":[],"usage":{"input_tokens":33,"input_tokens_details":{"cached_tokens":22},"output_tokens":44}}`,
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"model-a\",\"output\":[],\"usage\":{\"input_tokens\":33,\"input_tokens_details\":{\"cached_tokens\":22},\"output_tokens\":44}}}\n\n",
		},
	}
	answers[llm.Gemini] = [2]string{
		`{"candidates":[],"modelVersion":"model-a","usageMetadata":{"promptTokenCount":33,"cachedContentTokenCount":22,"candidatesTokenCount":40,"thoughtsTokenCount":4}}`,
		"data: {\"usageMetadata\":{\"promptTokenCount\":33,\"cachedContentTokenCount\":22,\"candidatesTokenCount\":40,\"thoughtsTokenCount\":4}}\n\n",
	}
	for _, api := range apis {
		for i, kind := range []string{"application/json", "text/event-stream"} {
			answer := answers[api.api][i]
			r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, answer)
			}))
			if _, got := r.post(api.path, api.body); got != answer {
				t.Errorf("%s: the answer changed: %q", api.api, got)
			}
			if u := r.row().Usage; u.Input != 11 || u.CacheRead != 22 || u.Output != 44 {
				t.Errorf("%s, %s: usage %+v", api.api, kind, u)
			}
		}
	}
}

// The proxy handles a conversation of 10,000 messages, and a body of 50 MB.
func TestLarge(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	many := conversation("look at a.go", 5000)
	if status, answer := r.post("/v1/messages", many); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if n, whole := shortened(t, up.last(t).body); n != 4999 || whole != 1 {
		t.Errorf("%d shortened, %d whole", n, whole)
	}
	image := `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("QUJD", 50<<18) + `"}}]`
	big := strings.Replace(conversation("PLACE", 2), `"PLACE"`, image, 1)
	if status, answer := r.post("/v1/messages", big); status != 200 || len(big) < 50<<20 {
		t.Fatalf("%d bytes: %d %s", len(big), status, answer)
	}
	got := string(up.last(t).body)
	if n := strings.Count(got, "line 20 of a file"); n != 1 || len(got) >= len(big) || !strings.HasSuffix(got, "] }") {
		t.Errorf("%d reads are whole, %d of %d bytes", n, len(got), len(big))
	}
	if rows := r.rows(); len(rows) != 2 || rows[0].Trimmed != 4999 || rows[1].BytesIn != int64(len(big)) {
		t.Errorf("rows: %d", len(rows))
	}
}

// There are metrics of every kind.
func TestMetrics(t *testing.T) {
	r := newRig(t, &recorder{})
	r.post("/v1/messages", conversation("look at a.go", 3))
	r.post("/v1/messages", "{")
	r.do("GET", "/v1/models", nil)
	r.close()
	_, _, text := r.do("GET", "/metrics", nil)
	for _, want := range []string{
		`stet_requests_total{api="messages",status="200"} 2`, `stet_requests_total{api="other",status="200"} 1`,
		"\ngo_goroutines ", "\ngo_memstats_heap_inuse_bytes ", `stet_trims_total{reason="older"} 2`, `stet_passthroughs_total{cause="malformed"} 1`,
		`stet_request_bytes_total{api="messages",side="client"} `, `stet_prompt_tokens_total{api="messages",side="sent"} `,
		`stet_added_seconds_count{api="messages"} 2`, `stet_records_lost_total 0`, "stet_dangling_total ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s in\n%s", want, text)
		}
	}
}
