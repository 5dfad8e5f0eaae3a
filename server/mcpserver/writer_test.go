package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/tool"
)

var aPiece = fixed(strings.Repeat("x", pieceSize-100))

// manualClient is a client that sends and reads step by step, in a synctest bubble.
type manualClient struct {
	t      *testing.T
	s      *Server
	in     *io.PipeWriter
	out    *io.PipeReader
	lines  *bufio.Reader
	stop   context.CancelFunc // of the context of Serve
	served chan error
	slow   time.Duration // delay before each line that it reads
}

func newManualClient(t *testing.T, c tool.Caller) *manualClient {
	t.Helper()
	k := &manualClient{t: t, s: newServer(t, Config{Caller: c, Await: true}), served: make(chan error, 1)}
	in, w := io.Pipe()
	r, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	k.in, k.out, k.lines, k.stop = w, r, bufio.NewReader(r), cancel
	go func() {
		k.served <- k.s.Serve(ctx, in, out)
		out.Close()
	}()
	t.Cleanup(func() { // read what the server still writes
		cancel()
		in.Close()
		r.Close()
	})
	k.send(initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.read()
	return k
}

func (k *manualClient) send(lines ...string) {
	for _, line := range lines {
		if _, err := io.WriteString(k.in, line+"\n"); err != nil {
			k.t.Error(err)
		}
	}
}

func (k *manualClient) get(id int, pad string) {
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get","arguments":{"n":%d,"x":"%s"}}}`, id, id, pad))
}

func (k *manualClient) read() string {
	k.t.Helper()
	time.Sleep(k.slow)
	line, err := k.lines.ReadString('\n')
	if err != nil {
		k.t.Error(err)
	}
	return line
}

// answered reads n answers. It expects one for each id, beginning with first.
func (k *manualClient) answered(first, n int) {
	k.t.Helper()
	got := map[int]bool{}
	for range n {
		var id int
		if _, err := fmt.Sscanf(k.read(), `{"jsonrpc":"2.0","id":%d,"result"`, &id); err != nil || got[id] || id < first || id >= first+n {
			k.t.Fatalf("answer to %d, %v", id, err)
		}
		got[id] = true
	}
}

// waitIdle waits until the server can do nothing more without the client.
func waitIdle() {
	time.Sleep(grace / 4)
	synctest.Wait()
}

// recordingCaller records the order in which its calls began.
type recordingCaller struct {
	fixed
	mu    sync.Mutex
	begun []string
	ended int
}

func (h *recordingCaller) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	return h.Start(c)(ctx)
}

func (h *recordingCaller) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = append(h.begun, string(c.Arguments))
	return func(ctx context.Context) (tool.Result, error) { return h.do(ctx, c) }
}

func (h *recordingCaller) do(ctx context.Context, c tool.Call) (tool.Result, error) {
	if strings.Contains(string(c.Arguments), "hang") {
		<-ctx.Done()
		h.mu.Lock()
		h.ended++
		h.mu.Unlock()
		return tool.Result{}, ctx.Err()
	}
	return h.fixed.Call(ctx, c)
}

func (h *recordingCaller) calls() (begun []string, ended int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun, h.ended
}

// A client that sends everything before it reads does not block. So many calls begin, in order, before it reads; a cancelled call
// does not begin.
func TestSendBeforeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &recordingCaller{fixed: "done"}
		k := newManualClient(t, h)
		const calls = 1000
		for i := range calls {
			k.get(100+i, "")
		}
		k.get(7, "never")
		k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		waitIdle()
		if begun, _ := h.calls(); len(begun) != maxAtWork {
			t.Errorf("%d are begun", len(begun))
		}
		k.answered(100, calls)
		waitIdle()
		begun, _ := h.calls()
		for i, got := range begun {
			if want := fmt.Sprintf(`{"n":%d,"x":""}`, 100+i); got != want {
				t.Fatalf("call %d is %s", i, got)
			}
		}
		if len(begun) != calls {
			t.Errorf("%d begun", len(begun))
		}
		k.in.Close()
		if err := <-k.served; err != nil {
			t.Error(err)
		}
	})
}

// The number of running calls is limited. A cancelled call makes room for another one.
func TestCallsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &recordingCaller{fixed: "done"}
		k := newManualClient(t, h)
		for i := range maxAtWork + 5 {
			k.get(100+i, "hang")
		}
		waitIdle()
		if begun, _ := h.calls(); len(begun) != maxAtWork {
			t.Errorf("%d at work", len(begun))
		}
		for i := range maxAtWork + 5 {
			k.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 100+i))
		}
		k.get(7, "")
		k.answered(7, 1)
		k.in.Close()
		if err := <-k.served; err != nil {
			t.Error(err)
		}
	})
}

// The bytes of waiting calls are limited. When the limit is reached, the server reads nothing until the client reads.
func TestReadingStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newManualClient(t, fixed("done"))
		const calls = maxAtWork + 7
		const most = maxAtWork + maxWaiting/(1<<20) // with a megabyte each
		var sent atomic.Int64
		go func() {
			pad := ""
			for i := range calls {
				if i == maxAtWork {
					pad = strings.Repeat("y", 1<<20-requestCost)
				}
				k.get(100+i, pad)
				sent.Add(1)
			}
		}()
		waitIdle()
		if n := sent.Load(); n < most || n > most+2 {
			t.Errorf("%d are read", n)
		}
		k.answered(100, calls)
		k.in.Close()
		if err := <-k.served; err != nil {
			t.Error(err)
		}
	})
}

