package proxy

import (
	"container/list"
	"hash/maphash"
	"sync"

	"github.com/google/uuid"

	"github.com/stet-dev/stet/record"
)

const (
	maxConversations = 1000
	maxRemembered    = 20_000 // call ids that a conversation remembers as shortened
)

// conversation is what is known of one conversation. Its fields belong to the
// table's lock.
type conversation struct {
	id  string
	key string // by which the agent names it; empty: told by its chain

	// Of the newest request:
	end       uint64 // chain.last
	length    int    // len(chain.links)
	system    uint64
	hasAnswer bool

	inFlight  int
	counted   count
	sums      record.Conversation
	shortened map[string]bool // call ids whose Trim is recorded
	warned    map[string]bool // causes of passing through that were logged
	place     *list.Element
}

// count is how many tokens the beginning of a conversation has.
type count struct {
	end    uint64 // the link up to which was counted
	length int    // its index + 1
	system uint64
	model  string
	tokens int
}

// table holds the newest conversations.
type table struct {
	seed maphash.Seed
	max  int

	mu     sync.Mutex
	order  *list.List // of *conversation, newest first
	byKey  map[string]*conversation
	byEnd  map[uint64][]*conversation // those without a key
	totals record.Totals              // of all requests, forgotten conversations included
}

func newTable(max int) *table {
	return &table{
		seed: maphash.MakeSeed(), max: max, order: list.New(),
		byKey: map[string]*conversation{}, byEnd: map[uint64][]*conversation{},
	}
}

// enter returns the conversation that a request belongs to, and counts it as
// being in flight until leave. key is the agent's own name for it, with API
// and sub-agent; empty where there is none.
func (t *table) enter(key, id string, c *chain) *conversation {
	t.mu.Lock()
	defer t.mu.Unlock()
	var v *conversation
	if key != "" {
		v = t.byKey[key]
	} else {
		v = t.find(c)
	}
	if v == nil {
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
	v.end, v.length, v.system = c.last(), len(c.links), c.system
	v.hasAnswer = c.answer < len(c.links)
	if key == "" && c.user < len(c.links) {
		t.byEnd[v.end] = append(t.byEnd[v.end], v)
	}
	v.inFlight++
	for t.order.Len() > t.max {
		t.forget(t.order.Back().Value.(*conversation))
	}
	return v
}

// find returns the conversation whose newest request is the longest beginning
// of c, nil if there is none.
func (t *table) find(c *chain) *conversation {
	for i := len(c.links) - 1; i >= c.user; i-- {
		var other *conversation
		for _, v := range t.byEnd[c.links[i]] {
			switch {
			case v.length != i+1:
			case i == len(c.links)-1 && v.inFlight > 0:
				// The same request twice at once is no retry: somebody else
				// begins with the same words.
			case v.system == c.system:
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

// unlink takes v out of byEnd.
func (t *table) unlink(v *conversation) {
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

// forget drops v. A request of it that is in flight is counted all the same.
func (t *table) forget(v *conversation) {
	t.order.Remove(v.place)
	t.unlink(v)
	if t.byKey[v.key] == v {
		delete(t.byKey, v.key)
	}
}
