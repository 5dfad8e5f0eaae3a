package proxy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

// fork is one of the conversations of a random session.
type fork struct {
	said         []llm.Message
	model, tools string
	system       []string
}

// randomSession is a trial that does random things.
type randomSession struct {
	*trial
	*rand.Rand
	config func(*Config)
	store  *recordtest.Memory
	forks  []fork
	other  *Proxy // with the same store
	did    []string
}

func newRandomSession(t *testing.T, seed uint64) *randomSession {
	a := &randomSession{Rand: rand.New(rand.NewPCG(seed, 7)), store: new(recordtest.Memory)}
	a.config = func(c *Config) { c.History.Policy = trim.Adaptive; c.Store = a.store }
	a.trial = newTrial(t, 5*time.Minute, a.config)
	a.proxy = newProxy(t, a.config)
	a.marked, a.trial.forks, a.said = true, true, []llm.Message{words(llm.User, "go")}
	return a
}

// some returns a random number of messages from the beginning, up to a result.
func (a *randomSession) some() int { return min(len(a.said), 1+2*a.IntN(len(a.said)/2+1)) }

func (a *randomSession) now() fork { return fork{a.said, a.model, a.tools, a.system} }

func (a *randomSession) leave() { a.forks = append(a.forks, a.now()) }

func (a *randomSession) begin(f fork) {
	a.said, a.model, a.tools, a.system = f.said, f.model, f.tools, f.system
}

func (a *randomSession) fork() {
	a.leave()
	a.back(a.some())
	a.said = append(a.said, words(llm.Assistant, fmt.Sprint("So I do it in way ", a.Int())), words(llm.User, "Yes."))
}

func (a *randomSession) turnTo() {
	if len(a.forks) > 0 {
		i, f := a.IntN(len(a.forks)), a.now()
		a.begin(a.forks[i])
		a.forks[i] = f
	}
}

func (a *randomSession) pause() {
	minutes := 1 + a.IntN(12)
	switch a.IntN(6) {
	case 0:
		minutes = 20 + a.IntN(40)
	case 1:
		minutes = 60 + a.IntN(60)
	}
	a.at = a.at.Add(time.Duration(minutes) * time.Minute)
}

func (a *randomSession) restart() {
	if err := a.proxy.Close(a.Context()); err != nil {
		a.Fatal(err)
	}
	a.proxy = newProxy(a.T, a.config)
}

// through goes on through the other proxy with the same store.
func (a *randomSession) through() {
	if a.other == nil {
		a.other = newProxy(a.T, a.config)
	}
	a.proxy.writer.write()
	a.proxy, a.other = a.other, a.proxy
}

func (a *randomSession) changeModel() {
	a.model = []string{"claude-sonnet-4-5", "claude-opus-4-5"}[a.IntN(2)]
}

func (a *randomSession) changeTools() { a.tools = []string{"", "more", "plan"}[a.IntN(3)] }

// delegate begins a sub-agent that shares its first messages with the agent.
func (a *randomSession) delegate() {
	a.leave()
	n := []int{1, a.some()}[a.IntN(2)]
	a.said = append(a.said[:n:n], words(llm.User, fmt.Sprint("Do part ", a.Int())))
	if a.IntN(2) == 0 {
		a.system = []string{a.system[0], fmt.Sprint("You are part ", a.IntN(2))}
	}
}

func (a *randomSession) edit() {
	a.said = slices.Clone(a.said)
	for range 1 + a.IntN(3) {
		if i := a.some() + 1; i < len(a.said) && a.said[i].Role == llm.Tool {
			a.clear(i)
		}
	}
}

func (a *randomSession) compact() {
	n := max(1, len(a.said)-4) | 1
	if n < len(a.said) {
		a.said = append([]llm.Message{words(llm.User, fmt.Sprint("So far: ", a.Int()))}, a.said[n:]...)
	}
}

// both sends two requests at once: one of the conversation, and an aside or a fork.
func (a *randomSession) both() {
	n := []int{len(a.said), a.some()}[a.IntN(2)]
	bodies := [][]byte{a.body()}
	f := a.now()
	a.said = append(a.said[:n:n], words(llm.User, fmt.Sprint("And ", a.Int())))
	bodies = append(bodies, a.body())
	if a.IntN(2) == 0 {
		a.leave()
	}
	a.begin(f)
	var sent []*exchange
	for _, body := range bodies {
		sent = append(sent, prepareAt(a, a.proxy, a.to(), body, a.at))
	}
	for i, x := range sent {
		a.direct.ask(a.decode(bodies[i]), a.at)
		x.row.Usage = a.with.ask(a.decode(x.body.text()), a.at)
	}
	for _, x := range sent {
		row, _ := settleAt(a.proxy, x, a.at)
		a.rows = append(a.rows, row)
	}
	a.dearest = max(a.dearest, a.with.cost/a.direct.cost-1)
}

