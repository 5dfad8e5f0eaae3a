package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

// switchboard connects to a hub in memory, and can break the connections.
type switchboard struct {
	t   testing.TB
	h   *Hub
	who Identity

	mu    sync.Mutex
	conns []*frozen
	down  bool
}

func (s *switchboard) dial(context.Context) (connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errors.New("no route")
	}
	here, there := newPipe()
	f := freezable(here)
	s.conns = append(s.conns, f)
	attach(s.t, s.h, there, s.who)
	return f, nil
}

// cut breaks the current connection. If down is set, no new connection is made.
func (s *switchboard) cut(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	if n := len(s.conns); n > 0 {
		s.conns[n-1].abort()
	}
}

func board(t testing.TB, h *Hub, token string) *switchboard {
	t.Helper()
	who, err := h.config.Authority.Identify(token)
	if err != nil {
		t.Fatal(err)
	}
	return &switchboard{t: t, h: h, who: who}
}

// host runs a host over the switchboard until the returned function is called.
func (s *switchboard) host(caller tool.Caller) (stop func()) {
	running, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	h := &Host{Workspace: "w", Caller: caller}
	go func() { done <- h.run(running, s.dial) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("host: %v", err)
		}
	}
}

func (s *switchboard) agent(log *logged) *Agent {
	s.t.Helper()
	a := &Agent{Workspace: "w"}
	if err := a.connect(context.Background(), s.dial); err != nil {
		s.t.Fatal(err)
	}
	if err := a.AwaitHost(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	return a
}

// slowly is a Caller that counts its calls; each call takes a minute.
type slowly struct {
	mu sync.Mutex
	n  int
}

func (*slowly) Specs() []tool.Spec { return echo("").Specs() }

func (s *slowly) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
	select {
	case <-time.After(20 * time.Second):
		return tool.Result{Text: `{"n":` + string(c.Arguments[5]) + `}`}, nil
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
}

// An agent whose connection is lost briefly misses no result, and no call is done twice. If it stays away, its calls are cancelled.
// (FILE-4)
func TestAgentComesBack(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, log *logged) {
		work := &slowly{}
		stop := board(t, h, "host-a").host(work)
		defer stop()
		s := board(t, h, "agent-a")
		a := s.agent(log)
		defer a.Close()
		var all []*future
		for _, n := range []string{"1", "2", "3"} {
			all = append(all, begin(ctx, a, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"n":` + n + `}`)}))
		}
		synctest.Wait()
		s.cut(true) // while the calls run
		time.Sleep(21 * time.Second)
		s.cut(false)
		for i, f := range all {
			f.wait(t, "", `{"n":`+string("123"[i])+`}`)
		}
		if work.n != 3 {
			t.Errorf("%d calls were done", work.n)
		}
		// Away for too long: neither side continues.
		f := begin(ctx, a, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"n":4}`)})
		synctest.Wait()
		s.cut(true)
		f.wait(t, tool.HostUnavailable, "connection to the gateway was lost")
		if f.took != away {
			t.Errorf("it took %v", f.took)
		}
		begin(ctx, a, tool.Call{Name: "read_file"}).wait(t, tool.HostUnavailable, "cannot be reached")
		s.cut(false)
		time.Sleep(time.Minute)
		begin(ctx, a, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"n":5}`)}).wait(t, "", "5")
		if work.n != 5 {
			t.Errorf("%d calls were done", work.n)
		}
	})
}

// Calls beyond an agent's limit wait for room, even when the connection ends. Each call is done once. (FILE-4)
func TestWaitingCallsComeBack(t *testing.T) {
	bubble(t, Config{Limits: Limits{Rate: -1}}, func(t *testing.T, h *Hub, log *logged) {
		work := &slowly{}
		stop := board(t, h, "host-a").host(work)
		defer stop()
		s := board(t, h, "agent-a")
		a := s.agent(log)
		defer a.Close()
		a.Timeout = time.Hour
		var all []*future
		for range atOnce + 20 {
			all = append(all, begin(ctx, a, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"n":1}`)}))
		}
		for range 3 {
			synctest.Wait() // one call has been read and waits for room
			s.cut(false)
			time.Sleep(10 * time.Second)
		}
		for _, f := range all {
			f.wait(t, "", `{"n":1}`)
		}
		if work.n != len(all) {
			t.Errorf("%d calls were done of %d", work.n, len(all))
		}
	})
}

