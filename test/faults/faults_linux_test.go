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

// longestFault is how long a disturbance lasts at most.
const longestFault = 6 * time.Second

// loadTime is how long the disturbances of a run go on.
const loadTime = 6 * time.Second

// fault is one disturbance: what it is in words, how long it lasts, and what comes then.
type fault struct {
	words string
	after time.Duration // since the run's begin
	lasts time.Duration
	begin func()
	end   func()
}

// plan are the faults of a run.
func (c *cluster) plan(random *rand.Rand) []fault {
	var all []fault
	for at := time.Duration(0); at < loadTime; {
		f := c.choose(random)
		f.after = at
		all = append(all, f)
		at += time.Duration(300+random.IntN(900)) * time.Millisecond
		if random.IntN(3) > 0 { // else the next one comes while this one lasts
			at += f.lasts
		}
	}
	return all
}

// choose chooses a fault.
func (c *cluster) choose(random *rand.Rand) fault {
	n := random.IntN(nodes)
	lasts := time.Duration(200+random.IntN(2500)) * time.Millisecond
	if random.IntN(5) == 0 {
		lasts = longestFault * time.Duration(60+random.IntN(40)) / 100 // longer than a lease
	}
	way := random.IntN(4)
	f := fault{lasts: lasts, begin: func() {}, end: func() {}}
	switch kind := random.IntN(8); kind {
	case 0, 1:
		f.words = fmt.Sprintf("kill server %d, and start it after %v", n, lasts)
		f.begin, f.end = c.node[n].kill, func() { c.node[n].start(c.t) }
	case 2:
		f.words = fmt.Sprintf("pause server %d for %v", n, lasts)
		f.begin, f.end = func() { c.node[n].signal(syscall.SIGSTOP) }, func() { c.node[n].signal(syscall.SIGCONT) }
	case 3, 4:
		f.words = fmt.Sprintf("cut server %d from the others, %s, for %v", n, wayWords[way], lasts)
		f.begin, f.end = func() { cut(way, c.around(n)...) }, func() { healAll(c.around(n)...) }
	case 5:
		n = random.IntN(nodes + 1)
		f.words = fmt.Sprintf("cut %s from the database, %s, for %v", c.nameOf(n), wayWords[way], lasts)
		f.begin, f.end = func() { cut(way, c.store[n]) }, func() { healAll(c.store[n]) }
	case 6:
		lasts = min(lasts, 3*time.Second)
		f.words = fmt.Sprintf("kill the database, and start it after %v", lasts)
		f.begin, f.end = func() { database.Kill(c.t) }, func() { database.Start(c.t) }
	case 7:
		if random.IntN(2) == 0 {
			f.words, f.begin = "end the connections before the servers", c.front.reset
			break
		}
		delay := time.Duration(5+random.IntN(100)) * time.Millisecond
		f.words = fmt.Sprintf("delay what server %d and the others say by %v, for %v", n, delay, lasts)
		f.begin = func() {
			for _, r := range append(c.around(n), c.store[n]) {
				r.slow(delay)
			}
		}
		f.end = func() { healAll(append(c.around(n), c.store[n])...) }
	}
	return f
}

func (c *cluster) nameOf(n int) string {
	if n == nodes {
		return "the host"
	}
	return fmt.Sprintf("server %d", n)
}

// around are the relays between a server and the others.
func (c *cluster) around(n int) []*relay {
	var all []*relay
	for i := range nodes {
		if i != n {
			all = append(all, c.links[n][i], c.links[i][n])
		}
	}
	return all
}

// Ways of cutting.
var wayWords = []string{"in silence", "with an error", "in silence one way", "in silence the other way"}

func cut(way int, relays ...*relay) {
	for i, r := range relays {
		there := i%2 == 0
		switch way {
		case 0:
			r.hold(true, true)
		case 1:
			r.refuse()
		case 2:
			r.hold(there, !there)
		case 3:
			r.hold(!there, there)
		}
	}
}

func healAll(relays ...*relay) {
	for _, r := range relays {
		r.heal()
	}
}

