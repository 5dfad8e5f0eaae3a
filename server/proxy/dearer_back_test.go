package proxy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

// back goes on from an earlier message, with other words than before.
func (k *trial) back(to int) { k.said = append(k.said[:to:to], words(llm.User, "No, otherwise.")) }

// backAndForth goes back to each of these messages for some steps with results of so many lines, and returns at the end.
func backAndForth(steps, lines int, to ...int) func(k *trial) {
	return func(k *trial) {
		all := k.said
		for _, n := range to {
			k.said = all
			k.back(n)
			k.steps(steps, lines)
		}
		k.said = all
		k.steps(3, lines)
	}
}

// A conversation that goes far back, and later returns, is sent in the form in which it was sent last, as long as the cache holds
// that form.
func TestGoneBack(t *testing.T) {
	for _, test := range []struct {
		name  string
		does  func(k *trial)
		saved float64
	}{
		{"and does the same again", func(k *trial) {
			all := k.said
			k.said = all[:31:31]
			k.steps(3, 10)
			k.said = all
			k.steps(3, 10)
		}, 0.015},
		{"and returns", backAndForth(3, 10, 31), 0.015},
		{"step by step", backAndForth(2, 10, 41, 31, 25, 11), 0.012},
		{"less far each time", backAndForth(2, 10, 11, 25, 31, 41), 0.012},
		{"and pauses there", func(k *trial) {
			all := k.said
			k.back(31)
			k.steps(3, 10)
			k.at = k.at.Add(20 * time.Minute)
			k.steps(3, 10)
			k.said = all
			k.steps(3, 10)
		}, 0.01},
		{"and pauses before it returns", func(k *trial) {
			all := k.said
			k.back(31)
			k.steps(3, 10)
			k.at = k.at.Add(20 * time.Minute)
			k.said = all
			k.steps(3, 10)
			k.back(31)
			k.steps(3, 10)
		}, 0.015},
		{"forks in turn", func(k *trial) {
			forks := [2][]llm.Message{append(k.said[:31:31], words(llm.User, "No, otherwise.")), k.said}
			for i := range 12 {
				k.said = forks[i%2]
				k.steps(2, 10)
				forks[i%2] = k.said
				if i == 7 {
					k.at = k.at.Add(20 * time.Minute)
				}
			}
		}, 0.012},
		{"one of two forks pauses", func(k *trial) {
			forks := [2][]llm.Message{append(k.said[:31:31], words(llm.User, "No, otherwise.")), k.said}
			for i, n := range []int{3, 3, 50, 3, 3, 50, 3} {
				k.said = forks[i%2]
				k.steps(n, 10)
				forks[i%2] = k.said
			}
		}, 0.012},
		{"many forks", func(k *trial) {
			all := k.said
			for i := range 24 {
				k.said = all
				k.back(1 + 2*(23-i))
				k.steps(2, 10)
			}
			k.said = all
			k.steps(3, 10)
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newLong(t)
			k.at = k.at.Add(20 * time.Minute)
			k.steps(3, 10)
			test.does(k)
			k.checkBill(test.saved)
		})
	}
	for _, to := range []int{11, 25, 31, 41, 47} {
		t.Run(fmt.Sprint("outputs alone, to ", to), func(t *testing.T) {
			k := newTrial(t, 5*time.Minute)
			k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
			k.steps(25, 60)
			k.at = k.at.Add(20 * time.Minute)
			k.steps(1, 60)
			backAndForth(3, 60, to)(k)
			k.checkBill(0.1)
		})
	}
}

// If a conversation goes back to an earlier cold point, the form counts that a later cold point gave it.
func TestGoneBackToColdPoint(t *testing.T) {
	k := newTrial(t, 5*time.Minute)
	k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
	k.steps(12, 60)
	k.at = k.at.Add(20 * time.Minute)
	coldPoint := len(k.said)
	k.steps(8, 60)
	k.at = k.at.Add(20 * time.Minute)
	k.steps(1, 60)
	k.back(coldPoint)
	with, direct := k.with.cost, k.direct.cost
	k.ask()
	if k.coldPoints() != 2 || k.with.cost-with > 2*(k.direct.cost-direct) {
		t.Errorf("%d cold points; %.0f, and %.0f without", k.coldPoints(), k.with.cost-with, k.direct.cost-direct)
	}
}

