package strictmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/llmtest"
)

// Message threads, as in the page "Message threads" of the Messages API, with the errors that its SDK names. A request
// begins a thread with the whole conversation, and the next ones have only the new messages. The server holds
// the conversation under the id of each answer. Each answer can be continued once.

// ThreadsBeta is the value of the beta header that allows threads.
const ThreadsBeta = "message-threads-2026-08-12"

// ThreadIdle is how long a thread lives after its last answer.
const ThreadIdle = 5 * time.Minute

const (
	maxThreads = 1000 // answers that are held
	maxMarkers = 4    // cache markers that a request of a thread may have, including the one at the top level
)

// fixedFields are the members of a body that must stay the same in a thread. The set of betas must stay the same too.
var fixedFields = []string{"model", "thinking", "tool_choice", "cache_control", "output_config"}

// keptFields are the members that a thread keeps from its first request. Later requests leave them out.
var keptFields = []string{"system", "tools"}

// unthreaded are the members of a body that threads do not support.
var unthreaded = []string{"context_management", "fallbacks"}

// threads holds the conversations of a server by the ids of its answers.
type threads struct {
	mu    sync.Mutex
	made  int // threaded answers so far
	byID  map[string]*threadState
	order []string // ids, the oldest first
}

// threadState is a conversation up to an answer.
type threadState struct {
	fields    map[string]json.RawMessage // of the first body of the thread
	betas     string
	messages  []json.RawMessage // without cache markers
	last      time.Time
	continued bool // another request continued it and was answered
	busy      bool // another request is continuing it now
}

// threadTurn is a request of a thread. It is nil for a request without a thread.
type threadTurn struct {
	of       *threads
	before   *threadState // nil: the request begins the thread
	fields   map[string]json.RawMessage
	betas    string
	messages []json.RawMessage
}

// enter reads the thread of a Messages request. The caller must call leave at the end.
func (t *threads) enter(now time.Time, h http.Header, body []byte) (*threadTurn, *refusal) {
	fields := map[string]json.RawMessage{}
	var said struct {
		Thread *struct {
			Type     string
			Previous string `json:"previous_message_id"`
		}
		Messages []json.RawMessage
	}
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(body, &said) != nil || said.Thread == nil {
		return nil, nil
	}
	betas := betasOf(h)
	unsupported := func(what, message string) (*threadTurn, *refusal) {
		return nil, &refusal{message: message, code: "thread_unsupported_request", unsupported: []string{what}}
	}
	if !slices.Contains(betas, ThreadsBeta) {
		return nil, refuse("thread: Extra inputs are not permitted")
	}
	for _, name := range unthreaded {
		if _, ok := fields[name]; ok {
			return unsupported(name, "thread: cannot be combined with "+name)
		}
	}
	if n := markers(body); n > maxMarkers {
		return unsupported("cache_control", fmt.Sprintf("thread: a maximum of %d blocks with cache_control may be provided. Found %d.", maxMarkers, n))
	}
	turn := &threadTurn{of: t, fields: fields, betas: strings.Join(betas, ","), messages: said.Messages}
	switch said.Thread.Type {
	case "create":
		return turn, nil
	case "continue":
		return t.goOn(now, turn, said.Thread.Previous)
	}
	return nil, refuse("thread.type: Input should be 'create' or 'continue'")
}

