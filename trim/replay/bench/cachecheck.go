package bench

import "github.com/stet-dev/stet/trim/replay"

// CacheCheck is how well the simulated caches predict what the recorded ones did,
// in the sessions whose provider reported sizes and reads from its cache. The
// first request of a session is left out: what came before it is not known.
type CacheCheck struct {
	rule     string     // the recorded cache's
	Requests int        `json:"requests"`
	Read     int64      `json:"read"`   // tokens that were read from the cache
	Prompt   int64      `json:"prompt"` // tokens of these requests
	Simple   Prediction `json:"simple"` // the cache that the figures are priced by
	Exact    Prediction `json:"exact"`  // with breakpoints, least length, steps and lookback
}

// Prediction is what a simulated cache said of the requests.
type Prediction struct {
	Read int64 `json:"read"` // tokens
	// Within counts the requests whose read is at most a twentieth of the
	// prompt off.
	Within int `json:"within"`
	// FalseHits and FalseMisses count requests said to find most of the prompt
	// in the cache that did not, and the other way round.
	FalseHits   int `json:"false_hits"`
	FalseMisses int `json:"false_misses"`
}

// checkCache compares the session, whose sizes are the reported ones, with
// both simulations of the cache of the model that answered.
func checkCache(r *replay.Replay) CacheCheck {
	rule, ok := r.RecordedRule()
	if !ok {
		return CacheCheck{}
	}
	c := CacheCheck{rule: rule.Name}
	sender := r.NewSender(replay.Cache{Rule: rule}, replay.Cache{Rule: rule, Exact: true})
	for i := range r.Requests {
		sent := sender.Send(i, nil)
		u := r.Usage(i)
		if i == 0 || u == nil || u.Prompt() == 0 {
			continue
		}
		c.Requests++
		c.Read += int64(u.CacheRead)
		c.Prompt += int64(u.Prompt())
		c.Simple.compare(sent.Bills[0].Read, u.CacheRead, u.Prompt())
		c.Exact.compare(sent.Bills[1].Read, u.CacheRead, u.Prompt())
	}
	return c
}

func (p *Prediction) compare(said, was, prompt int) {
	p.Read += int64(said)
	if d := said - was; 20*max(d, -d) <= prompt {
		p.Within++
	}
	switch hit := 2*said > prompt; {
	case hit && 2*was <= prompt:
		p.FalseHits++
	case !hit && 2*was > prompt:
		p.FalseMisses++
	}
}

func (c *CacheCheck) add(o CacheCheck) {
	c.Requests += o.Requests
	c.Read += o.Read
	c.Prompt += o.Prompt
	c.Simple.add(o.Simple)
	c.Exact.add(o.Exact)
}

func (p *Prediction) add(o Prediction) {
	p.Read += o.Read
	p.Within += o.Within
	p.FalseHits += o.FalseHits
	p.FalseMisses += o.FalseMisses
}
