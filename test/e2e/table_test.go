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

	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// event is something that happens to the proxy between the prompts of a session.
type event struct {
	name string
	// next returns the proxy to which the later requests go, and may start it.
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

// TestTable runs sessions of agents on both kinds of account, under every policy, and with a proxy that ends between the prompts.
// It prints a table of the results. It runs only a few rows unless STET_TABLE=all is set.
func TestTable(t *testing.T) {
	need(t)
	var mu sync.Mutex
	rows := map[string]string{}
	t.Run("rows", func(t *testing.T) {
		for i, a := range agents {
			for _, account := range []strictmodel.Account{strictmodel.NewAccount, strictmodel.OldAccount} {
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
	_ = w.Flush() // a write to memory does not fail
	t.Log("\n" + b.String())
}

type row struct {
	policy trim.Policy
	event  event
}

// rowsOf returns the rows of an agent to run. Without STET_TABLE=all these are two rows of the agent that sends thinking back,
// which TestAgents does not run.
func rowsOf(a agent, account strictmodel.Account) (out []row) {
	if account == strictmodel.OldAccount && a.wire != "messages" {
		return nil // the accounts differ only in what the Messages API refuses
	}
	if os.Getenv("STET_TABLE") == "all" {
		for _, policy := range trim.Policies() {
			for k, e := range events {
				if k == 0 || policy == trim.Adaptive {
					out = append(out, row{policy, e})
				}
			}
		}
		return out
	}
	if a.name != "opencode" || a.wire != "messages" {
		return nil
	}
	if account == strictmodel.OldAccount {
		return []row{{trim.Adaptive, events[0]}}
	}
	return []row{{trim.Adaptive, events[2]}}
}

// throughEvent runs a session through "stet proxy". Between the prompts the event happens.
func throughEvent(t *testing.T, a agent, account strictmodel.Account, policy trim.Policy, e event) outcome {
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

// sent returns the bytes of the requests that the script answered.
func (o outcome) sent() (n int) {
	for _, r := range o.turns() {
		n += len(r.Body)
	}
	return n
}
