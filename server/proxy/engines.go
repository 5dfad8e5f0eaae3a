package proxy

import (
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// maxEngines is how many engines are held. The known models need fewer.
const maxEngines = 256

// engines holds the engines of package trim. Models with the same terms share one. A plan depends on
// the engine, so all requests to one model use the same engine.
type engines struct {
	config trim.Config
	rules  *rules

	mu   sync.Mutex
	made map[terms]*trim.Engine
}

// terms are the properties of a model and a request that an engine depends on.
type terms struct {
	window int // tokens; 0: not known
	price  trim.Price
	checks bool // the provider checks what stands before thinking
	kept   bool // the provider stores the conversation, so sent messages cannot change
	clears bool // the provider may be asked to clear results

	thinking bool // the provider bills the thinking of earlier turns
}

// of returns the engine for a request to a model. It uses the checks, kept, clears and thinking of asked. A window or a price in the
// configuration applies to all models. If the provider checks thinking, a plan does not depend on the price: a conversation is
// often sent to several models.
func (e *engines) of(api, model string, caching *llm.Caching, asked terms) (*trim.Engine, error) {
	k := e.rules.of(api, model)
	t := terms{window: k.window, price: trim.Price{Read: k.Read, Write: k.Write}, checks: asked.checks, kept: asked.kept, clears: asked.clears, thinking: asked.thinking}
	if t.checks {
		t.price = trim.Price{}
	} else if api == record.Messages && caching.Lifetime >= time.Hour {
		hour, _ := prices.RuleNamed(prices.Anthropic1h) // this rule always exists
		t.price.Write = max(t.price.Write, hour.Write)
	}
	if e.config.Window != 0 {
		t.window = e.config.Window
	}
	if e.config.Price != (trim.Price{}) {
		t.price = e.config.Price
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if made := e.made[t]; made != nil {
		return made, nil
	}
	c := e.config
	c.Window, c.Price, c.ChecksThinking, c.Clears, c.NoBreaks, c.BillsThinking = t.window, t.price, t.checks, t.clears, t.kept, t.thinking
	made, err := trim.New(c)
	if err != nil {
		return nil, err
	}
	if e.made == nil || len(e.made) >= maxEngines {
		e.made = map[terms]*trim.Engine{}
	}
	e.made[t] = made
	return made, nil
}
