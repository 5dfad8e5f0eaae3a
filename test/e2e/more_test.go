package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// Errors of the model reach the agent unchanged: with stet and without it, the agent tries again as often, and ends in the same
// way.
func TestFailures(t *testing.T) {
	need(t)
	faults := []llmtest.Fault{
		{Status: 429, RetryAfter: 1}, {}, {Status: 500}, {}, {Status: 529}, {}, {CutAfter: 5}, {}, {ErrorAfter: 3},
	}
	for _, a := range []agent{codex, continueCLI("messages", "anthropic", bound)} {
		t.Run(a.name+"/"+a.wire, func(t *testing.T) {
			t.Parallel()
			straight := session(t, a, direct, faults...)
			with := session(t, a, wrap, faults...)
			same(t, straight, with)
			if a, b := statuses(straight), statuses(with); a != b {
				t.Errorf("answers %s, with stet %s", a, b)
			}
			if !strings.Contains(statuses(with), "429") {
				t.Error("the model has not failed")
			}
		})
	}
}

func statuses(o outcome) string {
	var b strings.Builder
	for _, r := range o.requests {
		fmt.Fprint(&b, " ", r.Status)
	}
	return b.String()
}

// TRIM-2: under keep-latest only the newest reads of a file are whole, and the agent behaves as without stet.
func TestKeepLatest(t *testing.T) {
	need(t)
	for _, a := range []agent{codex, continueCLI("chat", "openai", "scripted")} {
		t.Run(a.name+"/"+a.wire, func(t *testing.T) {
			t.Parallel()
			straight := straight(t, a)
			with := session(t, a, wrapWith("--policy", "keep-latest", "--keep", "1"))
			same(t, straight, with)
			stored(t, straight, with)
			last := with.turns()[len(with.turns())-1].Decoded
			for _, n := range []int{turnFirst, turnAgain, turnInsists} {
				if got := result(last, n); !strings.Contains(got, mark) || strings.Contains(got, marker) {
					t.Errorf("turn %d: %.200q", n, got)
				}
			}
			if got := result(last, turnLast); strings.Contains(got, mark) || !strings.Contains(got, marker) {
				t.Errorf("the newest read: %.200q", got)
			}
		})
	}
}

// With --observe nothing is left out, and at the end the command says what would have been left out.
func TestObserve(t *testing.T) {
	need(t)
	o := session(t, codex, wrapWith("--observe"))
	for _, r := range o.turns() {
		if strings.Contains(string(r.Body), mark) {
			t.Fatalf("a placeholder in turn %d", r.Step)
		}
	}
	if !strings.Contains(o.output, "observe") {
		t.Errorf("stet does not say that it only observed:\n%s", o.output)
	}
}

// Two conversations through one proxy at the same time do not mix: each model sees only the placeholders of its own conversation.
func TestTwoAtOnce(t *testing.T) {
	need(t)
	straight := straight(t, codex)
	model := strictmodel.New(script("")) // paths are relative, because codex reads with commands
	t.Cleanup(func() { _ = model.Close() })
	proxy := startProxy(t, t.TempDir(), "--upstream", model.URL)
	outcomes := make([]outcome, 2)
	t.Run("both", func(t *testing.T) {
		for i := range outcomes {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				outcomes[i] = session(t, codex, func(*testing.T, string, string) (string, []string) { return proxy, nil })
			})
		}
	})
	byConversation := map[string][]llmtest.Request{}
	for _, r := range model.Requests() {
		id := r.Header.Get("Session-Id")
		byConversation[id] = append(byConversation[id], r)
	}
	if len(byConversation) != 2 {
		t.Fatalf("%d conversations", len(byConversation))
	}
	for id, requests := range byConversation {
		o := outcome{requests: requests, diff: outcomes[0].diff, exit: outcomes[0].exit}
		same(t, straight, o)
		placeholders(t, straight, o)
		t.Logf("conversation %s: %d requests", id, len(requests))
	}
	if outcomes[0].diff != outcomes[1].diff {
		t.Error("the two runs differ")
	}
}

// Codex over a WebSocket makes the same changes with stet as without, and sends less (WIRE-4).
func TestCodexSocket(t *testing.T) {
	need(t)
	straight := straight(t, codexSocket)
	with := wrapped(t, codexSocket)
	same(t, straight, with)
	placeholders(t, straight, with)
	stored(t, straight, with)
	for _, o := range []outcome{straight, with} {
		for _, r := range o.turns() {
			if !r.Socket || r.Status != 200 {
				t.Errorf("turn %d: socket %v, status %d", r.Step, r.Socket, r.Status)
			}
		}
	}
}