// stops are the ways in which the server's side ends a session.
var stops = map[string]func(*manualClient){
	"context": func(k *manualClient) { k.stop() },
	"close":   func(k *manualClient) { go k.s.Close() },
	"closed twice": func(k *manualClient) {
		go k.s.Close()
		go k.s.Close()
	},
	"both": func(k *manualClient) {
		k.in.Close()
		k.stop()
	},
}

// The end of a session does not wait for a client that does not read its answers, also if calls are waiting.
func TestEndUnread(t *testing.T) {
	ends := maps.Clone(stops)
	ends["end of input"] = func(k *manualClient) { k.in.Close() }
	for name, end := range ends {
		for _, calls := range []int{1, 5, 60} {
			t.Run(fmt.Sprintf("%s %d", name, calls), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := newManualClient(t, aPiece)
					for i := range calls {
						k.get(100+i, "")
					}
					k.send(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
					waitIdle()
					begun := time.Now()
					end(k)
					if err := <-k.served; err == nil {
						t.Error("as if it had been read")
					}
					if d := time.Since(begun); d > 2*grace {
						t.Errorf("it took %v", d)
					}
				})
			})
		}
	}
}

// newLateClient returns a client that has made calls, and has read nothing of their answers. Each has more than two pieces.
func newLateClient(t *testing.T, calls int) *manualClient {
	k := newManualClient(t, fixed(strings.Repeat("x", 3*pieceSize)))
	for i := range calls {
		k.get(100+i, "")
	}
	waitIdle()
	return k
}

// When the server ends a session, the client still gets every line that is ready, complete: the one that it is reading, those that
// wait for their turn, and a refusal.
func TestEndWritesLines(t *testing.T) {
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const calls = 5
				k := newLateClient(t, calls)
				k.send("nonsense")
				if _, err := k.lines.Peek(1); err != nil {
					t.Fatal(err)
				}
				waitIdle()
				stop(k)
				synctest.Wait()
				k.answered(100, calls)
				if line := k.read(); !strings.Contains(line, `"error"`) {
					t.Error(line)
				}
				if err := <-k.served; !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		})
	}
}

// A client that reads slowly gets all answers after the end of its input.
func TestEndReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newManualClient(t, aPiece)
		for i := range 20 {
			k.get(100+i, "")
		}
		k.slow = grace / 2
		k.in.Close()
		k.answered(100, 20)
		if err := <-k.served; err != nil {
			t.Error(err)
		}
	})
}

// The client sends without end and reads nothing. After some time the server ends the session.
func TestClientNeverReads(t *testing.T) {
	for _, more := range []string{"", "nonsense\n"} {
		synctest.Test(t, func(t *testing.T) {
			k := newManualClient(t, aPiece)
			go func() {
				for i := 0; ; i++ { // until the server reads nothing more
					if _, err := fmt.Fprintf(k.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get"}}`+"\n%s", i+2, more); err != nil {
						return
					}
				}
			}()
			begun := time.Now()
			if err := <-k.served; !errors.Is(err, errUnread) {
				t.Error(err)
			}
			if d := time.Since(begun); d != stuckTime+grace {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// A client that stops for a long time in the middle of a line keeps its session, while the server can still read what it sends.
// If the server cannot, the client keeps the session if it reads again when the time has just run out.
func TestClientIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		more    []string
		stopped time.Duration
	}{
		"an answer":         {nil, 100 * stuckTime},
		"an unread refusal": {[]string{"nonsense"}, stuckTime + grace/2},
		"two refusals":      {[]string{"nonsense", "nonsense"}, stuckTime + grace/2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const calls = 5
				k := newLateClient(t, calls)
				go k.send(c.more...)
				if _, err := k.lines.Peek(1); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.stopped)
				k.answered(100, calls)
				for range c.more {
					k.read()
				}
				k.in.Close()
				if err := <-k.served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A call whose progress waits for its turn ends when the client cancels it, although the client reads nothing. A cancelled
// request whose answer is being written is written to its end.
func TestCancelUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &recordingCaller{fixed: aPiece}
		k := newManualClient(t, h)
		k.get(2, "")
		waitIdle()
		k.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get","arguments":{"x":"hang"},"_meta":{"progressToken":"t"}}}`)
		time.Sleep(2 * firstProgress)
		for _, id := range []int{2, 3} {
			k.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		}
		synctest.Wait()
		if _, ended := h.calls(); ended != 1 {
			t.Error("the call is still running")
		}
		k.answered(2, 1)
		k.get(4, "")
		k.answered(4, 1)
		k.in.Close()
		if err := <-k.served; err != nil {
			t.Error(err)
		}
	})
}

// If the client is lost in the middle of an answer, Serve returns an error at once, also while other answers wait, and after the end
// of input.
func TestWriterFails(t *testing.T) {
	for _, ended := range []bool{false, true} {
		for _, calls := range []int{1, 5} {
			synctest.Test(t, func(t *testing.T) {
				k := newManualClient(t, fixed(strings.Repeat("x", 3*pieceSize)))
				for i := range calls {
					k.get(100+i, "")
				}
				waitIdle()
				if ended {
					k.in.Close()
				}
				if _, err := k.lines.Peek(1); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begun := time.Now()
				k.out.Close()
				if err := <-k.served; !errors.Is(err, io.ErrClosedPipe) {
					t.Error(err)
				}
				if d := time.Since(begun); d >= grace {
					t.Errorf("it took %v", d)
				}
			})
		}
	}
}