// The same holds after a restart.
func TestGoneBackRestart(t *testing.T) {
	for _, to := range []int{31, 41} {
		t.Run(fmt.Sprint(to), func(t *testing.T) {
			store := new(recordtest.Memory)
			k := newLong(t, func(c *Config) { c.Store = store })
			k.at = k.at.Add(20 * time.Minute)
			k.steps(3, 10)
			k.restart(store)
			all := k.said
			k.back(to)
			k.steps(3, 10)
			k.restart(store)
			k.said = all
			k.steps(3, 10)
			k.checkBill(0.015)
		})
	}
}

// Forks go on and pause in any order, through several processes. The bill is never higher than without stet.
func TestForks(t *testing.T) {
	for _, seed := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 68, 114, 116, 118, 238, 256} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			store := new(recordtest.Memory)
			k := newTrial(t, 5*time.Minute, func(c *Config) { c.Store = store })
			k.marked, k.forks, k.said = true, true, []llm.Message{words(llm.User, "go")}
			var forks [][]llm.Message
			for i := range 40 {
				switch op := r.IntN(10); {
				case op == 0:
					forks = append(forks, k.said)
					k.back(min(len(k.said), 1+2*r.IntN(len(k.said)/2+1)))
					k.said = append(k.said, words(llm.Assistant, fmt.Sprint("So I do it in way ", i)), words(llm.User, "Yes."))
				case op == 1 && len(forks) > 0:
					n := r.IntN(len(forks))
					k.said, forks[n] = forks[n], k.said
				case op == 2:
					k.at = k.at.Add(time.Duration(1+r.IntN(12)) * time.Minute)
				case op == 3 && seed%2 == 0:
					k.restart(store)
				default:
					k.steps(r.IntN(4), 5+r.IntN(50))
					k.ask()
					k.reads(20 + r.IntN(100))
				}
			}
			if k.dearest > 0 {
				t.Errorf("%+.2f %% at worst, %+.2f %% at the end", 100*k.dearest, 100*(k.with.cost/k.direct.cost-1))
			}
		})
	}
}

// The bill is also not higher if an early message was changed before. Then the conversation goes back to a place where no request
// ended.
func TestGoneBackRestartChanged(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(k *trial)
	}{
		{"a result", func(k *trial) { k.clear(2) }},
		{"the first message", func(k *trial) { k.said[0] = words(llm.User, "Go on.") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := new(recordtest.Memory)
			k := newLong(t, func(c *Config) { c.Store = store })
			test.change(k)
			k.at = k.at.Add(20 * time.Minute)
			k.steps(3, 10)
			k.restart(store)
			k.back(31)
			with, direct := k.with.cost, k.direct.cost
			k.ask()
			if k.with.cost-with > k.direct.cost-direct {
				t.Errorf("%.0f, and %.0f without", k.with.cost-with, k.direct.cost-direct)
			}
		})
	}
}

// A conversation that goes on through another process with the same store, and comes back, is sent in the form in which it was
// sent last.
func TestThroughAnotherProcess(t *testing.T) {
	store := new(recordtest.Memory)
	k := newLong(t, func(c *Config) { c.Store = store })
	other := newProxy(t, func(c *Config) { c.History.Policy, c.Store = trim.Adaptive, store })
	for range 5 {
		k.at = k.at.Add(20 * time.Minute)
		k.steps(3, 60)
		k.proxy.writer.write()
		k.proxy, other = other, k.proxy
		k.steps(3, 60)
		k.proxy.writer.write()
		k.proxy, other = other, k.proxy
	}
	k.checkBill(0.1)
}

// A conversation that asks several things from one cold point has one cold point.
func TestRepeatedColdPointIsOne(t *testing.T) {
	k := newLong(t)
	k.at = k.at.Add(20 * time.Minute)
	for i := range 5 {
		k.aside(fmt.Sprint("aside ", i))
	}
	if k.coldPoints() != 1 {
		t.Errorf("%d cold points", k.coldPoints())
	}
}
