package proxy

import (
	"container/list"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/stet-dev/stet/internal/prefix"
	"github.com/stet-dev/stet/record"
)

// table holds the newest conversations.
type table struct {
	max int

	mu     sync.Mutex
	order  *list.List // of *conversation, newest first
	byKey  map[string]*conversation
	byEnd  map[uint64][]*conversation // those without a key
	totals Totals                     // forgotten conversations included
}

func newTable(max int) *table {
	return &table{
		max: max, order: list.New(),
		byKey: map[string]*conversation{}, byEnd: map[uint64][]*conversation{},
	}
}

// enter returns the conversation that a request belongs to, and counts it as
// being in flight until leave. key is the agent's own name for it, with API
// and sub-agent; empty where there is none. Then a conversation that is not known
// here has the name that earlier tells, if any.
func (t *table) enter(key, id string, c *prefix.Chain, earlier func() string) *conversation {
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

// find returns the conversation whose newest request is the longest beginning
// of c, nil if there is none.
func (t *table) find(c *prefix.Chain) *conversation {
	for i := len(c.Links) - 1; i >= c.User; i-- {
		var other *conversation
		for _, v := range t.byEnd[c.Links[i]] {
			switch {
			case v.length != i+1:
			case i == len(c.Links)-1 && v.inFlight > 0:
				// The same request twice at once is no retry: somebody else
				// begins with the same words.
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

// leave counts a request of v, which may be nil, as done. It keeps of trims
// only those that were not recorded before, as news does.
func (t *table) leave(v *conversation, row *record.Request, trims []record.Trim) []record.Trim {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := trims
	if v != nil {
		v.inFlight--
		fresh = v.news(trims)
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

// through counts a request to no API.
func (t *table) through(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals.through(path)
}

// firstWarning reports whether v was not yet warned of why, and marks it.
func (t *table) firstWarning(v *conversation, why cause) bool {
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

// counted returns what is known of the tokens of c's beginning: the number of
// links counted, and their tokens, the system text included. 0, 0 is nothing.
func (t *table) counted(v *conversation, c *prefix.Chain, model string) (links, tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := v.counted
	if k.length == 0 || k.length > len(c.Links) || k.model != model || k.system != c.System || c.Links[k.length-1] != k.end {
		return 0, 0
	}
	return k.length, k.tokens
}

// setCounted remembers the tokens of all of c.
func (t *table) setCounted(v *conversation, c *prefix.Chain, model string, tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.counted = count{c.Last(), len(c.Links), c.System, model, tokens}
}

// saved returns the tokens that shortening the result of a call saves, if a
// saving like this one is known.
func (t *table) saved(v *conversation, call string, like saving) (tokens int, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := v.savings[call]
	like.tokens = s.tokens
	return s.tokens, s == like
}

// setSaved remembers what shortening the result of a call saves.
func (t *table) setSaved(v *conversation, call string, s saving) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.savings == nil || len(v.savings) >= maxRemembered {
		v.savings = map[string]saving{}
	}
	v.savings[strings.Clone(call)] = s
}

// sums returns the totals since the start.
func (t *table) sums() Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totals.clone()
}
