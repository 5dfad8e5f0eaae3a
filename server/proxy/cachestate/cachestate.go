// Package cachestate models the provider's prompt cache: whether it is cold at a request, and at which cold points the request is
// planned. It sends nothing and reads no store.
//
// A request passes through three calls. Judge looks at the request and changes nothing. It returns a Verdict: how old the cache is,
// what changed since the request before, and the cold points. Commit records the request when it is sent, as a Snapshot. Then
// either Rollback forgets it, because it was not answered, or Settle compares the verdict with the usage in the answer, and updates
// the conversation's account.
//
// Words:
//
//   - A cache key separates one cache of a provider from another: model, tools, system text.
//   - A lineage is a chain of requests. Each begins with the one before. A fork belongs to the lineage that it comes from.
//   - A snapshot is what is remembered of a request that was sent in this process.
//   - A turn is a request that was answered, in this process or an earlier one. It is found by the
//     hash of its messages up to the model's last one (prefix.Chain.End).
//   - A cold point is a request before which the cache holds nothing of the conversation. Only there may results that were sent before be
//     left out.
//
// The rules are in docs/proxy.md.
package cachestate

import (
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

// MaxTurns is the number of turns with a cold point that are remembered. The same number of turns without one is also remembered.
const MaxTurns = 20_000

const (
	maxKeys  = 64 // limit of cache keys of a lineage
	maxForks = 16 // limit of snapshots kept for a cache key besides the newest
)

// Config configures a [State].
type Config struct {
	// Evicts says that the policy leaves out results that were sent before, at cold points.
	Evicts bool
	// Unchanged says that requests are sent unchanged. They are remembered separately, so that a later changed request counts as
	// new.
	Unchanged bool
	// Checks reports whether the provider of a model checks what comes before thinking.
	Checks func(api, model string) bool
}

// State remembers the requests that were sent. Its methods may be called concurrently.
type State struct {
	config Config

	mu      sync.Mutex
	turns   map[uint64][]*turn     // by the hash of their messages: one for each cache key
	count   int                    // of turns
	evicted map[Key]map[*turn]bool // turns with the record of what was left out
}

// New returns an empty State.
func New(c Config) *State {
	return &State{config: c, turns: map[uint64][]*turn{}, evicted: map[Key]map[*turn]bool{}}
}

// Conversation is what a State knows of one conversation. The zero value is a new one. State's lock guards its content.
type Conversation struct{ newest *lineage }

// Request is a request before it is sent.
type Request struct {
	Time         time.Time
	API          string        // as in record.Request.API; a request that counts tokens is Messages
	Key          Key           // the request's own key; its cache key may be the key of an earlier request
	Name         string        // record.Request.Conversation
	Conversation *Conversation // nil: not known
	Decoded      *llm.Request
	Chain        *prefix.Chain // of the request's messages
	Lifetime     time.Duration // how long the request asks the provider to keep the prompt, or the provider's default
	Vouched      bool          // the provider keeps the prompt no longer than that
	Bound        bool          // the provider checks its thinking: nothing that was sent may change
	Clears       bool          // although it is bound, it may be a cold point: the provider clears results itself
}

// Verdict says what is believed of the cache at a request, and how the request is planned. It is never changed: Continued returns a
// copy.
type Verdict struct {
	Points  []trim.Point // the cold points of the plan, in order
	New     trim.Cause   // why the last of Points begins with this request; empty: none begins with it
	Moved   []trim.Point // the Points that no earlier request of the cache key had at that place
	Replans bool         // Points differ from those of the turn that the request continues
	Cache   Belief
	at      position
}

// Belief is the believed age of the cache at a request.
type Belief struct {
	Gap      time.Duration // since the last answer in the lineage
	Idle     time.Duration // since the last answer to a request of the cache key
	Lifetime time.Duration // assumed lifetime of the cache
	Leaves   time.Duration // lifetime of the cache after this request
	Changed  PrefixChange
	Cold     bool // the cache is assumed to be gone
	Certain  bool // it is certainly gone, whatever the answer shows
}

// position is the place of a request among the earlier ones.
type position struct {
	lineage *lineage
	key     Key
	before  *Snapshot // the newest of its cache key, or else of its lineage; nil: not known
	from    *turn     // the longest turn that the request begins with; nil: none
}

// Decides reports whether later requests must know a decision about the request.
func (v *Verdict) Decides() bool { return v.New != "" || len(v.Moved) > 0 }

// Continued returns v for a continuation: a request with only new items, because the provider keeps the earlier ones. No cold point
// begins with it, because sent items cannot change.
func (v Verdict) Continued() Verdict {
	if v.New != "" {
		v.Points, v.New = v.Points[:len(v.Points)-1], ""
	}
	return v
}

// begin returns v with a new point that begins with the request.
func (v Verdict) begin(p trim.Point) Verdict {
	v.Points, v.New = append(v.Points[:len(v.Points):len(v.Points)], p), p.Why
	return v
}
