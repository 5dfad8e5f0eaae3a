package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// dialogues are conversations that go on, fork, go back and change while time passes.
type dialogues struct {
	all   []*llm.Request
	calls int
	now   time.Time
}

// models are three models whose windows and prices are known, and one unknown model.
var models = []string{"m", "gpt-4", "claude-opus-4-6", "gpt-5.4"}

// next draws a request that continues or forks one of the conversations.
func (c *dialogues) next(t *rapid.T) *llm.Request {
	if len(c.all) == 0 || len(c.all) < 4 && rapid.IntRange(0, 9).Draw(t, "new") == 0 {
		req := &llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{{Text: "You work in /home/me/project."}}},
			{Role: llm.User, Parts: []llm.Part{{Text: fmt.Sprint("Go on ", len(c.all))}}},
		}}
		req.AddTool("Read", "reads", []byte(`{"type":"object"}`))
		c.all = append(c.all, req)
	}
	req := rapid.SampledFrom(c.all).Draw(t, "which")
	messages := slices.Clone(req.Messages)
	switch rapid.IntRange(0, 19).Draw(t, "what") {
	case 0: // go back
		messages = messages[:rapid.IntRange(2, len(messages)).Draw(t, "to")]
	case 1: // fork
		fork := *req
		c.all = append(c.all, &fork)
		req, messages = &fork, messages[:rapid.IntRange(2, len(messages)).Draw(t, "to")]
	case 2: // change an earlier message
		i := rapid.IntRange(0, len(messages)-1).Draw(t, "message")
		messages[i].Parts = slices.Clone(messages[i].Parts)
		messages[i].Parts[0].Text += "!"
	case 3:
		req.Model = rapid.SampledFrom(models).Draw(t, "model")
	case 4:
		req.AddTool(fmt.Sprint("t", len(req.Tools)), "", []byte(`{}`))
	case 5:
		c.now = c.now.Add(2 * time.Hour)
	case 6: // repeat the last request
		return req
	}
	for range rapid.IntRange(1, 3).Draw(t, "turns") {
		messages = append(messages, c.turn(t)...)
	}
	if rapid.IntRange(0, 4).Draw(t, "says") == 0 {
		messages = append(messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "And then?"}}})
	}
	req.Messages = messages
	return req
}

// turn draws a turn of the model and the results of its calls.
func (c *dialogues) turn(t *rapid.T) []llm.Message {
	c.calls++
	id := fmt.Sprint("call_", c.calls)
	file := rapid.SampledFrom([]string{"a.go", "b.go"}).Draw(t, "file")
	call := llm.Part{Kind: llm.ToolCall, CallID: id, Name: "Read", Args: fmt.Sprintf(`{"file_path":"/home/me/project/%s"}`, file)}
	result := llm.Part{Kind: llm.ToolResult, CallID: id, Text: numbered(file, rapid.IntRange(0, 3).Draw(t, "version"))}
	if rapid.IntRange(0, 2).Draw(t, "command") == 0 {
		call.Name, call.Args = "Bash", fmt.Sprintf(`{"command":"make %s"}`, file)
		result.Text = strings.Repeat("compiling "+file+" once more\n", rapid.IntRange(1, 60).Draw(t, "lines"))
	}
	parts := []llm.Part{call}
	if rapid.Bool().Draw(t, "speaks") {
		parts = append([]llm.Part{{Text: "I look."}}, call)
	}
	return []llm.Message{{Role: llm.Assistant, Parts: parts}, {Role: llm.Tool, Parts: []llm.Part{result}}}
}

func numbered(file string, version int) string {
	var b strings.Builder
	for i := range 30 {
		v := 0
		if i%11 == 0 {
			v = version
		}
		fmt.Fprintf(&b, "%6d\tline %d of %s, version %d\n", i+1, i+1, file, v)
	}
	return b.String()
}

// send lets p prepare a body at a given time, as if it was answered with usage. It returns what goes upstream, and its row.
func send(t interface{ Fatalf(string, ...any) }, p *Proxy, to endpoint, body []byte, at time.Time, usage record.Usage) (sent []byte, row record.Request) {
	row = sendTo(t, p, to, body, at, func(body []byte) record.Usage {
		sent = body
		return usage
	})
	return sent, row
}

