package faults

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/postgrestest"
)

// balanced stands for the server that the balancer chooses.
const balanced = -1

// steady is one agent that uses the balancer, until ctx ends. It records the calls that failed at the first attempt, and makes
// them again.
func (a *agents) steady(ctx context.Context, agent int) {
	for n := 0; ctx.Err() == nil; n++ {
		w := a.begin(a.files[agent%len(a.files)], agent, n)
		for try := 0; try < 20; try++ {
			if a.try(w, agent, balanced, approvalTime) {
				break
			}
			if try == 0 {
				a.mu.Lock()
				a.failed = append(a.failed, w.said[0])
				a.mu.Unlock()
			}
			time.Sleep(100 * time.Millisecond)
		}
		a.finish(w)
	}
}

// steadily runs agents that use the balancer while do runs, and checks the outcome of their writes.
func steadily(t *testing.T, c *cluster, what string, do func()) {
	agents, people := newAgents(c, 2), newPeople(c)
	c.within(30*time.Second, "a file is read at each server", agents.reached)
	deciding, leave := context.WithCancel(t.Context())
	working, stop := context.WithCancel(t.Context())
	var load, decisions sync.WaitGroup
	for i := range nodes {
		decisions.Go(func() { people.approveAll(deciding, i) })
	}
	for i := range agentCount {
		load.Go(func() { agents.steady(working, i) })
	}
	begin := time.Now()
	time.Sleep(time.Second)
	do()
	time.Sleep(time.Second)
	stop()
	load.Wait()
	leave()
	decisions.Wait()
	agents.check(t)
	t.Logf("%s: %d writes in %v, %d not done at the first attempt, longest time without a write %v, longest attempt %v",
		what, len(agents.writes), time.Since(begin).Round(time.Second), len(agents.failed), agents.stall(begin, time.Now()), agents.longest)
	for _, said := range agents.failed {
		t.Errorf("not done at the first attempt: %s", said[:min(len(said), 200)])
	}
}

// Under load, each server is stopped and started again, one after another.
func TestRollingRestart(t *testing.T) {
	if !soak() {
		t.Skip("set STET_SOAK=1")
	}
	c := startCluster(t)
	steadily(t, c, "rolling restart", func() {
		for i := range nodes {
			c.node[i].signal(syscall.SIGTERM)
			c.within(40*time.Second, fmt.Sprintf("server %d ends", i), func() error {
				if !c.node[i].over() {
					return fmt.Errorf("it runs")
				}
				return nil
			})
			c.node[i].start(t)
			c.within(time.Minute, fmt.Sprintf("server %d is ready again", i), c.ready[i])
		}
	})
}

// If the connection of a host ends, calls find the host at another server within a second.
func TestHostMoves(t *testing.T) {
	if !soak() {
		t.Skip("set STET_SOAK=1")
	}
	c := startCluster(t)
	agents := newAgents(c, 1)
	c.within(30*time.Second, "a file is read at each server", agents.reached)
	longest := time.Duration(0)
	for range 10 {
		c.front.reset()
		longest = max(longest, c.within(10*time.Second, "a file is read at each server", agents.reached))
	}
	t.Logf("longest time until the host was found from every server: %v", longest)
}

// The database is killed under load, and its replica takes its place.
func TestFailover(t *testing.T) {
	if !soak() {
		t.Skip("set STET_SOAK=1")
	}
	var primary postgrestest.Server
	defer primary.Stop()
	url := primary.Database(t)
	replica := primary.Replica(t)
	defer replica.Stop()
	there := replica.On(t, url)
	c := startClusterOn(t, url, hostOf(t, there))
	steadily(t, c, "failover", func() {
		primary.Kill(t)
		replica.Promote(t)
		c.url = there
		time.Sleep(3 * time.Second)
	})
}
