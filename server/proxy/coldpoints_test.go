package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

// talk is a Messages conversation. Its method body makes one of its requests.
type talk struct {
	model, system, tools string
	ttl                  string // of the marker on the last result; "": the marker names none; "-": there is no marker
	rounds               int
	begun                string // what the user said first; "": a default
	extra                string // more members of the body
}

func (k talk) body() []byte {
	var b strings.Builder
	if k.begun == "" {
		k.begun = "go on"
	}
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5%s"%s,"max_tokens":9,"system":"You help. %s","messages":[{"role":"user","content":%q}`, k.model, k.extra, k.system, k.begun)
	for i := range k.rounds {
		marker := ""
		switch {
		case i < k.rounds-1, k.ttl == "-":
		case k.ttl == "":
			marker = `"cache_control":{"type":"ephemeral"},`
		default:
			marker = `"cache_control":{"type":"ephemeral","ttl":"` + k.ttl + `"},`
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"make %d"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result",%s"tool_use_id":"c%d","content":%q}]}`, marker, i,
			strings.Repeat(fmt.Sprintf("ok %d: built one more of the targets\n", i), 40))
	}
	fmt.Fprintf(&b, `],"tools":[{"name":"Bash%s","input_schema":{"type":"object"}}]}`, k.tools)
	return []byte(b.String())
}

// batches is a store that also keeps every batch it was given.
type batches struct {
	recordtest.Memory
	mu  sync.Mutex
	all []record.Batch
}

func (b *batches) Append(ctx context.Context, rows record.Batch) error {
	b.mu.Lock()
	b.all = append(b.all, rows)
	b.mu.Unlock()
	return b.Memory.Append(ctx, rows)
}

// Pauses are measured with the wall clock, because the monotonic clock stands still while the machine sleeps.
func TestWallClock(t *testing.T) {
	store := new(batches)
	p := newProxy(t, func(c *Config) {
		c.Store = store
		c.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			answer := `{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":9}}`
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
		})
	})
	for i := range 3 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/messages", bytes.NewReader(talk{rounds: i}.body()))
		p.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var times []time.Time // the times by which the next request is judged
	for _, b := range store.all {
		for _, row := range b.Requests {
			times = append(times, row.Time)
		}
		for _, turn := range b.Turns {
			times = append(times, turn.Time)
		}
	}
	if len(times) < 6 {
		t.Errorf("%d times", len(times))
	}
	for _, at := range times {
		if at != at.Round(0) {
			t.Errorf("%s has a reading of the monotonic clock", at)
		}
	}
}

func newProxy(t *testing.T, change ...func(*Config)) *Proxy {
	t.Helper()
	c := Config{Keep: Keep{For: -1}} // -1 keeps all rows: those of noon would be too old
	for _, f := range change {
		f(&c)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TRIM-17: the cache counts as cold after its lifetime, and if the model, the tools or the system text differ. If a marker names
// a lifetime, that one counts.
func TestColdPoints(t *testing.T) {
	for _, test := range []struct {
		name        string
		first, then talk
		after       time.Duration
		coldPoint   trim.Cause
		broke       string
	}{
		{"goes on", talk{rounds: 9}, talk{rounds: 10}, 4 * time.Minute, "", ""},
		{"gap", talk{rounds: 9}, talk{rounds: 10}, 6 * time.Minute, trim.Gap, ""},
		{"gap within the hour", talk{rounds: 9, ttl: "1h"}, talk{rounds: 10, ttl: "1h"}, 50 * time.Minute, "", ""},
		{"what was asked before counts", talk{rounds: 9, ttl: "1h"}, talk{rounds: 10}, 50 * time.Minute, "", ""},
		{"gap over the hour", talk{rounds: 9, ttl: "1h"}, talk{rounds: 10, ttl: "1h"}, 61 * time.Minute, trim.Gap, ""},
		{"no marker", talk{rounds: 9, ttl: "-"}, talk{rounds: 10, ttl: "-"}, 6 * time.Minute, "", ""},
		{"no marker, over the hour", talk{rounds: 9, ttl: "-"}, talk{rounds: 10, ttl: "-"}, 61 * time.Minute, trim.Gap, ""},
		{"model", talk{rounds: 9}, talk{rounds: 10, model: "-x"}, time.Minute, trim.Model, record.BrokeModel},
		{"tools", talk{rounds: 9}, talk{rounds: 10, tools: "2"}, time.Minute, trim.Tools, record.BrokeTools},
		{"system", talk{rounds: 9}, talk{rounds: 10, system: "Now."}, time.Minute, trim.Tools, record.BrokeSystem},
		{"another conversation", talk{rounds: 9}, talk{rounds: 10, begun: "else"}, time.Hour, "", ""},
		{"markers are gone", talk{rounds: 9}, talk{rounds: 10, ttl: "-"}, time.Minute, "", record.BrokeMarker},
		{"markers too far on", talk{rounds: 2}, talk{rounds: 14}, time.Minute, "", record.BrokeMarker},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProxy(t, func(c *Config) { c.History.Policy = trim.Lossless })
			send(t, p, p.endpoints.messages, test.first.body(), noon, record.Usage{})
			_, counted := send(t, p, p.endpoints.count, test.then.body(), noon.Add(test.after), record.Usage{})
			if counted.Cache != (record.Cache{}) {
				t.Errorf("counting has a cold point: %+v", counted.Cache)
			}
			_, row := send(t, p, p.endpoints.messages, test.then.body(), noon.Add(test.after), record.Usage{})
			c := row.Cache
			if c.Moment != string(test.coldPoint) || c.Broke != test.broke {
				t.Errorf("%+v", c)
			}
			if test.then.begun == "" && c.Gap != test.after {
				t.Errorf("gap %v", c.Gap)
			}
		})
	}
}

