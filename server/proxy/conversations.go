package proxy

import (
	"container/list"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/server/proxy/prefix"
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
	last      *record.Left    // of the newest request with usage
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

// conversations holds the newest conversations and finds the conversation of a request.
type conversations struct {
	max int

	mu     sync.Mutex
	order  *list.List // of *conversation, newest first
	byKey  map[string]*conversation
	byEnd  map[uint64][]*conversation // conversations without a key, by the hash of their newest request
	totals Totals                     // of all conversations, including forgotten ones
}

func newConversations(max int) *conversations {
	return &conversations{
		max: max, order: list.New(),
		byKey: map[string]*conversation{}, byEnd: map[uint64][]*conversation{},
	}
}

// enter returns the conversation of a request and counts the request as in flight until leave is called. id is the agent's name
// for the conversation, and key is this name with the API and the sub-agent. Both are empty if the agent sends no name.
// Then a conversation that is new to this process gets its name from earlier: an earlier process may have known it.
func (t *conversations) enter(key, id string, c *prefix.Chain, earlier func() string) *conversation {
	t.mu.Lock()
	defer t.mu.Unlock()
	var v *conversation
	if key != "" {
		v = t.byKey[key]
	} else {
		v = t.find(c)
	}
	if v == nil {
		if key == "" {
			id = earlier()
		}
		if id == "" {
			id = uuid.Must(uuid.NewV7()).String()
		}
		v = &conversation{id: id, key: key}
		v.place = t.order.PushFront(v)
		if key != "" {
			t.byKey[key] = v
		}
	} else {
		t.order.MoveToFront(v.place)
		t.unlink(v)
	}
	v.end, v.length, v.system = c.Last(), len(c.Links), c.System
	v.hasAnswer = c.Answer < len(c.Links)
	if key == "" && c.User < len(c.Links) {
		t.byEnd[v.end] = append(t.byEnd[v.end], v)
	}
	v.inFlight++
	for t.order.Len() > t.max {
		t.forget(t.order.Back().Value.(*conversation))
	}
	return v
}

// find returns the conversation whose newest request is the longest beginning of c, or nil.
func (t *conversations) find(c *prefix.Chain) *conversation {
	for i := len(c.Links) - 1; i >= c.User; i-- {
		var other *conversation
		for _, v := range t.byEnd[c.Links[i]] {
			switch {
			case v.length != i+1:
			case i == len(c.Links)-1 && v.inFlight > 0:
				// Two equal requests in flight at once are no retry: they are two conversations that begin with the same words.
			case v.system == c.System:
				return v
			case v.hasAnswer && other == nil:
				other = v
			}
		}
		if other != nil {
			return other
		}
	}
	return nil
}

// unlink removes v from byEnd.
func (t *conversations) unlink(v *conversation) {
	same := t.byEnd[v.end]
	for i, w := range same {
		if w == v {
			same = append(same[:i:i], same[i+1:]...)
			break
		}
	}
	if len(same) == 0 {
		delete(t.byEnd, v.end)
	} else {
		t.byEnd[v.end] = same
	}
}

// forget drops v. Requests of v that are in flight are still counted when they end.
func (t *conversations) forget(v *conversation) {
	t.order.Remove(v.place)
	t.unlink(v)
	if t.byKey[v.key] == v {
		delete(t.byKey, v.key)
	}
}

// leave counts a request of v as done. v may be nil. It returns the trims that were not recorded before.
func (t *conversations) leave(v *conversation, row *record.Request, trims []record.Trim) []record.Trim {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := trims
	if v != nil {
		v.inFlight--
		fresh = v.unrecorded(trims)
		if row.API != record.CountTokens {
			if !v.asked {
				v.asked = true
				t.totals.Conversations++
			}
			if more := row.Reads - v.reads; more > 0 {
				v.reads += more
				t.totals.Reads += more
			}
		}
	}
	t.totals.add(row, fresh)
	return fresh
}

// before returns what the request before row has left in the conversation v, which may be nil, and remembers row for the next one.
func (t *conversations) before(v *conversation, row *record.Request) (last *record.Left) {
	if v == nil || row.API == record.CountTokens || row.Usage.Prompt() == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last, v.last = v.last, row.Leaves()
	return last
}

// count changes the totals.
func (t *conversations) count(change func(*Totals)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.totals)
}

// firstWarning reports whether this is the first warning of v for this cause, and marks the cause as warned.
func (t *conversations) firstWarning(v *conversation, why cause) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.warned[why] {
		return false
	}
	if v.warned == nil {
		v.warned = map[cause]bool{}
	}
	v.warned[why] = true
	return true
}

// sums returns the totals since the start.
func (t *conversations) sums() Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totals.clone()
}
