package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// stagingHost runs a host whose workspace accepts content in parts.
func stagingHost(t testing.TB, url string, b *bench) (stop func()) {
	t.Helper()
	_, stop = run(t, &Host{Dial: Dial{URL: url, Token: "host-a"}, Workspace: "w", Caller: b.handler, Stage: b.tools.Stage})
	return stop
}

// staged returns the number of contents being staged.
func (b *bench) staged(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(b.state, "staged"))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// write returns the arguments of a write.
func write(t testing.TB, path, text string) json.RawMessage {
	t.Helper()
	args, err := json.Marshal(map[string]string{"path": path, "content": text})
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// Content above the limits of a frame and of one piece goes in parts in both directions, with one question, one write and one
// content. (FILE-9)
func TestLargeContentInParts(t *testing.T) {
	queue := new(approval.Queue)
	h, log := newHub(t, Config{Queue: queue, Limits: Limits{Frame: 256 << 10, Rate: -1, Whole: inOnePiece}})
	url := serveHub(t, h)
	b := newBench(t, Relay{}, policy.Policy{})
	stagingHost(t, url, b)
	agent := dialAgent(t, url, "w")
	text := strings.Repeat(strings.Repeat("größe \"日本\" 🌱 ", 20)+"\n", 3000)
	if len(text) < inOnePiece {
		t.Fatal(len(text))
	}
	asked := 0
	approve(t, queue, func(q approval.Question) approval.Answer {
		asked++
		if q.Size != int64(len(text)) || q.Path != "large" {
			t.Errorf("asked about %d bytes of %s", q.Size, q.Path)
		}
		return approval.Answer{Verdict: approval.Approve}
	})
	if r, err := agent.Call(ctx, tool.Call{Name: "write_file", Arguments: write(t, "large", text)}); err != nil || r.Failed() {
		t.Fatalf("%.300s %v", r.Text, err)
	}
	if b.get(t, "large") != text || asked != 1 || len(b.outcomes(t)) != 1 || b.staged(t) != 0 {
		t.Errorf("asked %d times, %d outcomes, %d are staged", asked, len(b.outcomes(t)), b.staged(t))
	}
	r, err := agent.Call(ctx, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"large"}`)})
	var got struct {
		Success bool
		Content string
		Lines   int `json:"lines_read"`
	}
	if err != nil || json.Unmarshal([]byte(r.Text), &got) != nil || got.Content != text || !got.Success || got.Lines != 3000 {
		t.Errorf("%.300s %v", r.Text, err)
	}
	// A caller that accepts no parts gets an error.
	if r := mustCall(t, h.Caller("w"), "read_file", `{"path":"large"}`); r.Code != tool.FileTooLarge {
		t.Errorf("%.300s", r.Text)
	}
	if n := strings.Count(log.String(), "msg=connected"); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// The limit is checked while the parts arrive, at the hub and at the host, and no staged content remains. (FILE-9)
func TestContentTooLarge(t *testing.T) {
	h, _ := newHub(t, Config{Limits: Limits{Frame: 64 << 10, Content: 200_000, Rate: -1}})
	url := serveHub(t, h)
	b := newBench(t, nil, policy.Policy{Unattended: true})
	stagingHost(t, url, b)
	agent := dialAgent(t, url, "w")
	text := strings.Repeat("0123456789abcde\n", 20_000)
	begin(ctx, agent, tool.Call{Name: "write_file", Arguments: write(t, "a", text)}).wait(t, tool.FileTooLarge, "more than 200000 bytes. Nothing was written.")
	if b.get(t, "a") != "" || b.staged(t) != 0 {
		t.Error("something is there")
	}
	b.put(t, "a", text)
	begin(ctx, agent, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}).wait(t, tool.FileTooLarge, "more than 200000 bytes")
	small := dialAgent(t, url, "w")
	small.MaxContent = 100_000
	begin(ctx, small, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}).wait(t, tool.FileTooLarge, "more than 100000 bytes")
	begin(ctx, agent, tool.Call{Name: "write_file", Arguments: write(t, "b", text[:150_000])}).wait(t, "", `"bytes_written":150000`)
}

// If a content is given up before its end, none of it remains. (FILE-9)
func TestContentGivenUp(t *testing.T) {
	for _, end := range []string{"cancelled", "connection lost", "over time"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, _ := newHub(t, Config{Limits: Limits{Rate: -1}})
				defer h.Close()
				b := newBench(t, nil, policy.Policy{Unattended: true})
				line := board(t, h, "host-a")
				running, stop := context.WithCancel(ctx)
				ended := make(chan error, 1)
				host := &Host{Workspace: "w", Caller: b.handler, Stage: b.tools.Stage}
				go func() { ended <- host.run(running, line.dial) }()
				synctest.Wait()
				agent := join(t, h, "agent-a")
				agent.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanParts}})
				agent.send(&wire.ToolCall{CallID: "1", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a"}`), PartsFollow: true})
				agent.send(&wire.Part{CallID: "1", Data: []byte("half")})
				if taken := want[*wire.Taken](agent); *taken != (wire.Taken{CallID: "1"}) || b.staged(t) != 1 {
					t.Errorf("%+v, %d staged", taken, b.staged(t))
				}
				code := tool.Cancelled
				switch end {
				case "cancelled":
					agent.send(&wire.Cancel{CallID: "1"})
				case "connection lost":
					code = tool.HostUnavailable
					line.cut(false)
				case "over time":
					code = tool.Timeout
				}
				if r := want[*wire.ToolResult](agent); r.Error != string(code) {
					t.Errorf("%s: %+v", r.Result, r)
				}
				agent.send(&wire.Part{CallID: "1", Seq: 1, Data: []byte("late"), Last: true}) // a late part is not an error
				synctest.Wait()
				if b.get(t, "a") != "" || b.staged(t) != 0 || len(b.outcomes(t)) != 0 {
					t.Errorf("%q is written, %d staged", b.get(t, "a"), b.staged(t))
				}
				agent.send(&wire.Part{CallID: "2", Data: []byte("x")})
				if e := want[*wire.Error](agent); e.CallID != "2" || !strings.Contains(e.Message, "no such call") {
					t.Errorf("%+v", e)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Wrong parts end their call at once with the reason, and the host is told. (FILE-9)
func TestPartsThatDoNotFit(t *testing.T) {
	part := func(seq int, data string) *wire.Part { return &wire.Part{CallID: "1", Seq: seq, Data: []byte(data)} }
	last := func(seq int) *wire.Part { return &wire.Part{CallID: "1", Seq: seq, Last: true} }
	for _, c := range []struct {
		name   string
		whole  bool // the call has its content
		parts  []*wire.Part
		code   tool.Code
		reason string
	}{
		{"out of order", false, []*wire.Part{part(1, "b"), part(0, "a")}, tool.InvalidArgument, "Part 1 came, but part 0 was expected."},
		{"one is missing", false, []*wire.Part{part(0, "a"), part(2, "c")}, tool.InvalidArgument, "Part 2 came, but part 1 was expected."},
		{"one is there twice", false, []*wire.Part{part(0, "a"), part(0, "a")}, tool.InvalidArgument, "Part 0 came, but part 1 was expected."},
		{"after the last", false, []*wire.Part{part(0, "a"), last(1), part(2, "c")}, tool.InvalidArgument, "Part 2 came after the last one."},
		{"too many at once", false, []*wire.Part{part(0, "a"), part(1, "b"), part(2, "c"), part(3, "d"), part(4, "e")}, tool.InvalidArgument, "at most 4 parts may be sent"},
		{"too large", false, []*wire.Part{part(0, "0123456789"), part(1, "x")}, tool.FileTooLarge, "more than 10 bytes"},
		{"of a call without", true, []*wire.Part{last(0)}, tool.InvalidArgument, "already has all its content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Config{Limits: Limits{Content: 10}}, func(t *testing.T, h *Hub, _ *logged) {
				host := rawHost(t, h, wire.CanCancel, wire.CanParts)
				agent := join(t, h, "agent-a")
				agent.hello(wire.Hello{Role: wire.Agent})
				agent.send(&wire.ToolCall{CallID: "1", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a"}`), PartsFollow: !c.whole})
				for _, p := range c.parts {
					agent.send(p)
				}
				call := want[*wire.ToolCall](host)
				for {
					f := host.next()
					if _, ok := f.(*wire.Part); ok {
						continue
					}
					if cancel, ok := f.(*wire.Cancel); !ok || cancel.CallID != call.CallID {
						t.Errorf("%s: %+v", wire.TypeOf(f), f)
					}
					break
				}
				host.send(&wire.ToolResult{CallID: call.CallID, Error: string(tool.Cancelled)})
				r := want[*wire.ToolResult](agent)
				if r.Error != string(c.code) || !strings.Contains(string(r.Result), c.reason) || !strings.Contains(string(r.Result), "Nothing was written.") {
					t.Errorf("%s %s", r.Error, r.Result)
				}
				agent.send(&wire.ToolCall{CallID: "2", ToolName: "read_file", Arguments: json.RawMessage(`{}`)})
				if call := want[*wire.ToolCall](host); call.ToolName != "read_file" {
					t.Errorf("%+v", call)
				}
			})
		})
	}
}

