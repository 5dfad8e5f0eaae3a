package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

// steps does this n times: it sends the conversation, and adds a command with an output of so many lines.
func (k *trial) steps(n, lines int) {
	k.Helper()
	for range n {
		k.ask()
		k.runs(lines)
		k.at = k.at.Add(20 * time.Second)
	}
}

// reads adds a read of a file that was not read before.
func (k *trial) reads(lines int) {
	i := len(k.said)
	var text strings.Builder
	for n := range lines {
		fmt.Fprintf(&text, "%6d\tline %d of file %d says %d\n", n+1, n, i, (n*7919+i*104729)%9973)
	}
	id := fmt.Sprint("call_", i)
	k.said = append(k.said,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Read", Args: fmt.Sprintf(`{"file_path":"/home/me/project/f%d.go"}`, i)}}},
		llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: text.String()}}})
}

// aside asks something after which the conversation goes on without it.
func (k *trial) aside(says string) {
	k.Helper()
	said := k.said
	k.ask(says)
	k.said = said
	k.at = k.at.Add(20 * time.Second)
}

// restart goes on through another proxy with the same store.
func (k *trial) restart(store record.Store) {
	k.Helper()
	if err := k.proxy.Close(k.Context()); err != nil {
		k.Fatal(err)
	}
	k.proxy = newProxy(k.T, func(c *Config) { c.History.Policy, c.Store = trim.Adaptive, store })
}

// clear takes the text out of a result, as agents do.
func (k *trial) clear(at int) {
	p := k.said[at].Parts[0]
	p.Text = "[Old tool result content cleared]"
	k.said[at] = llm.Message{Role: k.said[at].Role, Parts: []llm.Part{p}}
}

// checkBill fails if the bill was ever higher than without the proxy, or if less than the share saved was saved at the end.
func (k *trial) checkBill(saved float64) {
	k.Helper()
	end := k.with.cost/k.direct.cost - 1
	k.Logf("%d cold points, %+.2f %% at worst, %+.2f %% at the end", k.coldPoints(), 100*k.dearest, 100*end)
	if k.dearest > 0 || end > -saved {
		k.Error("dearer")
	}
}

// newLong returns a trial of a long conversation. Little can be left out of it, that stands early, and much stands behind it.
func newLong(t *testing.T, change ...func(*Config)) *trial {
	k := newTrial(t, 5*time.Minute, change...)
	k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
	k.steps(3, 25)
	for range 12 {
		k.ask()
		k.reads(150)
		k.at = k.at.Add(20 * time.Second)
	}
	k.steps(6, 10)
	return k
}

// A request with other tools or another system text has a cold cache. The request after it, with the earlier tools and system
// text, has a warm one.
func TestOtherToolsOrSystemText(t *testing.T) {
	for _, test := range []struct {
		name  string
		does  func(k *trial)
		saved float64
	}{
		{"tools", func(k *trial) {
			k.tools = "plan"
			k.aside("summarise")
			k.tools = ""
			k.steps(10, 10)
		}, 0.009},
		{"system", func(k *trial) {
			was := k.system
			k.system = []string{"Summarise. " + was[0]}
			k.aside("summarise")
			k.system = was
			k.steps(10, 10)
		}, 0.009},
		{"often", func(k *trial) {
			for i := range 6 {
				k.tools = "review"
				k.aside(fmt.Sprint("review ", i))
				k.tools = ""
				k.steps(3, 10)
			}
		}, 0.009},
		{"modes", func(k *trial) {
			base := k.system[0]
			for i := range 6 {
				k.system[0] = fmt.Sprint(base, "mode ", i%2)
				k.steps(4, 10)
			}
		}, 0.02},
		{"for good", func(k *trial) {
			k.tools = "more"
			k.steps(6, 10)
			k.tools = "yet more"
			k.steps(6, 10)
		}, 0.02},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newLong(t)
			test.does(k)
			k.checkBill(test.saved)
		})
	}
	t.Run("much to leave out", func(t *testing.T) {
		k := newTrial(t, 5*time.Minute)
		k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
		k.steps(25, 60)
		k.tools = "plan"
		k.steps(1, 60)
		k.tools = ""
		k.steps(5, 60)
		k.checkBill(0.18)
	})
}

// If an agent changes what was sent before a cold point, or goes back to before it, everything before the change is sent in the
// form in which it was sent.
func TestChangedInPlace(t *testing.T) {
	for _, after := range []int{0, 3, 10, 20} {
		t.Run(fmt.Sprint("cleared after ", after), func(t *testing.T) {
			k := newLong(t)
			k.at = k.at.Add(20 * time.Minute)
			k.steps(1+after, 10)
			k.clear(30) // the last of the long reads
			k.steps(5, 10)
			k.checkBill(0.015)
		})
	}
	t.Run("outputs alone", func(t *testing.T) {
		k := newTrial(t, 5*time.Minute)
		k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
		k.steps(25, 60)
		k.at = k.at.Add(20 * time.Minute)
		k.steps(1, 60)
		k.clear(42)
		k.steps(5, 60)
		k.checkBill(0.25)
	})
	t.Run("cleared again and again", func(t *testing.T) {
		k := newTrial(t, 5*time.Minute)
		k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
		cleared := 2
		for i := range 60 {
			k.ask()
			if i%3 == 0 {
				k.runs(30)
			} else {
				k.reads(60)
			}
			k.at = k.at.Add(20 * time.Second)
			if i%20 == 13 {
				k.at = k.at.Add(10 * time.Minute)
			}
			for ; i%10 == 9 && cleared < len(k.said)-16; cleared += 2 {
				if cleared%6 != 2 { // a read
					k.clear(cleared)
				}
			}
		}
		k.checkBill(0.08)
	})
	t.Run("taken back", func(t *testing.T) {
		k := newLong(t)
		for i := range 5 {
			k.at = k.at.Add(7 * time.Minute)
			n := len(k.said)
			k.steps(2, 10)
			k.said = k.said[:n-4*(i%2)]
		}
		k.checkBill(0.014)
	})
}

// The same holds after a restart: the new process knows at which messages the cold points are after the change.
func TestChangedRestart(t *testing.T) {
	store := new(recordtest.Memory)
	k := newLong(t, func(c *Config) { c.Store = store })
	k.at = k.at.Add(20 * time.Minute)
	k.steps(4, 10)
	k.clear(30)
	k.steps(2, 10)
	k.restart(store)
	k.steps(3, 10)
	k.checkBill(0.015)
}
