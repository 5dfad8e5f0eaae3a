package agent

import (
	"crypto/sha256"
	"regexp"
)

// loopDetector detects that a model repeats itself: the same calls have the same results, without a new result in between.
type loopDetector struct {
	limit int // repetitions before the model is warned
	seen  map[[32]byte]bool
	count map[[32]byte]int // repetitions since the last new result
	worst int
}

// took matches the duration in a result. A result that differs only in it is not new.
var took = regexp.MustCompile(`"time_ms":\s*[0-9]+`)

// moreRepeats is the number of repetitions that are allowed after the model was warned.
const moreRepeats = 2

// see records the calls of one answer. It reports whether to warn the model.
func (g *loopDetector) see(all []done) (remind bool) {
	if g.seen == nil {
		g.seen, g.count = map[[32]byte]bool{}, map[[32]byte]int{}
	}
	keys := make([][32]byte, len(all))
	news := false
	for i, d := range all {
		keys[i] = sha256.Sum256([]byte(d.call.Name + "\x00" + d.call.Args + "\x00" + took.ReplaceAllString(d.result.Text, "")))
		news = news || !g.seen[keys[i]]
		g.seen[keys[i]] = true
	}
	if news {
		clear(g.count)
		g.worst = 0
	}
	for _, k := range keys {
		g.count[k]++
		g.worst = max(g.worst, g.count[k])
	}
	return g.worst == g.limit
}

// looping reports whether the model was warned and has continued to repeat itself.
func (g *loopDetector) looping() bool { return g.worst >= g.limit+moreRepeats }
