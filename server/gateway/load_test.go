package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// The load: hosts with a workspace each, and agents that make one call after another.
const loadHosts, loadAgents = 1000, 100

// TestLoad runs 1,000 hosts and 100 agents at one gateway in this process, for a minute or for STET_LOAD. It prints the time of
// calls, the memory of a host, and the number of calls compared with plain round trips of the WebSocket library. It runs only if
// STET_SOAK is set.
func TestLoad(t *testing.T) {
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("STET_SOAK is not set")
	}
	span := time.Minute
	if s := os.Getenv("STET_LOAD"); s != "" {
		var err error
		if span, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	hub, err := New(Config{Authority: &testAuthority{}, Limits: Limits{Rate: -1}, Held: limits.NewHeld(64 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	url := serveHub(t, hub)
	before := memory()
	for i := range loadHosts {
		token := fmt.Sprintf("host-%d", i%10) // one token may have about 140 hosts
		run(t, &Host{Dial: Dial{URL: url, Token: token}, Workspace: fmt.Sprintf("w%d", i), Caller: payload(1 << 10)})
	}
	for len(hub.Workspaces()) < loadHosts {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%d hosts: %.1f KB each, both ends", loadHosts, float64(memory()-before)/1024/loadHosts)
	alone := inTurn(t, span/4, echoes(t))
	all := inTurn(t, span, func(i int) (do func() error, done func()) {
		a := &Agent{Dial: Dial{URL: url, Token: "agent-a"}, Workspace: fmt.Sprintf("w%d", i*loadHosts/loadAgents)}
		if err := a.Connect(ctx); err != nil {
			t.Error(err)
		}
		return func() error {
			r, err := a.Call(ctx, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)})
			if err == nil && r.Failed() {
				err = errors.New(r.Text)
			}
			return err
		}, func() { _ = a.Close() }
	})
	t.Logf("the library alone: %v", alone)
	t.Logf("the gateway:       %v", all)
	t.Logf("a call is two round trips: %.0f %% of the library's rate, %.0f %% by processor time", 100*2*all.rate()/alone.rate(), 100*2*alone.each()/all.each())
}

// memory returns the bytes in use.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// took has the durations of many operations.
type took struct {
	all  []time.Duration // sorted
	span time.Duration
	cpu  time.Duration // of this process
}

func (l took) rate() float64 { return float64(len(l.all)) / l.span.Seconds() }

// each returns the processor time of one operation, in microseconds.
func (l took) each() float64 { return float64(l.cpu.Microseconds()) / float64(len(l.all)) }

func (l took) String() string {
	n := len(l.all)
	return fmt.Sprintf("%d in %v, %.0f a second, %.0f µs of a processor each: p50 %v, p99 %v, longest %v", n, l.span, l.rate(), l.each(), l.all[n/2], l.all[n*99/100], l.all[n-1])
}

// inTurn has each agent repeat an operation for the time span.
func inTurn(t *testing.T, span time.Duration, begin func(agent int) (do func() error, done func())) took {
	var mu sync.Mutex
	l := took{span: span}
	var ready, wg sync.WaitGroup
	ready.Add(loadAgents)
	for i := range loadAgents {
		wg.Go(func() {
			do, done := begin(i)
			defer done()
			ready.Done()
			ready.Wait()
			var own []time.Duration
			for end := time.Now().Add(span); time.Now().Before(end); {
				began := time.Now()
				if err := do(); err != nil {
					t.Error(err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			l.all = append(l.all, own...)
		})
	}
	ready.Wait()
	before := cpuTime(t)
	wg.Wait()
	l.cpu = cpuTime(t) - before
	slices.Sort(l.all)
	if len(l.all) == 0 {
		t.Fatal("no operation finished")
	}
	return l
}

// echoes makes round trips with only the WebSocket library: 200 bytes there, 1 KB back.
func echoes(t *testing.T) func(int) (do func() error, done func()) {
	answer, ask := []byte(payload(1<<10)), make([]byte, 200)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for err == nil {
			if _, _, err = c.Read(ctx); err == nil {
				err = c.Write(ctx, websocket.MessageText, answer)
			}
		}
		_ = c.CloseNow()
	}))
	t.Cleanup(s.Close)
	return func(int) (do func() error, done func()) {
		c, _, err := websocket.Dial(ctx, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return func() error {
			err := c.Write(ctx, websocket.MessageText, ask)
			if err == nil {
				_, _, err = c.Read(ctx)
			}
			return err
		}, func() { _ = c.CloseNow() }
	}
}