// Wrong parts of a host also end the call, with an internal error. (FILE-9)
func TestHostsPartsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name   string
		takes  bool
		seqs   []int // -1 is a result without an error
		reason string
	}{
		{"out of order", true, []int{1}, "Part 1 came, but part 0 was expected."},
		{"too many at once", true, []int{0, 1, 2, 3, 4}, "at most 4 parts may be sent"},
		{"too many at once, to be put together", false, []int{0, 1, 2, 3, 4}, "at most 4 parts may be sent"},
		{"not all", true, []int{0, -1}, "did not send all of the content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
				host := rawHost(t, h, wire.CanCancel, wire.CanParts)
				agent := join(t, h, "agent-a")
				hello := wire.Hello{Role: wire.Agent}
				if c.takes {
					hello.Capabilities = []string{wire.CanParts}
				}
				agent.hello(hello)
				agent.send(&wire.ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{}`)})
				call := want[*wire.ToolCall](host)
				if !call.TakesParts { // the hub joins parts for callers that accept none
					t.Errorf("%+v", call)
				}
				other, err := limits.TryAcquire(h.config.Memory.Limit(), h.config.Memory)
				if err != nil {
					t.Fatal(err)
				}
				defer other()
				for _, seq := range c.seqs {
					if seq < 0 {
						host.result(call.CallID, `{"success":true}`)
						continue
					}
					host.send(&wire.Part{CallID: call.CallID, Seq: seq, Data: []byte("x")})
				}
				for {
					f := agent.next()
					if r, ok := f.(*wire.ToolResult); ok {
						if r.Error != string(internalError) || !strings.Contains(string(r.Result), c.reason) {
							t.Errorf("%s %s", r.Error, r.Result)
						}
						break
					}
				}
			})
		})
	}
}

// No more parts arrive than were taken. A slow receiver slows down the sender, and the hub holds no more parts. (FILE-9)
func TestPartsWaitToBeTaken(t *testing.T) {
	bubble(t, Config{Limits: Limits{Rate: -1}}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanParts)
		line := board(t, h, "agent-a")
		agent := &Agent{}
		if err := agent.connect(ctx, line.dial); err != nil {
			t.Fatal(err)
		}
		defer agent.Close()
		text := strings.Repeat("0123456789abcdef", 10*wire.PartBytes/16)
		agent.gateway.limit.Store(1 << 20)
		f := begin(ctx, agent, tool.Call{Name: "write_file", Arguments: write(t, "a", text)})
		call := want[*wire.ToolCall](host)
		if !call.PartsFollow || string(call.Arguments) != `{"path":"a"}` {
			t.Fatalf("%+v", call)
		}
		var got strings.Builder
		for seq, taken := 0, 0; ; seq++ {
			synctest.Wait()
			p, _ := h.hosts.holder("w", time.Now())
			p.queue.mu.Lock()
			waiting := p.queue.bytes
			p.queue.mu.Unlock()
			if waiting > wire.PartsAhead*2*wire.PartBytes {
				t.Fatalf("%d bytes wait for the host", waiting)
			}
			part := want[*wire.Part](host)
			if part.Seq != seq || part.Seq >= taken+wire.PartsAhead {
				t.Fatalf("part %d; %d were taken", part.Seq, taken)
			}
			got.Write(part.Data)
			if part.Last {
				break
			}
			if seq-taken == wire.PartsAhead-1 { // only at this point
				host.send(&wire.Taken{CallID: call.CallID, Seq: seq - 1})
				taken = seq
			}
		}
		if got.String() != text {
			t.Errorf("%d bytes of %d", got.Len(), len(text))
		}
		time.Sleep(29 * time.Second)
		host.result(call.CallID, `{"success":true}`)
		f.wait(t, "", `{"success":true}`)
	})
}

// Parts continue over another connection; none is lost or repeated. (FILE-9)
func TestPartsOverAnotherConnection(t *testing.T) {
	h, _ := newHub(t, Config{Limits: Limits{Frame: 64 << 10, Rate: -1}})
	defer h.Close()
	b := newBench(t, nil, policy.Policy{Unattended: true})
	host := &Host{Workspace: "w", Caller: b.handler, Stage: b.tools.Stage}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Join(running, host) }()
	line := board(t, h, "agent-a")
	agent := &Agent{}
	if err := agent.connect(ctx, line.dial); err != nil {
		t.Fatal(err)
	}
	if err := agent.AwaitHost(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		text := strings.Repeat(fmt.Sprintf("line of %d\n", i), 40_000)
		f := begin(ctx, agent, tool.Call{Name: "write_file", Arguments: write(t, "a", text)})
		for range 5 {
			line.cut(false)
		}
		f.wait(t, "", `"success":true`)
		if b.get(t, "a") != text {
			t.Fatal("it is another content")
		}
		f = begin(ctx, agent, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)})
		line.cut(false)
		f.wait(t, "", text[:9])
		if len(f.res.Text) < len(text) {
			t.Errorf("%d bytes of %d", len(f.res.Text), len(text))
		}
	}
	for _, e := range b.outcomes(t) {
		if e.Outcome != record.OK {
			t.Errorf("%+v", e)
		}
	}
	if err := agent.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Parts with their surrounding frame fit into the frame limit of the other end. (FILE-9)
func TestPartsFitIntoFrames(t *testing.T) {
	for limit, want := range map[int64]int{0: wire.PartBytes, 1 << 20: wire.PartBytes, 4 << 10: (4<<10 - aroundPart) / 4 * 3} {
		s := newSession(slog.New(slog.DiscardHandler), nil)
		s.limit.Store(limit)
		if err := s.sendParts(t.Context(), strings.Repeat("c", 128), strings.NewReader(strings.Repeat("x", want+1)), new(window), 0); err != nil {
			t.Fatalf("limit %d: %v", limit, err)
		}
		for i, size := range []int{want, 1} {
			frame, err := s.queue.take()
			if err != nil || limit > 0 && int64(frame.Size()) > limit {
				t.Fatalf("limit %d: %d bytes, %v", limit, frame.Size(), err)
			}
			f, err := wire.Decode(frame.Bytes())
			if p, ok := f.(*wire.Part); err != nil || !ok || p.Seq != i || len(p.Data) != size || p.Last != (i == 1) {
				t.Errorf("limit %d: part %d: %T, %v", limit, i, f, err)
			}
		}
	}
}

// Only parts that have arrived can be taken, and only once.
func TestTakenParts(t *testing.T) {
	s := stream{next: 3, taken: 1}
	for _, c := range []struct {
		seq int
		ok  bool
	}{{0, false}, {3, false}, {1, true}, {1, false}, {2, true}, {2, false}} {
		if ok := s.take(&wire.Taken{Seq: c.seq}); ok != c.ok {
			t.Errorf("part %d: %v", c.seq, ok)
		}
	}
}
