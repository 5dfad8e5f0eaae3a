package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// thread is what the client of a recorded session knows of its message thread.
type thread struct {
	previous string // the answer that the next request continues; "": all messages are sent
	held     int    // number of messages that the provider holds

	continued, replayed int // numbers of requests
	has, would          int // bytes of text that the model has read, and would have read without stet
}

// body returns the next request of a session with threads.
func (h *thread) body(r *replayed) ([]byte, error) {
	req := llm.Request{Model: apis[0].model, MaxTokens: 900, Tools: r.tools, Messages: append(slices.Clone(r.head), r.messages...)}
	whole, err := anthropic.Messages{}.Encode(&req)
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	var messages []json.RawMessage
	if err := errors.Join(json.Unmarshal(whole, &body), json.Unmarshal(body["messages"], &messages)); err != nil {
		return nil, err
	}
	body["thread"] = json.RawMessage(`{"type":"create"}`)
	held := h.held
	h.held = len(messages) + 1
	if h.previous != "" {
		messages = messages[held:]
		body["thread"] = fmt.Appendf(nil, `{"type":"continue","previous_message_id":%q}`, h.previous)
		delete(body, "system")
		delete(body, "tools")
	}
	if body["messages"], err = json.Marshal(messages); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// ask sends the new messages of the conversation, or all of them.
func (h *thread) ask(r *replayed) bool {
	if size(r.messages) > largest || slices.ContainsFunc(r.open, func(id string) bool { return len(id) > 64 }) { // the API refuses longer ids
		return false
	}
	for range 2 {
		body, err := h.body(r)
		if err != nil {
			r.t.Fatal(err)
		}
		if h.previous != "" {
			h.continued++
		}
		w := httptest.NewRecorder()
		to := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(string(body)))
		to.Header.Set("Anthropic-Beta", strictmodel.ThreadsBeta)
		r.running[r.turns%len(r.running)].ServeHTTP(w, to)
		if w.Code == http.StatusNotFound && h.previous != "" && strings.Contains(w.Body.String(), "thread_not_found") {
			h.previous = ""
			h.replayed++
			continue
		}
		if w.Code != http.StatusOK {
			r.t.Errorf("turn %d: %d %.300s", r.turns, w.Code, w.Body)
			return false
		}
		var answer struct{ ID string }
		resp, err := anthropic.Messages{}.DecodeResponse(w.Body.Bytes())
		if err != nil || json.Unmarshal(w.Body.Bytes(), &answer) != nil {
			r.t.Error(err)
			return false
		}
		all := r.model.Requests()
		h.has += size(all[len(all)-1].Decoded.Messages) - size(r.head)
		h.would += size(r.messages)
		r.turns++
		r.messages = append(r.messages, resp.Message)
		h.previous = answer.ID
		return true
	}
	r.t.Errorf("turn %d: no answer", r.turns)
	return false
}

// size returns the bytes of text in messages.
func size(messages []llm.Message) (n int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Args)
		}
	}
	return n
}

// WIRE-3: a recorded session is played as one with message threads whose thinking is bound. No request is refused, and what stet
// leaves out is also left out of the messages that the provider holds.
func TestRecordedThreads(t *testing.T) {
	continued, again, has, would := 0, 0, 0, 0
	playAll(t, trim.Adaptive, setting{proxies: 1}, func(r *replayed) { r.thread = new(thread) }, func(r *replayed) {
		continued, again = continued+r.thread.continued, again+r.thread.replayed
		has, would = has+r.thread.has, would+r.thread.would
	})
	if would == 0 || has >= would {
		t.Errorf("%d of %d bytes", has, would)
	}
	t.Logf("%d requests continued a thread, %d sent all again; %.1f %% of the bytes saved", continued, again, 100*(1-float64(has)/float64(max(would, 1))))
}