// A cold point stays a cold point in all requests that continue from it: later requests, a repeated one, and forks. What was sent
// at the cold point is sent again. Counting tokens sees the same request.
func TestColdPointsStay(t *testing.T) {
	store := new(recordtest.Memory)
	with := func(c *Config) { c.Store = store }
	p := newProxy(t, with)
	at := noon
	next := func(p *Proxy, to endpoint, rounds int, after time.Duration) ([]byte, trim.Cause) {
		t.Helper()
		at = at.Add(after)
		sent, row := send(t, p, to, talk{rounds: rounds}.body(), at, record.Usage{})
		return sent, trim.Cause(row.Cache.Moment)
	}
	next(p, p.endpoints.messages, 9, 0)
	counted, why := next(p, p.endpoints.count, 10, 2*time.Hour)
	if why != "" {
		t.Fatalf("counting is a cold point: %s", why)
	}
	cold, why := next(p, p.endpoints.messages, 10, time.Second)
	if why != trim.Gap || !bytes.Equal(cold, counted) {
		t.Fatalf("%s; as counted: %v", why, bytes.Equal(cold, counted))
	}
	for name, rounds := range map[string]int{"the same again": 10, "what follows": 12, "going back": 11} {
		if again, why := next(p, p.endpoints.messages, rounds, time.Second); why != "" || !beginsLike(again, cold) {
			t.Errorf("%s: %s, or what was sent has changed", name, why)
		}
	}
}

// beginsLike reports whether a begins with the messages of b, without their cache markers.
func beginsLike(a, b []byte) bool {
	strip := func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte(`"cache_control":{"type":"ephemeral"},`), nil)
	}
	a, b = strip(a), strip(b)
	end := bytes.Index(b, []byte(`],"tools"`))
	return bytes.HasPrefix(a, b[:end])
}

// A request without an answer leaves nothing in the cache state.
func TestUnanswered(t *testing.T) {
	p := newProxy(t)
	send(t, p, p.endpoints.messages, talk{rounds: 9}.body(), noon, record.Usage{})
	head := talk{rounds: 10}.body()
	x := &exchange{
		endpoint: p.endpoints.messages, body: upload{head: head, whole: true, borrowed: []*lease{lend(head)}},
		row: record.Request{API: llm.Messages, Time: noon.Add(time.Hour), Status: 529},
	}
	p.prepare(x, nil, planned)
	p.reports(x)
	<-x.background
	if x.row.Cache.Moment != string(trim.Gap) || p.settle(x, noon.Add(time.Hour)) != nil {
		t.Errorf("%+v", x.row.Cache)
	}
	x.body.release(&p.buffers)
	_, row := send(t, p, p.endpoints.messages, talk{rounds: 11}.body(), noon.Add(time.Hour+time.Second), record.Usage{})
	if row.Cache.Moment != string(trim.Gap) || row.Cache.Gap != time.Hour+time.Second {
		t.Errorf("%+v", row.Cache)
	}
}

// Going back to a place where no request ended is not a compaction. A new beginning of the same session is one.
func TestGoingBack(t *testing.T) {
	for _, test := range []struct {
		body      []byte
		coldPoint trim.Cause
	}{
		{talk{rounds: 4}.body(), ""},
		{talk{rounds: 4, begun: "a summary"}.body(), trim.Compaction},
	} {
		p := newProxy(t)
		named := func(body []byte) []byte {
			return bytes.Replace(body, []byte(`"max_tokens"`), []byte(`"metadata":{"user_id":"user_a_account_b_session_c"},"max_tokens"`), 1)
		}
		send(t, p, p.endpoints.messages, named(talk{rounds: 9}.body()), noon, record.Usage{})
		_, row := send(t, p, p.endpoints.messages, named(test.body), noon.Add(time.Second), record.Usage{})
		if row.Cache.Moment != string(test.coldPoint) || row.Conversation != "c" {
			t.Errorf("%s: %+v", row.Conversation, row.Cache)
		}
	}
}

// A request for a title that sends the first words of a conversation is no turn of it.
func TestTitle(t *testing.T) {
	p := newProxy(t)
	send(t, p, p.endpoints.messages, talk{}.body(), noon, record.Usage{})
	title := []byte(`{"model":"small","max_tokens":9,"system":"Make a title.","messages":[{"role":"user","content":"go on"}]}`)
	send(t, p, p.endpoints.messages, title, noon.Add(time.Second), record.Usage{})
	_, row := send(t, p, p.endpoints.messages, talk{rounds: 1}.body(), noon.Add(2*time.Second), record.Usage{})
	if row.Cache.Moment != "" || row.Cache.Broke == record.BrokeModel || row.Cache.Gap != 2*time.Second {
		t.Errorf("%+v", row.Cache)
	}
}

