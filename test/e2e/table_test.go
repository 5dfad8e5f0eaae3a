package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm/llmtest"
)

// event is what happens to the proxy between the prompts of a session.
type event struct {
	name string
	// next starts the proxy that stands there afterwards.
	next func(t *testing.T, before *process, home string, args []string) *process
}

func restart(signal syscall.Signal) func(*testing.T, *process, string, []string) *process {
	return func(t *testing.T, before *process, home string, args []string) *process {
		before.end(signal)
		return startProcess(t, home, args...)
	}
}

var events = []event{
	{"goes on", nil},
	{"restart by TERM", restart(syscall.SIGTERM)},
	{"restart by KILL", restart(syscall.SIGKILL)},
	{"two proxies", func(t *testing.T, _ *process, home string, args []string) *process {
		return startProcess(t, home, args...)
	}},
}

// TestTable lets agents do the session on both kinds of account, under every policy, and
// with a proxy that is ended between the prompts; and prints what came of it. Only a few of
// the rows are played unless STET_TABLE=all.
func TestTable(t *testing.T) {
	need(t)
	var mu sync.Mutex
	rows := map[string]string{}
	t.Run("rows", func(t *testing.T) {
		for i, a := range agents {
			for _, account := range []llmtest.Account{llmtest.NewAccount, llmtest.OldAccount} {
				todo := rowsOf(a, account)
				if len(todo) == 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", a.name, a.wire, account), func(t *testing.T) {
					t.Parallel()
					before := sessionOf(t, a, account, direct, nil)
					for k, r := range todo {
						with := throughEvent(t, a, account, r.policy, r.event)
						same(t, before, with)
						if with.refused() > before.refused() {
							t.Errorf("%s, %s: %d requests are refused, without stet %d", r.policy, r.event.name, with.refused(), before.refused())
						}
						mu.Lock()
						rows[fmt.Sprintf("%02d %s %02d", i, account, k)] = fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%d\t%v\t%v\t%d\t%.0f %%\n",
							a.name, a.wire, account, r.policy, r.event.name, len(with.turns()), with.exit, with.diff == before.diff,
							with.refused(), 100*(1-float64(with.sent())/float64(before.sent())))
						mu.Unlock()
					}
				})
			}
		}
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "agent\tAPI\taccount\tpolicy\tcondition\tturns\texit\tsame diff\terrors\tsaved\n")
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprint(w, rows[key])
	}
	_ = w.Flush() // into memory
	t.Log("\n" + b.String())
}

type row struct {
	policy history.Policy
	event  event
}

// rowsOf are the rows of an agent that are played now: all where STET_TABLE says so; else
// two of the agent that sends thinking back, which TestAgents does not play.
func rowsOf(a agent, account llmtest.Account) (out []row) {
	if account == llmtest.OldAccount && a.wire != "messages" {
		return nil // accounts differ in what the Messages API refuses
	}
	if os.Getenv("STET_TABLE") == "all" {
		for _, policy := range history.Policies() {
			for k, e := range events {
				if k == 0 || policy == history.Adaptive {
					out = append(out, row{policy, e})
				}
			}
		}
		return out
	}
	if a.name != "opencode" || a.wire != "messages" {
		return nil
	}
	if account == llmtest.OldAccount {
		return []row{{history.Adaptive, events[0]}}
	}
	return []row{{history.Adaptive, events[2]}}
}

// throughEvent is a session through "stet proxy", to which something happens between the
// prompts.
func throughEvent(t *testing.T, a agent, account llmtest.Account, policy history.Policy, e event) outcome {
	t.Helper()
	var front *tap
	var between func()
	through := func(t *testing.T, home, model string) (string, []string) {
		args := []string{"--upstream", model, "--policy", string(policy)}
		p := startProcess(t, home, args...)
		front = newTap(t, p.url)
		if e.next != nil {
			between = func() { front.to(t, e.next(t, p, home, args).url) }
		}
		return front.url, nil
	}
	return sessionOf(t, a, account, through, func() {
		if between != nil {
			between()
		}
	})
}

// sent is how many bytes the requests had that the script answered.
func (o outcome) sent() (n int) {
	for _, r := range o.turns() {
		n += len(r.Body)
	}
	return n
}
