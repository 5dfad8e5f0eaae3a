package proxy

import (
	"container/list"
	"slices"
	"strings"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/cachestate"
	"github.com/stet-dev/stet/record"
)

const (
	maxConversations = 1000
	maxRemembered    = 20_000 // shortened results that a conversation remembers
)

// conversation is what is known of one conversation. Its fields belong to the lock of
// conversations; cache to that of the cache state.
type conversation struct {
	id  string
	key string // by which the agent names it; empty: it is told by its beginning

	// Of the newest request:
	end       uint64 // chain.last
	length    int    // len(chain.links)
	system    uint64
	hasAnswer bool

	inFlight  int
	asked     bool            // not only to count tokens
	reads     int             // in the request that had most
	shortened map[string]bool // by partOf: whose Trim is recorded
	warned    map[cause]bool  // causes of passing through that were logged
	toolSet   uint64          // record.ToolSet.ID that was recorded last
	calls     map[string]int  // of each tool, as they were recorded
	place     *list.Element

	cache cachestate.Conversation
}

// partOf is a key that tells a call's result from its arguments.
func partOf(callID string, r history.Reason) string {
	if r == history.Arguments {
		return callID + "\x00arguments"
	}
	return callID
}

// unrecorded returns those of trims that were not recorded before. They share no memory with the
// request.
func (v *conversation) unrecorded(trims []record.Trim) []record.Trim {
	fresh := trims[:0]
	for _, trim := range trims {
		key := partOf(trim.CallID, history.Reason(trim.Reason))
		if v.shortened[key] {
			continue
		}
		if v.shortened == nil || len(v.shortened) >= maxRemembered {
			v.shortened = map[string]bool{}
		}
		trim.CallID, trim.Paths = strings.Clone(trim.CallID), slices.Clone(trim.Paths)
		for i, path := range trim.Paths {
			trim.Paths[i] = strings.Clone(path)
		}
		v.shortened[strings.Clone(key)] = true
		fresh = append(fresh, trim)
	}
	return fresh
}
