package agent

import (
	"crypto/sha256"
	"regexp"
)

// guard notices that a model goes round in a circle: the same calls come to the
// same results, and nothing new between.
type guard struct {
	most  int // times, before the model is told
	seen  map[[32]byte]bool
	count map[[32]byte]int // since something new came
	worst int
}

// took is what a result says of how long it took, which is no news.
var took = regexp.MustCompile(`"time_ms":\s*[0-9]+`)

// beyond is how often more a call may repeat itself after the model was told.
const beyond = 2

// see takes note of the calls of one answer, and reports whether it is time to
// say something.
func (g *guard) see(all []done) (remind bool) {
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
	return g.worst == g.most
}

// looping reports whether the model has been told, and goes on all the same.
func (g *guard) looping() bool { return g.worst >= g.most+beyond }
