// Package cachestate says what is believed of a provider's prompt cache at a request, and
// at which cold points the request is planned. It sends nothing and reads no store.
//
// A request passes through three calls. Judge looks at the request and changes nothing: its
// answer, a Verdict, says how old the cache is, what changed since the request before, and the
// cold points. Commit notes the request as it goes out, as a Snapshot. Then either Rollback
// forgets it, because it was not answered, or Settle compares what was believed with the usage
// in the answer, and keeps the account of the conversation.
//
// Words:
//
//   - A cache key is what separates one cache of a provider from another: model, tools, system text.
//   - A lineage is a chain of requests. Each begins with the one before. Forks belong to the
//     lineage that they come from.
//   - A snapshot is what is remembered of a request that went out in this process.
//   - A turn is a request that was answered, in this process or an earlier one. It is found by the
//     hash of its messages up to the model's last one (prefix.Chain.End).
//   - A cold point is a request before which the cache holds nothing of the conversation. What was
//     sent before may leave the conversation there, and only there.
//
// The rules are in docs/proxy.md.
package cachestate

import (
	"sync"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/prefix"
	"github.com/stet-dev/stet/llm"
)

// MaxTurns is how many turns with a cold point are remembered. As many turns without
// one are remembered besides.
const MaxTurns = 20_000

const (
	maxKeys  = 64 // cache keys of a lineage
	maxForks = 16 // snapshots that are kept for a cache key besides the newest
)

// Config sets a [State] up.
type Config struct {
	// Evicts says that the policy leaves out what was sent before, at cold points.
	Evicts bool
	// Unchanged says that requests go out as they came. What is remembered of them is
	// apart: requests that are changed later must be known to be new.
	Unchanged bool
	// Checks reports whether a model's provider checks what stands before thinking.
	Checks func(api, model string) bool
}

// State is what is remembered of the requests that went out. Its methods may be
// called concurrently.
type State struct {
	config Config

	mu      sync.Mutex
	turns   map[uint64][]*turn     // by the hash of their messages: one for each cache key
	count   int                    // of turns
	evicted map[Key]map[*turn]bool // the turns that say what was left out
}

// New returns a State that remembers nothing.
func New(c Config) *State {
	return &State{config: c, turns: map[uint64][]*turn{}, evicted: map[Key]map[*turn]bool{}}
}

// Conversation is what a State knows of one conversation. The zero value is a new one.
// Its content belongs to the State's lock.
type Conversation struct{ newest *lineage }

// Request is a request before it goes out.
type Request struct {
	Time         time.Time
	API          string        // as record.Request.API; counting tokens is Messages
	Key          Key           // what the request has itself; its cache key may be that of a request before
	Name         string        // record.Request.Conversation
	Conversation *Conversation // nil: it is not known
	Decoded      *llm.Request
	Chain        *prefix.Chain // of its messages
	Lifetime     time.Duration // that it asks the provider to keep the prompt for, or the provider's own
	Vouched      bool          // the provider keeps the prompt no longer than that
	Bound        bool          // there is thinking that the provider checks: nothing that was sent may change
	Tries        bool          // it may be a cold point all the same: the provider may let that pass
}

// A Verdict says what is believed of the cache at a request, and how the request is to be planned.
// It is never changed: Continued returns another one.
type Verdict struct {
	Points  []history.Point // the cold points that the request is planned at, in order
	New     history.Cause   // why the last of Points begins with this request; empty: it does not
	Moved   []history.Point // the Points that no earlier request of the cache key had where they stand
	Replans bool            // Points are not those of the turn that the request goes on from
	Cache   Belief
	at      position
}

// Belief is how old the cache is that a request finds.
type Belief struct {
	Gap      time.Duration // since the last answer in the lineage
	Idle     time.Duration // since the last answer to a request of the cache key
	Lifetime time.Duration // that the cache is taken to have
	Leaves   time.Duration // lifetime of the cache that the request leaves
	Changed  PrefixChange
	Cold     bool // the cache is taken to be gone
	Certain  bool // it is gone, whatever the answer shows
}

// position is where a request stands among those before.
type position struct {
	lineage *lineage
	key     Key
	before  *Snapshot // the newest of its cache key, or else of its lineage; nil: it is not known
	from    *turn     // the longest that the request begins with; nil: there is none
}

// Decides reports whether something was decided with the request that later requests must know.
func (v *Verdict) Decides() bool { return v.New != "" || len(v.Moved) > 0 }

// Continued is v for a request that has only what is new, because the provider keeps what was sent
// before. No cold point begins with it: what was sent cannot change.
func (v Verdict) Continued() Verdict {
	if v.New != "" {
		v.Points, v.New = v.Points[:len(v.Points)-1], ""
	}
	return v
}

// begin returns v with a point that begins with the request.
func (v Verdict) begin(p history.Point) Verdict {
	v.Points, v.New = append(v.Points[:len(v.Points):len(v.Points)], p), p.Why
	return v
}
