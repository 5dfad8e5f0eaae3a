package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// raw is a peer of a hub that sends and receives single frames.
type raw struct {
	t testing.TB
	c connection
}

// join connects a raw peer to a hub in memory.
func join(t testing.TB, h *Hub, token string) *raw {
	t.Helper()
	here, there := newPipe()
	who, err := h.config.Authority.Identify(token)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, h, there, who)
	return &raw{t, here}
}

// attach has a hub serve a connection, and waits for its end when the test ends.
func attach(t testing.TB, h *Hub, c connection, who Identity) {
	t.Helper()
	if !h.enterConnection() {
		t.Fatal("not let in")
	}
	h.serving.Go(func() {
		defer h.leaveConnection()
		_ = h.serve(h.base, c, who)
		c.close(1000, "over")
	})
}

// dialRaw connects a raw peer over a real socket.
func dialRaw(t testing.TB, url, token string) *raw {
	t.Helper()
	c, err := Dial{URL: url, Token: token}.dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.abort)
	return &raw{t, c}
}

func (r *raw) send(f wire.Frame) {
	r.t.Helper()
	b, err := wire.Encode(f)
	if err == nil {
		err = r.c.write(b)
	}
	if err != nil {
		r.t.Error(err)
	}
}

// next returns the next frame that is not an ack or an event.
func (r *raw) next() wire.Frame {
	r.t.Helper()
	for {
		b, err := r.c.read()
		if err != nil {
			r.t.Fatal(err)
		}
		f, err := wire.Decode(b)
		if err != nil {
			r.t.Fatalf("%s: %v", b, err)
		}
		switch f.(type) {
		case *wire.Ack, *wire.Event:
		default:
			return f
		}
	}
}

// want returns the next frame, which must have the type F.
func want[F wire.Frame](r *raw) F {
	r.t.Helper()
	f := r.next()
	out, ok := f.(F)
	if !ok {
		r.t.Fatalf("%s: %+v", wire.TypeOf(f), f)
	}
	return out
}

// hello sends a hello and returns the answer.
func (r *raw) hello(h wire.Hello) *wire.Hello {
	r.t.Helper()
	h.Version = wire.Version
	r.send(&h)
	return want[*wire.Hello](r)
}

// rawTools are the tools of raw hosts.
var rawTools = []wire.Tool{
	{Name: "read_file", Schema: json.RawMessage(`{}`), ReadOnly: true},
	{Name: "write_file", Schema: json.RawMessage(`{}`), Destructive: true},
}

// rawHost connects a raw host of workspace w.
func rawHost(t testing.TB, h *Hub, capabilities ...string) *raw {
	t.Helper()
	r := join(t, h, "host-a")
	r.hello(wire.Hello{Role: wire.Host, Workspace: "w", Tools: rawTools, Capabilities: capabilities})
	return r
}

func (r *raw) result(id, text string) {
	r.send(&wire.ToolResult{CallID: id, Result: json.RawMessage(text)})
}

// future is a running call.
type future struct {
	done chan struct{}
	res  tool.Result
	err  error
	took time.Duration
}

func begin(ctx context.Context, c tool.Caller, call tool.Call) *future {
	f := &future{done: make(chan struct{})}
	if call.Arguments == nil {
		call.Arguments = json.RawMessage(`{}`)
	}
	go func() {
		began := time.Now()
		f.res, f.err = c.Call(ctx, call)
		f.took = time.Since(began)
		close(f.done)
	}()
	return f
}

func (f *future) wait(t testing.TB, code tool.Code, text string) {
	t.Helper()
	<-f.done
	if f.err != nil || f.res.Code != code || !strings.Contains(f.res.Text, text) {
		t.Errorf("%+v %v; want %q with %q", f.res, f.err, code, text)
	}
}

// frozen is a connection whose other end stops sending without closing it.
type frozen struct {
	connection
	once sync.Once
	dead chan struct{} // closed when it is frozen
	gone chan struct{} // closed when it is aborted
}

func freezable(c connection) *frozen {
	return &frozen{connection: c, dead: make(chan struct{}), gone: make(chan struct{})}
}

func (f *frozen) freeze() { close(f.dead) }

func (f *frozen) isFrozen() bool {
	select {
	case <-f.dead:
		return true
	default:
		return false
	}
}

func (f *frozen) write(b wire.Encoded) error {
	if f.isFrozen() {
		return nil // as if the bytes were in the network's buffers
	}
	return f.connection.write(b)
}

func (f *frozen) ping(ctx context.Context) error {
	if !f.isFrozen() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *frozen) abort() {
	f.once.Do(func() { close(f.gone) })
	f.connection.abort()
}
