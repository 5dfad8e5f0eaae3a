package proxy

import (
	"sync"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
)

// maxRules is how many models' rules are held: clients may name any.
const maxRules = 1000

// rules finds cache rules. The zero value is ready.
type rules struct {
	mu      sync.Mutex
	byModel map[[2]string]prices.Rule // by API and model
}

// of is the cache rule that a model is taken to be billed by. A model that
// nothing is known of, or whose provider is not known to sell a cache, is taken
// for the API's own: there may be one all the same, and pruning against it
// would cost.
func (r *rules) of(api, model string) prices.Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{api, model}
	rule, ok := r.byModel[key]
	if !ok {
		if r.byModel == nil || len(r.byModel) >= maxRules {
			r.byModel = map[[2]string]prices.Rule{}
		}
		rule = lookUp(api, model)
		r.byModel[key] = rule
	}
	return rule
}

func lookUp(api, model string) prices.Rule {
	if m, ok := prices.Lookup(model); ok {
		if rule := m.Rule(); rule.Cached() {
			return rule
		}
	}
	name := prices.OpenAI
	if api == record.Messages || api == record.CountTokens {
		name = prices.Anthropic5m
	}
	rule, _ := prices.RuleNamed(name) // these two are there
	return rule
}
