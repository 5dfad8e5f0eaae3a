package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// longestFault is the longest time of a disturbance.
const longestFault = 6 * time.Second

// loadTime is the time of a run in which disturbances begin.
const loadTime = 6 * time.Second

// kind is a kind of disturbance.
type kind string

// The kinds of disturbances.
const (
	kill         kind = "kill a server, and start it again"
	pause        kind = "pause a server"
	cutPeers     kind = "cut a server from the others"
	cutStore     kind = "cut a server, or the host, from the database"
	cutHost      kind = "cut the host from the servers"
	killDatabase kind = "kill the database, and start it again"
	resetFront   kind = "end the connections of the host"
	slow         kind = "delay what a server and the others say"
)

// kinds has each kind as often as it is to be chosen.
var kinds = []kind{kill, kill, kill, pause, pause, cutPeers, cutPeers, cutPeers, cutStore, cutStore, cutHost, killDatabase, killDatabase, resetFront, slow}

// fault is one disturbance.
type fault struct {
	kind  kind
	node  int           // the number of the server; nodes means the host
	way   way           // how connections are cut
	delay time.Duration // of each byte, if kind is slow
	after time.Duration // since the start of the run
	lasts time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("after %v, for %v: %s (%d, %s, %v)", f.after, f.lasts, f.kind, f.node, f.way, f.delay)
}

// way says how connections are cut.
type way string

// The ways: bytes are held back, or connections end.
const (
	silent  way = "in silence"
	refused way = "with an error"
	there   way = "in silence one way"
	back    way = "in silence the other way"
)

var ways = []way{silent, refused, there, back}

// randomPlan returns the faults of a run.
func randomPlan(random *rand.Rand) []fault {
	var all []fault
	for at := time.Duration(0); at < loadTime; {
		f := fault{
			kind: kinds[random.IntN(len(kinds))], node: random.IntN(nodes), way: ways[random.IntN(len(ways))], after: at,
			delay: time.Duration(5+random.IntN(100)) * time.Millisecond, lasts: time.Duration(200+random.IntN(2500)) * time.Millisecond,
		}
		if random.IntN(5) == 0 {
			f.lasts = longestFault * time.Duration(60+random.IntN(40)) / 100 // longer than a lease
		}
		switch {
		case f.kind == cutStore && random.IntN(nodes+1) == nodes:
			f.node = nodes
		case f.kind == killDatabase:
			f.lasts = min(f.lasts, 3*time.Second)
		}
		all = append(all, f)
		at += time.Duration(300+random.IntN(900)) * time.Millisecond
		if random.IntN(3) > 0 { // otherwise the next fault begins while this one lasts
			at += f.lasts
		}
	}
	return all
}

// of returns the relays that a fault disturbs.
func (c *cluster) of(f fault) []*relay {
	switch f.kind {
	case cutPeers:
		return c.around(f.node)
	case cutStore:
		return []*relay{c.store[f.node]}
	case cutHost:
		return []*relay{c.door}
	case slow:
		return append(c.around(f.node), c.store[f.node])
	}
	return nil
}

// around returns the relays between a server and the other servers.
func (c *cluster) around(n int) []*relay {
	var all []*relay
	for i := range nodes {
		if i != n {
			all = append(all, c.links[n][i], c.links[i][n])
		}
	}
	return all
}

func (c *cluster) begin(f fault) {
	switch f.kind {
	case kill:
		c.node[f.node].kill()
	case pause:
		c.node[f.node].signal(syscall.SIGSTOP)
	case killDatabase:
		database.Kill(c.t)
	case resetFront:
		c.front.reset()
	}
	for i, r := range c.of(f) {
		away := i%2 == 0 // this relay passes bytes from the server to another one, or to the database
		switch {
		case f.kind == slow:
			r.slow(f.delay)
		case f.way == silent:
			r.hold(true, true)
		case f.way == refused:
			r.refuse()
		default:
			r.hold(away == (f.way == there), away != (f.way == there))
		}
	}
}