// again repeats an earlier read or command.
func (a *randomSession) again() {
	i := a.some()
	if i+1 >= len(a.said) || a.said[i].Role != llm.Assistant || a.said[i+1].Role != llm.Tool {
		return
	}
	call, result := a.said[i].Parts[0], a.said[i+1].Parts[0]
	call.CallID = fmt.Sprint("again_", a.Int())
	result.CallID = call.CallID
	a.ask()
	a.said = append(a.said[:len(a.said):len(a.said)],
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{call}}, llm.Message{Role: llm.Tool, Parts: []llm.Part{result}})
	a.at = a.at.Add(20 * time.Second)
}

func (a *randomSession) work() {
	a.steps(a.IntN(4), 5+a.IntN(50))
	a.ask()
	a.trial.reads(20 + a.IntN(100))
}

// does plays n random actions of the named kinds.
func (a *randomSession) does(n int, kinds string) {
	all := []struct {
		name string
		does func()
	}{
		{"fork", a.fork}, {"turn", a.turnTo}, {"pause", a.pause}, {"restart", a.restart}, {"model", a.changeModel}, {"tools", a.changeTools},
		{"delegate", a.delegate}, {"edit", a.edit}, {"both", a.both}, {"through", a.through}, {"compact", a.compact}, {"again", a.again},
		{"work", a.work}, {"work", a.work}, {"work", a.work},
	}
	for range n {
		op := all[a.IntN(len(all))]
		if op.name != "work" && !strings.Contains(kinds, op.name) {
			op = all[len(all)-1]
		}
		op.does()
		a.did = append(a.did, fmt.Sprintf("%s (%d: %.0f)", op.name, len(a.rows), a.with.cost-a.direct.cost))
	}
}

// soaks reports whether long tests run, and with which seed they begin: the value of STET_SOAK, or any if that is 1.
func soaks() (first uint64, long bool) {
	first, err := strconv.ParseUint(os.Getenv("STET_SOAK"), 10, 64)
	if first == 1 {
		first = rand.Uint64N(1 << 32)
	}
	return first, err == nil
}

// Random sessions are never dearer than without stet.
func TestRandomSessions(t *testing.T) {
	from, seeds := uint64(1), uint64(2)
	if first, long := soaks(); long {
		from, seeds = first, 200
	}
	for _, kinds := range []string{
		"fork turn pause restart", "fork turn pause both delegate restart", "fork turn model tools pause restart", "edit pause fork turn both restart",
		"pause through", "pause fork turn through restart edit", "again pause fork turn restart edit", "compact pause edit",
		"fork turn pause restart model tools delegate edit both through compact again",
	} {
		t.Run(kinds, func(t *testing.T) {
			worst, end, saved := 0.0, -1.0, 0.0
			for seed := from; seed < from+seeds; seed++ {
				a := newRandomSession(t, seed)
				a.does(30, kinds)
				total := a.with.cost/a.direct.cost - 1
				worst, end, saved = max(worst, a.dearest), max(end, total), saved-total/float64(seeds)
				if a.dearest > 0 {
					t.Errorf("seed %d: %+.2f %% at worst, %+.2f %% at the end: %s", seed, 100*a.dearest, 100*total, strings.Join(a.did, ", "))
				}
				_ = a.proxy.Close(t.Context())
			}
			t.Logf("%+.2f %% at worst, %+.2f %% at most at the end, %.2f %% saved", 100*worst, 100*end, 100*saved)
		})
	}
}

// Random sessions that were dearer: another process sent a conversation on and the store was asked too early or too late, or a process
// read the newest turns of the store and not those of the conversation.
func TestRandomSessionsThrough(t *testing.T) {
	const through, both, all = "pause fork turn through restart edit", "fork turn pause both delegate restart",
		"fork turn pause restart model tools delegate edit both through compact again"
	for _, test := range []struct {
		seed  uint64
		kinds string
	}{{56486654, through}, {2941441162, through}, {2941441333, through}, {98, both}, {98, both}, {28, all}, {28, all}} {
		a := newRandomSession(t, test.seed)
		a.does(30, test.kinds)
		if a.dearest > 0 {
			t.Errorf("seed %d: %+.2f %% at worst: %s", test.seed, 100*a.dearest, strings.Join(a.did, ", "))
		}
		_ = a.proxy.Close(t.Context())
	}
}
