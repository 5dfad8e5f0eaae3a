package proxy

import (
	"container/list"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/trim"
)

const (
	maxConversations = 1000
	maxRemembered    = 20_000 // shortened results that are remembered for each conversation
)

// conversation holds what is known of one conversation. The lock of conversations guards its fields. The lock of the cache state
// guards the field cache.
type conversation struct {
	id  string
	key string // the agent's name for it; empty: it is recognised by its first messages

	// Of the newest request:
	end       uint64 // chain.last
	length    int    // len(chain.links)
	system    uint64
	hasAnswer bool

	inFlight  int
	last      *record.Request // the newest one with usage; it does not change
	asked     bool            // it has a request that does more than count tokens
	reads     int             // the most reads that one request had
	shortened map[string]bool // by partOf: results whose Trim is recorded
	warned    map[cause]bool  // causes that were already logged as a warning
	toolSet   uint64          // record.ToolSet.ID recorded last
	calls     map[string]int  // calls of each tool, as recorded
	place     *list.Element

	cache cachestate.Conversation
}

// partOf returns a key that differs for a call's result and for its arguments.
func partOf(callID string, r trim.Reason) string {
	callID = limits.Clip(callID, limits.Name)
	if r == trim.Arguments {
		return callID + "\x00arguments"
	}
	return callID
}

// unrecorded returns the trims that were not recorded before. They share no memory with the request.
func (v *conversation) unrecorded(trims []record.Trim) []record.Trim {
	fresh := trims[:0]
	for _, t := range trims {
		key := partOf(t.CallID, trim.Reason(t.Reason))
		if v.shortened[key] {
			continue
		}
		if v.shortened == nil || len(v.shortened) >= maxRemembered {
			v.shortened = map[string]bool{}
		}
		t.CallID, t.Paths = strings.Clone(t.CallID), slices.Clone(t.Paths)
		for i, path := range t.Paths {
			t.Paths[i] = strings.Clone(path)
		}
		v.shortened[strings.Clone(key)] = true
		fresh = append(fresh, t)
	}
	return fresh
}