func (c *cluster) end(f fault) {
	switch f.kind {
	case kill:
		c.node[f.node].start(c.t)
	case pause:
		c.node[f.node].signal(syscall.SIGCONT)
	case killDatabase:
		database.Start(c.t)
	}
	for _, r := range c.of(f) {
		r.heal()
	}
}

// disturb makes the faults of a run, and returns after the last one has ended.
func (c *cluster) disturb(plan []fault) {
	begin := time.Now()
	type what struct {
		kind kind
		node int
	}
	busy := map[what]*sync.Mutex{} // a process is not killed a second time before it was started again
	var all sync.WaitGroup
	for _, f := range plan {
		of := what{f.kind, f.node}
		if f.kind == killDatabase {
			of.node = 0
		}
		if busy[of] == nil {
			busy[of] = new(sync.Mutex)
		}
		time.Sleep(time.Until(begin.Add(f.after)))
		one := busy[of]
		all.Go(func() {
			one.Lock()
			defer one.Unlock()
			c.t.Logf("%s %v", time.Now().Format("05.000"), f)
			c.begin(f)
			time.Sleep(f.lasts)
			c.end(f)
		})
	}
	all.Wait()
}

// figures are the measurements of all runs.
type figures struct {
	runs, faults, writes, acknowledged, attempts, operations int
	stall, attempt, operation, recovery                      time.Duration
}

// found has fault plans under which a run has failed once.
var found = map[string][]fault{
	// A host connected while the servers had no majority. It was refused for ever, and ended.
	"HostRefused": {
		{kind: kill, node: 2, lasts: 769 * time.Millisecond},
		{kind: kill, node: 0, after: 1249 * time.Millisecond, lasts: 2347 * time.Millisecond},
		{kind: pause, node: 0, after: 2032 * time.Millisecond, lasts: 1578 * time.Millisecond},
		{kind: cutPeers, node: 2, way: silent, after: 2862 * time.Millisecond, lasts: 584 * time.Millisecond},
		{kind: kill, node: 0, after: 4010 * time.Millisecond, lasts: 1836 * time.Millisecond},
		{kind: killDatabase, after: 4811 * time.Millisecond, lasts: 2241 * time.Millisecond},
	},
	// A server that was cut off did not get its own address back, and received no results.
	"ServerDeaf": {
		{kind: cutPeers, node: 2, way: silent, lasts: 5580 * time.Millisecond},
		{kind: cutPeers, node: 1, way: silent, after: 7 * time.Second, lasts: 5580 * time.Millisecond},
	},
	// The connection of a host broke twice. The host was refused for ever, because it counted as connected.
	"HostTwice": {
		{kind: kill, node: 1, lasts: 1446 * time.Millisecond},
		{kind: resetFront, after: 801 * time.Millisecond},
		{kind: resetFront, after: 2945 * time.Millisecond},
	},
}

// Under load and random faults, everything holds that the package comment names. FILE-4
func TestFaults(t *testing.T) {
	runs := 3
	if soak() {
		runs = 100
	}
	runs = number(t, "STET_FAULTS_RUNS", runs)
	first := number(t, "STET_FAULTS_SEED", 0)
	var f figures
	for n := range runs {
		seed := uint64(first)
		if first == 0 {
			seed = rand.Uint64N(1 << 40)
		} else {
			seed += uint64(n)
		}
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { run(t, seed, randomPlan(rand.New(rand.NewPCG(seed, 0))), &f) })
	}
	t.Logf("%d runs, %d faults, %d writes (%d acknowledged), in %d attempts, %d operations on sessions; "+
		"longest time without a write %v, longest attempt %v, longest operation on a session %v, longest time until all was ready again %v",
		f.runs, f.faults, f.writes, f.acknowledged, f.attempts, f.operations, f.stall, f.attempt, f.operation, f.recovery)
}

// These plans have made a run fail once. "make test" skips them, because they take as much time as random ones.
func TestFound(t *testing.T) {
	if !soak() {
		t.Skip("set STET_SOAK=1")
	}
	for name, plan := range found {
		t.Run(name, func(t *testing.T) { run(t, 1, plan, new(figures)) })
	}
}

func soak() bool { return os.Getenv("STET_SOAK") == "1" }

