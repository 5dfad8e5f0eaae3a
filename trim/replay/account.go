package replay

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/transcript"
)

// The account of a recorded session, request by request: what the provider's cache saw, and where it broke.

// BilledRequest is one request of a conversation, as the provider's cache saw it.
type BilledRequest struct {
	Number int           // the request's, from 1
	Time   time.Time     // when it was sent; zero is unknown
	Gap    time.Duration // since the answer before; 0 is none, or unknown
	Model  string
	Usage  llm.Usage // as the provider reported it

	Lifetime time.Duration // of the cache, where it is known better than by the model's rule; else 0
	Messages int           // in the request
	Blocks   int           // parts of them
	Fixed    int           // tokens before the first message; 0 is unknown

	// Part says where the request departs from the one before, where that is
	// known by itself; At the message, for PartMessage and PartStet; -1: which is not known.
	Part  Part
	At    int
	Fewer int // tokens that the prompt has fewer from this request on, where Part is PartStet
}

// Part is where a prefix broke, or why it was gone.
type Part string

// The parts. In a recorded session tools and system text cannot be distinguished,
// nor from a cache that the provider dropped before its time.
const (
	PartGap     Part = "gap"     // the cache had outlived its time
	PartModel   Part = "model"   // another one answered
	PartContext Part = "context" // the agent began a new context: a compaction
	PartHead    Part = "tools or system"
	PartTools   Part = "tools"
	PartSystem  Part = "system"
	PartMessage Part = "message"
	PartStet    Part = "stet"   // stet sent a message in another way than before
	PartMarker  Part = "marker" // more blocks were added than the provider looks back over from its marker
)

// Entry is a request in the account.
type Entry struct {
	BilledRequest
	Kept int // tokens that the request before had left in the cache
	Lost int // of these, those that were not read; 0 where the prefix held
	// Cost is the price of the request in USD, and Extra what of it the lost
	// tokens cost more than reading them had. Both are 0 where the model's
	// prices are unknown.
	Cost, Extra float64
}

// breakMin is how many tokens must be lost for a break: caches store in steps,
// and begin at about as many.
const breakMin = 1024

// Account follows a conversation's cache from request to request, in their
// order. Requests without usage are left out. find returns a model by its name, as
// prices.Lookup does.
func Account(asked []BilledRequest, find func(name string) (prices.Model, bool)) []Entry {
	var all []Entry
	for _, a := range asked {
		if a.Usage.Prompt() == 0 {
			continue
		}
		e := Entry{BilledRequest: a}
		model, known := find(a.Model)
		if n := len(all); n > 0 {
			last := &all[n-1]
			rule := model.Rule()
			e.Kept = kept(last.Usage, rule)
			if lost := min(e.Kept, a.Usage.Prompt()) - a.Usage.CacheRead; lost >= breakMin {
				e.Lost = lost
				if e.Part == "" {
					e.Part, e.At = e.where(all, rule)
				}
			}
		}
		if e.Lost == 0 {
			e.Part, e.At, e.Fewer = "", 0, 0
		}
		if known {
			e.Cost, _ = model.Cost(a.Usage)
			had, _ := model.Cost(read(a.Usage, e.Lost))
			e.Extra = max(0, e.Cost-had)
		}
		all = append(all, e)
	}
	return all
}

// kept returns how many tokens of a request are in the cache after it.
func kept(u llm.Usage, rule prices.Rule) int {
	if rule.Breakpoints > 0 || u.CacheWrite > 0 {
		return u.CacheRead + u.CacheWrite
	}
	if !rule.Cached() && u.CacheRead == 0 {
		return 0
	}
	return u.Prompt() / max(1, rule.Step) * max(1, rule.Step)
}

// read is u, had lost of its tokens been read from the cache.
func read(u llm.Usage, lost int) llm.Usage {
	u.CacheRead += lost
	written := min(lost, u.CacheWrite)
	u.CacheWrite -= written
	u.CacheWrite1h = min(u.CacheWrite1h, u.CacheWrite)
	u.Input -= min(lost-written, u.Input)
	return u
}

// where finds what broke the prefix of e: what is known of the two requests, and
// then how far the cache was read, which is where an earlier request ended.
func (e *Entry) where(before []Entry, rule prices.Rule) (Part, int) {
	last := &before[len(before)-1]
	lifetime := rule.Lifetime
	if slices.ContainsFunc(before, func(b Entry) bool { return b.Usage.CacheWrite1h > 0 }) {
		lifetime = max(lifetime, time.Hour)
	}
	if e.Lifetime > 0 {
		lifetime = e.Lifetime
	}
	switch {
	case lifetime > 0 && e.Gap > lifetime: // what else has changed costs nothing more
		return PartGap, 0
	case e.Model != last.Model:
		return PartModel, 0
	case e.Usage.CacheRead < max(e.Fixed-breakMin, 1):
		return PartHead, 0
	}
	at := 0
	for i := len(before) - 1; i >= 0; i-- {
		b := &before[i]
		if b.Model != e.Model || b.Messages > e.Messages || kept(b.Usage, rule) > e.Usage.CacheRead+rule.Step {
			continue
		}
		at = b.Messages
		if rule.Lookback > 0 && e.Blocks-b.Blocks > rule.Lookback {
			return PartMarker, at
		}
		break
	}
	return PartMessage, at
}

// BilledRequests returns the requests of a recorded session for its account: those
// whose answers carry usage. c counts what is recorded of the first request of
// a context; what the provider read next to it are tools and system text.
func BilledRequests(s *transcript.Session, c tokens.Counter) []BilledRequest {
	var all []BilledRequest
	begun, fixed := -1, 0 // where the context starts, and the tokens before its messages
	clock := func(from, to int) (latest time.Time) {
		for i := from; i < to; i++ {
			latest = later(latest, s.Messages[i].Time)
		}
		return latest
	}
	answered := time.Time{}
	for _, size := range Sizes(s, c, make(map[string]*tokens.Calibration)) {
		start := 0
		for _, at := range s.Starts {
			if at <= size.Answer {
				start = at
			}
		}
		if size.Reported == 0 {
			continue
		}
		m := &s.Messages[size.Answer]
		a := BilledRequest{Number: len(all) + 1, Time: clock(start, size.Answer), Model: m.Model, Usage: *m.Usage}
		if start != begun {
			if begun >= 0 {
				a.Part = PartContext
			}
			begun, fixed = start, max(0, size.Reported-size.Estimate)
		}
		a.Fixed = fixed
		if !answered.IsZero() && a.Time.After(answered) {
			a.Gap = a.Time.Sub(answered)
		}
		answered = later(answered, later(a.Time, m.Time))
		a.Messages, a.Blocks = sent(s.Messages[start:size.Answer])
		all = append(all, a)
	}
	return all
}

// sent counts the messages that are sent, and their parts.
func sent(messages []llm.Message) (n, parts int) {
	for i := range messages {
		if !messages[i].Local {
			n++
			parts += len(messages[i].Parts)
		}
	}
	return n, parts
}