// sendTo is like send, but count computes the usage from what goes upstream.
func sendTo(t interface{ Fatalf(string, ...any) }, p *Proxy, to endpoint, body []byte, at time.Time, count func(sent []byte) record.Usage) record.Request {
	x := prepareAt(t, p, to, body, at)
	x.row.Usage = count(bytes.Clone(x.body.text()))
	row, _ := settleAt(p, x, at)
	return row
}

// prepareAt lets p prepare a body at a given time.
func prepareAt(t interface{ Fatalf(string, ...any) }, p *Proxy, to endpoint, body []byte, at time.Time) *exchange {
	head := bytes.Clone(body)
	x := &exchange{
		endpoint: to, body: upload{head: head, whole: true, borrowed: []*lease{lend(head)}},
		row: record.Request{Conversation: "unknown", API: to.api, Time: at, Status: 200},
	}
	p.prepare(x, http.Header{}, planned)
	if p.reports(x); x.background != nil {
		<-x.background
	}
	if x.row.Passed == string(panicked) || x.row.Passed == string(misfit) {
		t.Fatalf("passed: %s", x.row.Passed)
	}
	return x
}

// settleAt settles the answer to x. It also returns the account of the conversation after that.
func settleAt(p *Proxy, x *exchange, at time.Time) (row record.Request, account int) {
	turns := p.settle(x, at)
	if len(turns) > 0 {
		account = turns[len(turns)-1].Account
	}
	p.writer.add(record.Batch{Turns: turns})
	p.conversations.leave(x.conversation, &x.row, nil)
	x.body.release(&p.buffers)
	return x.row, account
}

// A plan that is made only for the new parts of a request equals a plan for the whole request, byte for byte. The conversations
// continue, fork, go back and change.
func TestIncremental(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := trim.Config{
			Policy: rapid.SampledFrom(trim.Policies()).Draw(t, "policy"), KeepReads: 2, KeepShell: 2, Idle: 3,
		}
		var proxies [2]*Proxy
		for i, memory := range []int64{rapid.SampledFrom([]int64{0, 60_000}).Draw(t, "memory"), -1} {
			p, err := New(Config{History: config, Memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close(t.Context())
			proxies[i] = p
		}
		which := rapid.IntRange(0, 2).Draw(t, "api")
		c := &dialogues{now: time.Now()}
		for range rapid.IntRange(1, 25).Draw(t, "requests") {
			req := c.next(t)
			c.now = c.now.Add(time.Second)
			counting := which == 0 && rapid.IntRange(0, 5).Draw(t, "count") == 0
			var got [2][]byte
			var rows [2]record.Request
			for i, p := range proxies {
				to := []endpoint{p.endpoints.messages, p.endpoints.chat, p.endpoints.responses}[which]
				body, err := to.codec.Encode(req)
				if err != nil {
					t.Fatal(err)
				}
				if which == 0 {
					body = markLast(body)
				}
				if counting {
					to = p.endpoints.count
				}
				got[i], rows[i] = send(t, p, to, body, c.now, record.Usage{})
			}
			if !bytes.Equal(got[0], got[1]) {
				t.Fatalf("%+v sent\n%s\nwant\n%s", config, got[0], got[1])
			}
			rows[0].Added, rows[1].Added = 0, 0
			rows[0].Conversation, rows[1].Conversation = "", "" // the names are random
			if rows[0] != rows[1] {
				t.Fatalf("%+v\n%+v\nwant\n%+v", config, rows[0], rows[1])
			}
		}
		if r := proxies[0].recent; r.size > r.max || len(r.entries) == 0 && r.max > 1<<20 {
			t.Fatalf("%d bytes in %d requests are held, of %d", r.size, len(r.entries), r.max)
		}
	})
}

