package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/tool"
)

// TestLoad has 1,000 hosts and 100 agents at one gateway for a while, all in this
// process, and prints how long calls took and what a host takes up. It runs where
// STET_SOAK is set.
func TestLoad(t *testing.T) {
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("STET_SOAK is not set")
	}
	const hosts, agents = 1000, 100
	hub, err := New(Config{Authority: &testAuthority{}, Limits: Limits{Rate: -1}})
	if err != nil {
		t.Fatal(err)
	}
	url := serveHub(t, hub)
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := memory()
	for i := range hosts {
		runHost(t, url, fmt.Sprintf("w%d", i), payload(1<<10))
	}
	for len(hub.Workspaces()) < hosts {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%d hosts: %.1f KB each, both ends", hosts, float64(memory()-before)/1024/hosts)
	span := time.Minute
	if s := os.Getenv("STET_LOAD"); s != "" {
		if span, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for i := range agents {
		wg.Go(func() {
			a := &Agent{Dial: Dial{URL: url, Token: "agent-a"}, Workspace: fmt.Sprintf("w%d", i*hosts/agents)}
			if err := a.Connect(context.Background()); err != nil {
				t.Error(err)
				return
			}
			defer a.Close()
			var own []time.Duration
			for time.Now().Before(end) {
				began := time.Now()
				r, err := a.Call(context.Background(), tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)})
				if err != nil || r.Failed() {
					t.Errorf("%+v %v", r, err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
		})
	}
	wg.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		t.Fatal("no calls")
	}
	t.Logf("%d calls by %d agents in %v, %.0f a second: p50 %v, p99 %v, longest %v", len(took), agents, span,
		float64(len(took))/span.Seconds(), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}