// stet makes no pointer to content that the provider may drop by itself.
func TestManaged(t *testing.T) {
	p := newProxy(t)
	summedUp := bytes.Replace(talk{rounds: 2}.body(), []byte(`],"tools":`),
		[]byte(`,{"role":"assistant","content":[{"type":"compaction","content":"It was built twice."}]},{"role":"user","content":"go on"}],"tools":`), 1)
	for _, test := range []struct {
		to   endpoint
		body string
		want cause
	}{
		{p.endpoints.messages, string(talk{extra: `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`}.body()), managed},
		{p.endpoints.messages, string(talk{extra: `,"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}`}.body()), planned},
		{p.endpoints.responses, `{"model":"nobody-knows","truncation":"auto","input":"hello"}`, planned},
		{p.endpoints.responses, `{"model":"nobody-knows","truncation":"auto","input":"` + strings.Repeat("hello ", 80_000) + `"}`, managed},
		{p.endpoints.responses, `{"model":"nobody-knows","truncation":"disabled","input":"` + strings.Repeat("hello ", 80_000) + `"}`, planned},
		{p.endpoints.messages, string(summedUp), managed},
		{p.endpoints.responses, `{"model":"nobody-knows","context_management":[{"type":"compaction","compact_threshold":1000}],"input":"hello"}`, managed},
	} {
		sent, row := send(t, p, test.to, []byte(test.body), noon, record.Usage{})
		if row.Passed != string(test.want) || string(sent) != test.body {
			t.Errorf("%.90s: %q", test.body, row.Passed)
		}
	}
}

// sentBefore returns a store in which an earlier process wrote how it sent a request.
func sentBefore(t *testing.T, body []byte) *recordtest.Memory {
	store := new(recordtest.Memory)
	p := newProxy(t, func(c *Config) { c.Store = store })
	send(t, p, p.endpoints.messages, body, noon, record.Usage{})
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

// TestRecall checks what is read back from a full store, and what is removed from it.
func TestRecall(t *testing.T) {
	store := sentBefore(t, talk{rounds: 5}.body())
	req, err := newProxy(t).endpoints.messages.codec.Decode(talk{rounds: 5}.body())
	if err != nil {
		t.Fatal(err)
	}
	c := prefix.ChainOf(req.Messages, nil, 0)
	turn := recordtest.FullTurn(0, noon)
	turn.Model = req.Model
	turn.Tools, turn.System = prefix.Tools(req), c.System
	turn.Prefix = c.End()
	turn.Account = 0
	old := recordtest.Full("old", "c", time.Now().Add(-400*24*time.Hour))
	believed := recordtest.Full("believed", "c", time.Now().Add(-believeAfter-time.Hour)) // the time by which old rows are removed
	if err := store.Append(t.Context(), record.Batch{Turns: []record.Turn{turn}, Requests: []record.Request{old, believed}}); err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, func(c *Config) { c.Store, c.Keep = store, Keep{} })
	_, row := send(t, p, p.endpoints.messages, talk{rounds: 6}.body(), noon.Add(2*time.Minute), record.Usage{})
	if row.Cache.Gap != 2*time.Minute || row.Cache.Lifetime != time.Hour || row.Cache.Moment != "" || row.Conversation != "c" {
		t.Errorf("%s: %+v", row.Conversation, row.Cache)
	}
	p.writer.add(record.Batch{Requests: []record.Request{recordtest.Full("new", "c", time.Now())}})
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, err := store.Requests(t.Context(), record.Query{}); err != nil || len(rows) != 2 || rows[0].ID != "believed" || rows[1].ID != "new" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The debt of a conversation also holds in another process.
func TestRecallAccount(t *testing.T) {
	req, err := newProxy(t).endpoints.messages.codec.Decode(talk{rounds: 20}.body())
	if err != nil {
		t.Fatal(err)
	}
	c := prefix.ChainOf(req.Messages, nil, 0)
	for account, coldPoint := range map[int]trim.Cause{0: trim.Gap, -1: ""} {
		turn := recordtest.FullTurn(0, noon)
		turn.Model, turn.Tools, turn.System, turn.Account = req.Model, prefix.Tools(req), c.System, account
		turn.Prefix = c.End()
		store := sentBefore(t, talk{rounds: 20}.body())
		if err := store.Append(t.Context(), record.Batch{Turns: []record.Turn{turn}}); err != nil {
			t.Fatal(err)
		}
		p := newProxy(t, func(c *Config) { c.Store = store })
		_, row := send(t, p, p.endpoints.messages, talk{rounds: 21}.body(), noon.Add(3*time.Hour), record.Usage{})
		if row.Cache.Moment != string(coldPoint) {
			t.Errorf("account %d: cold point %q", account, row.Cache.Moment)
		}
	}
}
