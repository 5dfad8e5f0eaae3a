package proxy

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// This file says what is known of a model: how its provider caches and bills (rules), and the engine that plans for it (engines).

// maxRules is how many models' rules are held. The limit is needed because clients may name any model.
const maxRules = 1000

// rules finds how the provider of a model caches and bills. The zero value uses the models that are built into stet.
type rules struct {
	catalog *prices.Catalog // nil: the embedded one

	mu      sync.Mutex
	byModel map[[2]string]rule // by API and model
}

// rule is the cache rule for a model, with other known facts about the model.
type rule struct {
	prices.Rule
	window   int    // tokens; 0: not known
	provider string // as prices.Model.Provider; "": not known
	checks   bool   // the provider checks what is before thinking, and refuses a request if it changed
	mayCheck bool   // the name of the model does not say whether the provider checks

	billsThinking bool // the provider keeps the thinking of earlier turns in the prompt, and bills it
}

// of returns the rule of a model. If the model is not known, or its provider is not known to have a cache, it returns the rule of the
// API's own provider. There may be a cache all the same, and a change in cached messages would cost.
func (r *rules) of(api, model string) rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{api, model}
	found, ok := r.byModel[key]
	if !ok {
		if r.byModel == nil || len(r.byModel) >= maxRules {
			r.byModel = map[[2]string]rule{}
		}
		found = r.lookUp(api, model)
		r.byModel[key] = found
	}
	return found
}

func (r *rules) lookUp(api, model string) rule {
	find, checks := prices.Lookup, prices.ChecksThinking
	if r.catalog != nil {
		find, checks = r.catalog.Lookup, r.catalog.ChecksThinking
	}
	m, _ := find(model)
	found := rule{Rule: m.Rule(), window: m.Window, provider: m.Provider, billsThinking: api == llm.Messages && m.BillsThinking()}
	named := strings.Contains(strings.ToLower(model), "claude") || m.Thinking == prices.ThinkingChecked
	switch {
	case api == llm.Gemini || !checks(model):
	case api == llm.Messages || named: // gateways serve these models under other APIs too
		found.checks = true
	default:
		found.mayCheck = true
	}
	if !found.Cached() {
		found.Rule, _ = prices.RuleNamed(apiNamed(api).CacheRule) // these rules always exist
	}
	return found
}

// bill is what a request cost, and what it would have cost more if nothing had been left out. known: the price is known. last is what the
// request before it in the conversation has left, or nil.
type bill struct {
	usd, saved float64
	known      bool
}

func (r *rules) bill(row *record.Request, last *record.Left) (b bill) {
	find := prices.Lookup
	if r.catalog != nil {
		find = r.catalog.Lookup
	}
	m, _ := find(row.Model)
	b.usd, b.saved, b.known = m.Bill(row.Usage, row.Without(last))
	return b
}

// handedOn matches the fields by which a gateway passes on the signature of a provider's thinking.
var handedOn = regexp.MustCompile(`"signature"\s*:\s*"[^"]|"format"\s*:\s*"anthropic|"reasoning_opaque"`)

// handsOn reports whether a request has thinking with a signature, in the form that gateways to models of other providers use.
func handsOn(req *llm.Request) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			return p.Kind == llm.Thinking && strings.HasPrefix(p.Raw, "{") && handedOn.MatchString(p.Raw)
		})
	})
}

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
	checks bool // the provider checks what is before thinking
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
	} else if api == llm.Messages && caching.Lifetime >= time.Hour {
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