// A call that was read when the connection broke is accepted if there is room. Otherwise it counts as not received.
func TestRoomAtTheEnd(t *testing.T) {
	s := newAgentPeer(nil)
	over, cancel := context.WithCancel(ctx)
	cancel()
	for i := range atOnce {
		if !s.admit(over, &wire.ToolCall{}) {
			t.Fatalf("call %d has no room", i)
		}
	}
	if s.admit(over, &wire.ToolCall{}) {
		t.Error("there was room")
	}
	if !s.admit(over, &wire.Cancel{}) {
		t.Error("a cancel needs no room")
	}
}

// A host whose connection is lost briefly continues its calls that wait for a person. The person's decision counts, and is applied
// once. (FILE-4)
func TestHostComesBack(t *testing.T) {
	queue := new(approval.Queue)
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		b := newBench(t, Relay{}, policy.Policy{})
		s := board(t, h, "host-a")
		stop := s.host(b.handler)
		defer stop()
		a := board(t, h, "agent-a").agent(nil)
		defer a.Close()
		write := func(text string) *future {
			return begin(ctx, a, tool.Call{Name: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"` + text + `"}`)})
		}
		asked := func() approval.Question {
			for len(queue.Open()) == 0 {
				time.Sleep(time.Millisecond)
			}
			return queue.Open()[0]
		}
		f := write("one")
		q := asked()
		for range 3 {
			s.cut(true)
			time.Sleep(10 * time.Second)
			s.cut(false)
			time.Sleep(20 * time.Second)
		}
		s.cut(true)
		if err := queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}); err != nil { // while the host is away
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		s.cut(false)
		f.wait(t, "", `"success":true`)
		if got := b.get(t, "a.txt"); got != "one" {
			t.Errorf("%q", got)
		}

		// Away for too long: the question is withdrawn, and a later answer is refused.
		f = write("two")
		q = asked()
		s.cut(true)
		f.wait(t, tool.HostUnavailable, "was lost")
		synctest.Wait()
		if len(queue.Open()) != 0 {
			t.Error("the question is open still")
		}
		if err := queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}); !errors.Is(err, approval.ErrAnswered) {
			t.Error(err)
		}
		s.cut(false)
		time.Sleep(time.Minute)
		if got := b.get(t, "a.txt"); got != "one" {
			t.Errorf("%q", got)
		}
		// After that, calls work again.
		f = write("three")
		q = asked()
		if err := queue.Answer(q.ID, approval.Answer{Verdict: approval.Reject, Words: "not now"}); err != nil {
			t.Fatal(err)
		}
		f.wait(t, tool.UserRejected, "not now")
		if out := b.outcomes(t); len(out) != 1 || out[0].Outcome != record.OK {
			t.Errorf("%+v", out)
		}
	})
}

// A connection that was lost without notice is detected within half a minute, at either side. (FILE-4)
func TestHalfOpen(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, log *logged) {
		here, there := newPipe()
		dead := freezable(there)
		who, _ := h.config.Authority.Identify("host-a")
		attach(t, h, dead, who)
		host := &raw{t, here}
		host.hello(wire.Hello{Role: wire.Host, Workspace: "w", Tools: rawTools})
		dead.freeze()
		caller := h.Caller("w")
		caller.Timeout = time.Hour
		f := begin(ctx, caller, tool.Call{Name: "read_file"})
		f.wait(t, tool.HostUnavailable, "was lost")
		if f.took > pingEvery+pongTime {
			t.Errorf("it took %v", f.took)
		}
		synctest.Wait()
		if !strings.Contains(log.String(), errSilent.Error()) {
			t.Error(log)
		}
	})
}

// A client that does not read is disconnected, and does not block other clients.
func TestSlowReader(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, log *logged) {
		slow := join(t, h, "agent-slow")
		host := rawHost(t, h)
		slow.hello(wire.Hello{Role: wire.Agent})
		for i := range 40 { // more frames than a pipe holds
			slow.send(&wire.ToolCall{CallID: string(rune('A' + i)), ToolName: "read_file", Arguments: json.RawMessage(`{}`)})
			host.result(want[*wire.ToolCall](host).CallID, `{}`)
		}
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"})
		host.result(want[*wire.ToolCall](host).CallID, `{}`)
		f.wait(t, "", "{}")
		if f.took != 0 {
			t.Errorf("it took %v", f.took)
		}
		time.Sleep(writeTime + time.Second)
		synctest.Wait()
		if !strings.Contains(log.String(), "msg=disconnected role=agent") {
			t.Error(log)
		}
	})
}

// After a resume, the queue sends lost frames again, and only those.
func TestQueue(t *testing.T) {
	q := newFrameQueue(1000)
	q.reset(true)
	put := func(s string) {
		t.Helper()
		if err := q.put(wire.Encoded{Head: []byte(s)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	take := func(want string) {
		t.Helper()
		if got, err := q.take(); string(got.Bytes()) != want || err != nil {
			t.Errorf("%q, want %q: %v", got.Bytes(), want, err)
		}
	}
	for _, s := range []string{"1", "2", "3", "4"} {
		put(s)
	}
	take("1")
	take("2")
	take("3")
	if err := q.acknowledged(1); err != nil {
		t.Error(err)
	}
	if q.acknowledged(0) == nil || q.acknowledged(4) == nil || q.rewind(9) == nil {
		t.Error("it has what it cannot have")
	}
	if err := q.rewind(2); err != nil {
		t.Error(err)
	}
	take("3")
	take("4")
	take("")
	if !q.empty() {
		t.Error("it is not empty")
	}
	put(strings.Repeat("x", 990))
	if err := q.put(wire.Encoded{Head: make([]byte, 100)}, nil); !errors.Is(err, errSlow) {
		t.Error(err)
	}
	if _, err := q.take(); !errors.Is(err, errSlow) {
		t.Error(err)
	}
	// The queue has dropped frames, so the session cannot be resumed, whatever the other side has received.
	for n := range uint64(8) {
		if !errors.Is(q.acknowledged(n), errSlow) || !errors.Is(q.rewind(n), errSlow) {
			t.Errorf("a queue that was too full goes on where the other side has %d frames", n)
		}
	}
	q.reset(true)
	put("another session")
	take("another session")
}

// Received frames are acknowledged after a number of frames or bytes, not before. The writing goroutine is woken for the ack.
func TestQueueAcknowledges(t *testing.T) {
	for _, c := range []struct{ frames, size int }{{ackFrames, 1}, {1, ackBytes}, {4, ackBytes / 4}} {
		q := newFrameQueue(1000)
		q.reset(true)
		for i := range 2 * c.frames {
			n := i%c.frames + 1
			if len(q.wake) > 0 { // a signal of the reset, or of the ack before
				<-q.wake
			}
			q.count(c.size)
			frame, err := q.take()
			if due := n == c.frames; err != nil || (frame.Size() > 0) != due || (len(q.wake) > 0) != due {
				t.Errorf("%+v, frame %d: %q, %v", c, i, frame.Bytes(), err)
			}
		}
	}
}

// putWhenFree adds frames only while there is room, and continues when the other side has taken some. release is called once.
func TestQueueRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFrameQueue(maxWaiting)
		q.reset(true)
		gone := 0
		put := func() {
			if err := q.put(wire.Encoded{Head: make([]byte, enough)}, func() { gone++ }); err != nil {
				t.Error(err)
			}
		}
		put()
		got := make(chan error, 1)
		wait := func(ctx context.Context) {
			go func() { got <- q.putWhenFree(ctx, wire.Encoded{Head: []byte("x")}) }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait(ctx)
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wait(t.Context())
		if len(got) != 0 {
			t.Error("it did not wait")
		}
		if _, err := q.take(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) != 0 || gone != 0 {
			t.Error("a frame that may be sent again is forgotten")
		}
		if err := q.acknowledged(1); err != nil {
			t.Error(err)
		}
		if err := <-got; err != nil || gone != 1 {
			t.Error(err, gone)
		}
		put()
		q.end(errClosed)
		q.end(errClosed)
		if gone != 2 {
			t.Error(gone, "were let go of")
		}
		wait(t.Context())
		if err := <-got; !errors.Is(err, errClosed) {
			t.Error(err)
		}
		q.reset(false)
		put()
		if _, err := q.take(); err != nil || gone != 2 {
			t.Error("it is not written yet", err)
		}
		if _, err := q.take(); err != nil || gone != 3 {
			t.Error("it is written", err)
		}
	})
}

// The gateway's trail records the decisions of its people, with their names. The host's clock does not matter. (FILE-5, FILE-6,
// FILE-11)
func TestDecisionsAreRecorded(t *testing.T) {
	queue, trail := new(approval.Queue), new(recordtest.Memory)
	bubble(t, Config{Queue: queue, Journal: &record.Journal{Trail: trail}}, func(t *testing.T, h *Hub, _ *logged) {
		defer h.config.Journal.Close()
		host := rawHost(t, h, wire.CanCancel)
		people := queue.Subscribe()
		defer people.Close()
		seen := func() approval.Event {
			e, err := people.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		ask := func(id string, clock time.Time) *approval.Question {
			begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
			call := want[*wire.ToolCall](host).CallID
			host.send(&wire.ToolResult{CallID: call, NeedsConfirmation: true})
			host.send(&wire.Approval{ID: id, CallID: call, Question: &approval.Question{
				Asked: clock, Expires: clock.Add(time.Minute), Session: "s", Client: "tester", Tool: "write_file", Path: "a.txt", Write: true, Before: "b", Seal: "seal", Why: "default",
			}})
			return seen().Opened
		}
		q := ask("1", time.Now().Add(-1000*time.Hour)) // the host's clock is wrong
		if q == nil || q.Path != "a.txt" {
			t.Fatalf("%+v", q)
		}
		time.Sleep(59 * time.Second)
		if err := queue.Answer(q.ID, approval.Answer{Verdict: "approve", Seal: "seal", By: "desk"}); err != nil {
			t.Error(err)
		}
		seen()
		a := want[*wire.Approval](host)
		if a.ID != "1" || a.Answer == nil || a.Answer.By != "desk" || a.Answer.Seal != "seal" {
			t.Errorf("%+v %+v", a, a.Answer)
		}
		ask("2", time.Now().Add(1000*time.Hour))
		time.Sleep(time.Minute)
		if a := want[*wire.Approval](host); a.ID != "2" || a.Answer != nil || a.Error == "" || a.Code != string(tool.Timeout) {
			t.Errorf("%+v", a)
		}
		if c := seen(); c.Closed == nil || c.Closed.How != "expired" {
			t.Errorf("%+v", c)
		}
		ask("3", time.Now())
		host.send(&wire.Approval{ID: "3", Withdrawn: true})
		if c := seen(); c.Closed == nil || c.Closed.How != "withdrawn" {
			t.Errorf("%+v", c)
		}
		if err := h.config.Journal.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		all, err := trail.Entries(ctx, record.TrailQuery{})
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v %v", all, err)
		}
		if e := all[0]; e.By != "person desk" || e.Decision != "answer approve" || e.Path != "a.txt" || e.Root != "gateway:w" || e.Before != "b" {
			t.Errorf("%+v", e)
		}
		if e := all[1]; e.By != "gateway" || e.Outcome != "timeout" {
			t.Errorf("%+v", e)
		}
	})
}

// A client that does not see pings receives a frame as often as pings are sent.
func TestHeartbeat(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		agent := join(t, h, "agent-a")
		hello := agent.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanResume}})
		if hello.BeatSeconds != 20 {
			t.Errorf("%+v", hello)
		}
		for range 3 {
			began := time.Now()
			b, err := agent.c.read()
			if err != nil || string(b) != `{"type":"ack","received":0}` || time.Since(began) != 20*time.Second {
				t.Errorf("%s after %v: %v", b, time.Since(began), err)
			}
		}
		other := join(t, h, "agent-b")
		if hello := other.hello(wire.Hello{Role: wire.Agent}); hello.BeatSeconds != 0 {
			t.Errorf("%+v", hello)
		}
	})
}