func number(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// longStall is the longest time without a write that is not logged.
const longStall = 10 * time.Second

// run makes one run.
func run(t *testing.T, seed uint64, plan []fault, f *figures) {
	random := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	c := startCluster(t)
	agents, people, writers := newAgents(c, 2), newPeople(c), newWriters(c, 2)
	c.within(30*time.Second, "a file is read at each server", func() error { return agents.reached() })

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load, deciding sync.WaitGroup
	for i := range nodes {
		deciding.Go(func() { people.approveAll(ctx, i) })
	}
	working, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range agentCount {
		load.Go(func() { agents.run(working, i, random(uint64(10+i))) })
	}
	for i := range writerCount {
		s := writers.open(i % nodes)
		defer s.Close()
		load.Go(func() { writers.run(working, i, s, people, random(uint64(20+i))) })
	}
	begin := time.Now()
	c.disturb(plan)
	f.recovery = max(f.recovery, c.healed(time.Minute))
	f.recovery = max(f.recovery, c.within(time.Minute, "a file is read at each server again", agents.reached))
	stop()
	load.Wait()
	stall := agents.stall(begin, time.Now())
	f.stall = max(f.stall, stall)
	people.rightPages(t, agents, cancel, &deciding)
	agents.check(t)
	if t.Failed() || stall > longStall {
		agents.tell(t)
	}
	writers.check(t)

	f.runs++
	f.faults += len(plan)
	f.writes += len(agents.writes)
	for _, w := range agents.writes {
		if w.acknowledged {
			f.acknowledged++
		}
	}
	f.attempts += agents.attempts
	f.operations += len(writers.history)
	f.attempt, f.operation = max(f.attempt, agents.longest), max(f.operation, writers.longest)
	t.Logf("%d writes, %d operations on sessions, longest time without a write %v", len(agents.writes), len(writers.history), stall)
}

// reached returns an error if a call at one of the servers does not reach the host.
func (a *agents) reached() error {
	for i := range nodes {
		r, text := a.call(i, "check", "read_file", fmt.Sprintf("r%d", time.Now().UnixNano()), map[string]any{"path": a.files[0]}, approvalTime)
		if r == nil || r.Error != "" {
			return fmt.Errorf("at server %d: %s", i, text)
		}
	}
	return nil
}

// rightPages checks that each page is empty after all calls have ended, and that each page shows the questions of all servers.
// Then each question is answered at another server.
func (p *people) rightPages(t *testing.T, a *agents, leave func(), deciding *sync.WaitGroup) {
	const longest = 2 * time.Minute // no promise: only a question that never comes may end a run
	for i := range nodes {
		p.c.within(longest, fmt.Sprintf("the page of server %d is empty", i), func() error { return p.shows(i) })
	}
	leave()
	deciding.Wait()
	answering, cancel := context.WithTimeout(t.Context(), 2*longest)
	defer cancel()
	var calls sync.WaitGroup
	var sessions []string
	var writes []*write
	for i := range nodes {
		w := a.begin(a.files[0], agentCount+i, 0)
		w.session = fmt.Sprintf("check%d", i)
		sessions, writes = append(sessions, w.session), append(writes, w)
		calls.Go(func() {
			// A server that was cut off a moment ago may refuse a call.
			for !a.try(w, agentCount+i, i, longest) && answering.Err() == nil {
				sleep(answering, 200*time.Millisecond)
			}
			a.finish(w)
		})
	}
	for i := range nodes {
		p.c.within(longest, fmt.Sprintf("the page of server %d has the three questions", i), func() error { return p.shows(i, sessions...) })
	}
	var answers sync.WaitGroup
	for i := range nodes {
		answers.Go(func() { p.approveAll(answering, i) }) // if a file has changed, its question is asked again
	}
	calls.Wait()
	cancel()
	answers.Wait()
	for _, w := range writes {
		if !w.acknowledged {
			t.Errorf("a write at the end was not done: %s", strings.Join(w.said, "\n"))
		}
	}
	for i := range nodes {
		p.c.within(longest, fmt.Sprintf("the page of server %d is empty in the end", i), func() error { return p.shows(i) })
	}
}