// goOn finds the conversation that a request continues.
func (t *threads) goOn(now time.Time, turn *threadTurn, id string) (*threadTurn, *refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.byID[id]
	switch {
	case was == nil || now.Sub(was.last) > ThreadIdle:
		return nil, &refusal{status: http.StatusNotFound, code: "thread_not_found", message: "thread_not_found: no usable thread for " + id}
	case was.continued:
		return nil, &refusal{code: "thread_already_continued", message: "thread: " + id + " has already been continued"}
	case was.busy:
		return nil, &refusal{code: "thread_continue_in_flight", message: "thread: another request is still continuing from " + id}
	}
	for _, name := range keptFields {
		if value, ok := turn.fields[name]; ok && !accounting(value) {
			return nil, &refusal{code: "", message: name + ": a thread keeps it: leave it out of a request that continues one"}
		}
	}
	var differs []string
	for _, name := range fixedFields {
		if plainly(turn.fields[name]) != plainly(was.fields[name]) {
			differs = append(differs, name)
		}
	}
	if turn.betas != was.betas {
		differs = append(differs, "anthropic_beta")
	}
	if differs != nil {
		return nil, &refusal{code: "thread_fingerprint_mismatch", message: "thread: the request does not match the thread, differing field(s): " + strings.Join(differs, ", ")}
	}
	was.busy = true
	turn.before = was
	for _, name := range keptFields {
		delete(turn.fields, name)
		if value, ok := was.fields[name]; ok {
			turn.fields[name] = value
		}
	}
	turn.messages = append(was.messages[:len(was.messages):len(was.messages)], turn.messages...)
	return turn, nil
}

// whole returns the body of the whole conversation, without a thread. Without a thread it returns body.
func (t *threadTurn) whole(body []byte) []byte {
	if t == nil {
		return body
	}
	fields := object{}
	for name, value := range t.fields {
		if name != "thread" {
			fields[name] = value
		}
	}
	fields["messages"] = t.messages
	return []byte(encode(fields))
}

// keep gives the answer an id and holds the conversation under it, unless a fault cuts off the answer.
func (t *threadTurn) keep(now time.Time, a *llm.Response, blocks []object, whole bool) {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.made++
	a.ID = fmt.Sprintf("t%04d", t.of.made)
	if t.before != nil {
		t.before.continued = true
	}
	if !whole {
		return
	}
	messages := append(t.messages[:len(t.messages):len(t.messages)], json.RawMessage(encode(object{"role": "assistant", "content": blocks})))
	for i, m := range messages {
		messages[i] = unmarked(m)
	}
	if t.of.byID == nil {
		t.of.byID = map[string]*threadState{}
	}
	id := "msg_" + a.ID
	t.of.byID[id] = &threadState{fields: t.fields, betas: t.betas, messages: messages, last: now}
	if t.of.order = append(t.of.order, id); len(t.of.order) > maxThreads {
		delete(t.of.byID, t.of.order[0])
		t.of.order = t.of.order[1:]
	}
}

// leave ends the request.
func (t *threadTurn) leave() {
	if t == nil || t.before == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.before.busy = false
}

// ForgetThreads forgets every conversation, because a real thread may also disappear at any time.
func (r *Rules) ForgetThreads() {
	r.threads.mu.Lock()
	defer r.threads.mu.Unlock()
	r.threads.byID, r.threads.order = nil, nil
}

// now returns the time for message threads.
func (r *Rules) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// betasOf returns the set of betas that a request asks for.
func betasOf(h http.Header) (betas []string) {
	for _, line := range h.Values("Anthropic-Beta") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				betas = append(betas, name)
			}
		}
	}
	slices.Sort(betas)
	return slices.Compact(betas)
}

// plainly returns a value with its keys in order.
func plainly(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return string(value)
	}
	return encode(v)
}

// accounting reports whether a system text is only the provider's accounting header.
func accounting(system json.RawMessage) bool {
	var blocks []struct{ Text string }
	if json.Unmarshal(system, &blocks) != nil || len(blocks) == 0 {
		return false
	}
	for _, b := range blocks {
		if !llmtest.Accounts(b.Text) {
			return false
		}
	}
	return true
}

// markers counts the cache markers of a body.
func markers(body []byte) int {
	req, err := anthropic.Messages{}.Decode(body)
	if err != nil {
		return 0
	}
	return len(req.Caching.Breakpoints)
}

// unmarked returns a message without cache markers.
func unmarked(message json.RawMessage) json.RawMessage {
	if !bytes.Contains(message, []byte(`"cache_control"`)) {
		return message
	}
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	var m object
	if d.Decode(&m) != nil {
		return message
	}
	blocks, _ := m["content"].([]any)
	for _, b := range blocks {
		if block, ok := b.(object); ok {
			delete(block, "cache_control")
		}
	}
	return json.RawMessage(encode(m))
}
