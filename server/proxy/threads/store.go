package threads

import (
	"bytes"
	"container/list"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// overhead is the approximate number of bytes of a node or an entry besides its texts.
const overhead = 200

// Store has conversations by the ids of their answers, in bounded memory: the least recently used leave first. Conversations share
// the items at their common beginning. Its methods may be called concurrently.
type Store struct {
	max int64

	mu    sync.Mutex
	size  int64
	order *list.List // of *entry, the most recently used first
	byID  map[string]*list.Element
	nodes map[xxh3.Uint128]*node // by the hash of their text and all earlier texts
}

// entry is a conversation up to an answer.
type entry struct {
	id   string
	last *node
}

// node is an item of a conversation, with a link to the earlier items. If the Shape Keeps, the first node of a conversation is not
// an item but the rest of the body. Nodes do not change, except users, which the Store's lock guards.
type node struct {
	before *node
	hash   xxh3.Uint128
	came   []byte // text from the client
	went   []byte // text sent to the provider; nil: the same
	cut    int    // in the rest of a body: the offset of the items
	root   bool   // it is the rest of a body
	users  int    // number of nodes and entries that refer to it
}

// New returns a Store of at most max bytes. If max is not positive, it stores nothing.
func New(max int64) *Store {
	return &Store{max: max, order: list.New(), byID: map[string]*list.Element{}, nodes: map[xxh3.Uint128]*node{}}
}

// Continue returns the turn of a request that continues from the answer id with new items. It returns nil if that answer is not
// stored. body is kept, not copied.
func (s *Store) Continue(shape Shape, id string, body []byte) (*Turn, error) {
	s.mu.Lock()
	e := s.byID[id]
	if e == nil {
		s.mu.Unlock()
		return nil, nil
	}
	s.order.MoveToFront(e)
	last := e.Value.(*entry).last // nodes do not change: the path stays whole even if the Store drops it
	s.mu.Unlock()
	return shape.continued(body, last)
}

// Hold stores a conversation up to the answer id. t is the answered request, sent its body as it was sent upstream, and answer the
// items of the answer. All data is copied. An error means that sent differs from the request in more than texts; then nothing is
// stored. A conversation that would take more than half of the memory is not stored either.
func (s *Store) Hold(id string, t *Turn, sent []byte, answer ...[]byte) error {
	came, went, err := t.held(sent)
	if err != nil {
		return err
	}
	size := int64(len(t.Body))
	for _, item := range answer {
		size += int64(len(item))
	}
	if size > s.max/2 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := t.before
	if last != nil {
		last = s.restore(last)
	} else if t.shape.Keeps {
		head, tail := t.frame()
		last = s.grow(&node{root: true, cut: len(head), came: append(slices.Clone(head), tail...)})
	}
	for i := range came {
		n := &node{before: last, came: came[i]}
		if !bytes.Equal(came[i], went[i]) {
			n.went = went[i]
		}
		last = s.grow(n)
	}
	for _, item := range answer {
		last = s.grow(&node{before: last, came: item})
	}
	if last == nil { // there are no items yet: some clients begin this way
		last = s.grow(&node{root: true})
	}
	last.users++
	if old := s.byID[id]; old != nil {
		s.drop(old)
	}
	s.byID[id] = s.order.PushFront(&entry{id, last})
	s.size += overhead + int64(len(id))
	for s.size > s.max && s.order.Len() > 0 {
		s.drop(s.order.Back())
	}
	return nil
}

// grow returns the stored node that equals n, and stores n if there is none. The texts of n are copied. The caller holds the lock,
// and adds a reference to the result.
func (s *Store) grow(n *node) *node {
	n.hash = n.sum()
	if held := s.nodes[n.hash]; held != nil && held.equal(n) {
		return held
	}
	n.came, n.went = bytes.Clone(n.came), bytes.Clone(n.went)
	s.add(n)
	return n
}

// add holds a node. The caller holds the lock.
func (s *Store) add(n *node) {
	s.nodes[n.hash] = n
	s.size += n.weight()
	if n.before != nil {
		n.before.users++
	}
}

// restore stores a node and the earlier ones again, if they were dropped since they were found. The caller holds the lock.
func (s *Store) restore(n *node) *node {
	if s.nodes[n.hash] == n {
		return n
	}
	again := *n
	again.users = 0
	if again.before != nil {
		again.before = s.restore(again.before)
	}
	return s.grow(&again)
}

// drop removes an entry, and the nodes without another reference. The caller holds the lock.
func (s *Store) drop(e *list.Element) {
	gone := s.order.Remove(e).(*entry)
	delete(s.byID, gone.id)
	s.size -= overhead + int64(len(gone.id))
	for n := gone.last; n != nil; n = n.before {
		if n.users--; n.users > 0 {
			return
		}
		if s.nodes[n.hash] == n {
			delete(s.nodes, n.hash)
		}
		s.size -= n.weight()
	}
}

func (n *node) weight() int64 { return overhead + int64(len(n.came)+len(n.went)) }

// sum hashes a node with all earlier nodes. Equal hashes mean probably equal nodes; equal compares them.
func (n *node) sum() xxh3.Uint128 {
	var h xxh3.Hasher
	if n.before != nil {
		b := n.before.hash.Bytes()
		_, _ = h.Write(b[:]) // a Hasher returns no errors
	}
	for _, text := range [][]byte{n.came, n.went} {
		_, _ = h.Write([]byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), byte(len(text) >> 24)})
		_, _ = h.Write(text)
	}
	return h.Sum128()
}

func (n *node) equal(m *node) bool {
	return n.before == m.before && n.root == m.root && n.cut == m.cut && bytes.Equal(n.came, m.came) && bytes.Equal(n.went, m.went)
}

func (n *node) asSent() []byte {
	if n.went != nil {
		return n.went
	}
	return n.came
}

// path returns the items up to n, the oldest first.
func (n *node) path() (items []*node) {
	for ; n != nil && !n.root; n = n.before {
		items = append(items, n)
	}
	slices.Reverse(items)
	return items
}

// frame returns the text around the items in the body that began the conversation.
func (n *node) frame() (head, tail []byte) {
	for n != nil && !n.root {
		n = n.before
	}
	if n == nil {
		return nil, nil
	}
	return n.came[:n.cut], n.came[n.cut:]
}