// markLast puts a cache marker on the last result of a Messages body.
func markLast(body []byte) []byte {
	const id = `"tool_use_id"`
	i := bytes.LastIndex(body, []byte(id))
	if i < 0 {
		return body
	}
	return slices.Concat(body[:i], []byte(`"cache_control":{"type":"ephemeral"},`), body[i:])
}

// A request that continues another one takes over its decoded messages and its plan state, and replaces it in memory. A fork does
// not replace it. A count of tokens also helps the request after it.
func TestRequestThatContinues(t *testing.T) {
	p, err := New(Config{History: trim.Config{Policy: trim.Lossless}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	now := time.Now()
	newest := func(rounds int, to endpoint, held int) *heldRequest {
		t.Helper()
		body := markLast(rounded(rounds))
		send(t, p, to, body, now, record.Usage{})
		if n := len(p.recent.entries); n != held {
			t.Fatalf("%d requests are held, want %d", n, held)
		}
		return p.recent.entries[len(p.recent.entries)-1].heldRequest
	}
	first := newest(5, p.endpoints.messages, 1)
	state := first.plan.state
	second := newest(8, p.endpoints.messages, 1)
	if second.plan.state != state || state == nil || first.held {
		t.Error("the state was made again")
	}
	if n := commonMessages(second.request.Messages, first.request.Messages); n != len(first.request.Messages) ||
		&second.request.Messages[3].Parts[0] != &first.request.Messages[3].Parts[0] {
		t.Errorf("%d messages in common", n)
	}
	if counted := newest(9, p.endpoints.count, 1); counted.plan.state != state {
		t.Error("a request to count tokens was decoded from its start")
	}
	if again := newest(9, p.endpoints.messages, 1); again.plan.state != state {
		t.Error("the request after it was decoded from its start")
	}
	if back := newest(6, p.endpoints.messages, 2); back.plan.state == state || back.plan.state == nil {
		t.Error("going back went on with a state of more")
	}
}

// The tests hold small requests too, because most of their requests are small.
func init() { leastHeld = 0 }

// rounded returns a Messages body of a conversation with so many reads.
func rounded(rounds int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}`)
	for i := range rounds {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Read","input":{"file_path":"/home/me/project/%d.go"}}]}`, i, i%3)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, i, numbered("x", i))
	}
	b.WriteString(`],"tools":[{"name":"Read","input_schema":{"type":"object"}}]}`)
	return []byte(b.String())
}

// A request continues the newest one of its own conversation, although others have the same texts at the same places, and
// although the agent moves its cache marker. A fork continues the request with which it has most messages in common.
func TestFind(t *testing.T) {
	r := &recent{max: 64 << 20, pool: new(buffers)}
	body := func(name string, rounds int) []byte {
		var b strings.Builder
		fmt.Fprintf(&b, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"task %s"}`, name)
		for i := range rounds {
			mark := ""
			if i == rounds-1 {
				mark = `"cache_control":{"type":"ephemeral"},`
			}
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"make"}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result",%s"tool_use_id":"c%d","content":%q}]}`, mark, i, strings.Repeat(fmt.Sprint("round ", i), 500))
		}
		return []byte(b.String() + "]}")
	}
	hold := func(name string, rounds int) *heldRequest {
		t.Helper()
		b := body(name, rounds)
		req, err := anthropic.Messages{}.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		h := &heldRequest{api: "messages", body: lend(b), request: req}
		h.measure()
		r.add(h, nil)
		return h
	}
	short, a, b := hold("a", 5), hold("a", 20), hold("b", 20)
	other := hold("c", 30)
	for _, tt := range []struct {
		name   string
		rounds int
		want   *heldRequest
	}{
		{"a", 21, a}, {"b", 21, b}, {"b", 24, b}, {"a", 20, a}, {"c", 31, other},
		{"a", 6, short}, {"a", 17, a}, {"d", 21, nil}, {"a", 3, nil},
	} {
		if got, _ := r.find("messages", body(tt.name, tt.rounds)); got != tt.want {
			t.Errorf("task %s with %d rounds goes on from another", tt.name, tt.rounds)
		}
	}
	if got, _ := r.find("chat", body("a", 21)); got != nil {
		t.Error("a request of another API is found")
	}
}
