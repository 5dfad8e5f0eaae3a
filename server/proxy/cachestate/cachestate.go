// Package cachestate models the provider's prompt cache: whether it is cold at a request. It sends nothing and reads no store.
//
// A request passes through three calls. Judge looks at the request and changes nothing. It returns a Verdict: how old the cache is,
// what changed since the request before, and whether the request is a cold point. Commit records the request when it is sent, as a Snapshot. Then
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

// MaxTurns is the number of turns that are remembered.
const MaxTurns = 40_000

const (
	maxKeys = 64 // limit of cache keys of a lineage
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

	mu    sync.Mutex
	turns map[uint64][]*turn // by the hash of their messages: one for each cache key
	count int                // of turns
}

// New returns an empty State.
func New(c Config) *State {
	return &State{config: c, turns: map[uint64][]*turn{}}
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
	Leaves       bool          // although it is bound, it may be a cold point: thinking may leave, or the provider clears results itself
}

// Verdict says what is believed of the cache at a request, and how the request is planned. It is never changed: Continued returns a
// copy.
type Verdict struct {
	New     trim.Cause // why the request is planned at a cold point; empty: it is not
	Changed bool       // a newer request of the cache key is known that this one does not continue
	Cache   Belief
	end     expiry
	at      position
}

// Key returns the hash of the cache key that the request uses.
func (v *Verdict) Key() uint64 { return v.at.key.Hash() }

// Gone reports whether the provider's cache is assumed to have lost at a time what it read or wrote last at another one.
func (v *Verdict) Gone(used, now time.Time) bool { return v.end.gone(now.Sub(used)) != "" }

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

// Continued returns v for a continuation: a request with only new items, because the provider keeps the earlier ones. No cold point
// begins with it, because sent items cannot change.
func (v Verdict) Continued() Verdict {
	v.New = ""
	return v
}