// disturb makes the faults of a run, and returns when the last one has ended.
func (c *cluster) disturb(plan []fault) {
	begin := time.Now()
	busy := map[string]*sync.Mutex{} // a process is not killed twice at once
	for _, f := range plan {
		key := strings.SplitN(f.words, ",", 2)[0]
		if busy[key] == nil {
			busy[key] = new(sync.Mutex)
		}
	}
	var all sync.WaitGroup
	for _, f := range plan {
		time.Sleep(time.Until(begin.Add(f.after)))
		all.Go(func() {
			one := busy[strings.SplitN(f.words, ",", 2)[0]]
			one.Lock()
			defer one.Unlock()
			c.t.Logf("%s %s", time.Now().Format("05.000"), f.words)
			f.begin()
			time.Sleep(f.lasts)
			f.end()
		})
	}
	all.Wait()
}

// figures are what was measured in runs.
type figures struct {
	runs, faults, writes, acknowledged, attempts, operations int
	stall, attempt, operation, recovery                      time.Duration
}

// Random faults under load: what was promised holds. FILE-4
func TestFaults(t *testing.T) {
	runs := 3
	if os.Getenv("STET_SOAK") == "1" {
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
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { run(t, seed, &f) })
	}
	t.Logf("%d runs, %d faults, %d writes of which %d were acknowledged, in %d attempts, %d operations on sessions; "+
		"longest time without a write %v, longest attempt %v, longest operation on a session %v, longest time until all was ready again %v",
		f.runs, f.faults, f.writes, f.acknowledged, f.attempts, f.operations, f.stall, f.attempt, f.operation, f.recovery)
}

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

// run is one run.
func run(t *testing.T, seed uint64, f *figures) {
	random := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	c := startCluster(t)
	plan := c.plan(random(0))
	for _, f := range plan {
		t.Logf("after %v: %s", f.after, f.words)
	}
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
	f.stall = max(f.stall, agents.stall(begin, time.Now()))
	people.rightPages(t, agents, cancel, &deciding)
	agents.check(t)
	if os.Getenv("STET_FAULTS_TRACE") != "" {
		for _, w := range agents.writes {
			t.Logf("%s %s %v %s", w.begin.Format("05.000"), w.line, w.end.Sub(w.begin), strings.Join(w.said, "\n   "))
		}
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
	t.Logf("%d writes, %d operations on sessions, longest time without a write %v", len(agents.writes), len(writers.history), agents.stall(begin, time.Now()))
}

// reached says why a call at one of the servers does not reach the host.
func (a *agents) reached() error {
	for i := range nodes {
		r, text := a.call(i, "check", "read_file", fmt.Sprintf("r%d", time.Now().UnixNano()), map[string]any{"path": a.files[0]}, approvalTime)
		if r == nil || r.Error != "" {
			return fmt.Errorf("at server %d: %s", i, text)
		}
	}
	return nil
}

// rightPages checks that each page is empty when all calls have ended, and that each shows
// the questions of all servers; then they are answered, each at another server.
func (p *people) rightPages(t *testing.T, a *agents, leave func(), deciding *sync.WaitGroup) {
	const longest = 15 * time.Second
	for i := range nodes {
		p.c.within(longest, fmt.Sprintf("the page of server %d is empty", i), func() error { return p.shows(i) })
	}
	leave()
	deciding.Wait()
	var calls sync.WaitGroup
	var sessions []string
	var writes []*write
	for i := range nodes {
		w := a.begin(a.files[0], agentCount+i, 0)
		w.session = fmt.Sprintf("check%d", i)
		sessions, writes = append(sessions, w.session), append(writes, w)
		calls.Go(func() {
			a.try(w, agentCount+i, i, time.Minute)
			a.finish(w)
		})
	}
	for i := range nodes {
		p.c.within(longest, fmt.Sprintf("the page of server %d has the three questions", i), func() error { return p.shows(i, sessions...) })
	}
	answering, cancel := context.WithCancel(t.Context())
	var answers sync.WaitGroup
	for i := range nodes {
		answers.Go(func() { p.approveAll(answering, i) }) // a file that has changed is asked about again
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
