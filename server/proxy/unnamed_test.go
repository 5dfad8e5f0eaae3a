package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/recordtest"
)

// LIVE-1, LIVE-3: Gemini CLI and Qwen Code name no session. A conversation is known by its messages, also after a restart: its limit holds, a person can
// stop it, and it is in no group of a holdout, since such a group is for life.
func TestAgentThatNamesNoSession(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "completions") {
			fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`)
			return
		}
		fmt.Fprint(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100,"totalTokenCount":1100}}`)
	})
	for _, api := range []struct{ path, user, model, form string }{
		{"/v1beta/models/gemini-2.5-pro:generateContent", `{"role":"user","parts":[{"text":%q}]}`, `{"role":"model","parts":[{"text":"ok"}]}`, `{"contents":[%s]}`},
		{"/v1/chat/completions", `{"role":"user","content":%q}`, `{"role":"assistant","content":"ok"}`, `{"model":"qwen3-coder-plus","messages":[{"role":"system","content":"be brief"},%s]}`},
	} {
		store := new(recordtest.Memory)
		start := func() *rig {
			return newRig(t, up, func(c *proxy.Config) {
				c.Store, c.Caps.Conversation, c.Holdout = store, proxy.Amount{Tokens: 3 * perRequest}, func(string) bool { return true }
				c.Upstreams[llm.Gemini] = c.Upstreams[llm.Chat]
			})
		}
		r, sent := start(), 0
		ask := func(first string, turns, status int, says string) {
			t.Helper()
			var all []string
			for i := range turns {
				if i > 0 {
					all = append(all, api.model)
				}
				all = append(all, fmt.Sprintf(api.user, fmt.Sprint(first, i)))
			}
			got, answer := r.post(api.path, fmt.Sprintf(api.form, strings.Join(all, ",")))
			if got != status || !strings.Contains(answer, says) {
				t.Errorf("%s, turn %d of %s: %d %s", api.path, turns, first, got, answer)
			}
			sent++
			r.counted(sent)
		}
		ask("one", 1, 200, "")
		ask("one", 2, 200, "")
		r.close()
		r, sent = start(), 0
		ask("one", 3, 200, "")
		ask("one", 4, 400, "this conversation has spent 3300 tokens; the limit is 3300 tokens")
		ask("two", 1, 200, "")
		ask("two", 2, 200, "") // from now on it is known after a restart: its first request is how any conversation begins
		r.close()
		rows, err := store.Requests(t.Context(), record.Query{})
		if err != nil || len(rows) != 6 {
			t.Fatal(len(rows), err)
		}
		for i, row := range rows {
			if row.Holdout != "" || (row.Conversation == rows[0].Conversation) != (i < 4) {
				t.Errorf("%s: request %d: %+v", api.path, i+1, row)
			}
		}
		note := record.Note{Kind: record.NoteStop, Key: rows[4].Conversation, Text: "{}", Time: time.Now()}
		if err := store.Append(t.Context(), record.Batch{Notes: []record.Note{note}}); err != nil {
			t.Fatal(err)
		}
		r, sent = start(), 0
		ask("two", 3, 400, "stopped by a person")
		ask("three", 1, 200, "")
	}
}
