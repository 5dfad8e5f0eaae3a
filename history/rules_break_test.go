package history

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
)

// WIRE-2: the warm breaks of rules 1 and 2 stay the same, and so does what these rules treat as a command that changes something.
// No conversation of the corpora is long enough for a break, so this test compares a checksum of the plans of longer ones.
func TestOldBreaksStay(t *testing.T) {
	sum := fnv.New64a()
	plan := func(c *conv, config Config, points ...Point) {
		p := newEngine(t, config).Plan(c.messages, points...)
		fmt.Fprintln(sum, p.Breaks, p.Saved, p.Edits)
	}
	for rules := 1; rules <= 2; rules++ {
		for seed := range uint64(15) {
			c := longWork(rand.New(rand.NewPCG(seed, 0)))
			for _, price := range []Price{{}, {0.1, 1.25}, {0.1, 2}, {0.5, 1}} {
				plan(c, Config{Policy: Bold, Rules: rules, Price: price})
				plan(c, Config{Policy: Bold, Rules: rules, Price: price, ChecksThinking: true, Clears: true})
			}
		}
		for _, command := range []string{"sort -o lib/list.js lib/list.js", `awk '{print > "x"}' lib/list.js`, "sed -n '1,5w x' lib/list.js", "sed -i s/a/b/ lib/list.js", "find lib/list.js -delete", "git push lib/list.js", "make lib/list.js > x"} {
			c := new(conv)
			c.read("lib/list.js", 1, 60, 60)
			c.call("Bash", map[string]any{"command": command}, "")
			for i := range 60 {
				c.call("Bash", map[string]any{"command": fmt.Sprint("make ", i)}, strings.Repeat(fmt.Sprintf("%d ok: built one more of the targets\n", i), 25))
			}
			plan(c, Config{Policy: Adaptive, Rules: rules}, Point{After: len(c.messages) - 1, Why: Gap})
		}
	}
	if got := sum.Sum64(); got != 0x8b526f919c6ffdd5 {
		t.Errorf("the plans sum up to %#x, not to what they did before rules number 3", got)
	}
}
