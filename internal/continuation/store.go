package continuation

import (
	"bytes"
	"container/list"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// overhead is about how many bytes a node or an entry takes besides its texts.
const overhead = 200

// Store holds conversations by the ids of their answers, in bounded memory: those that were used least
// lately leave first. Items at the beginning that conversations have in common are held once. Its methods may
// be called concurrently.
type Store struct {
	max int64

	mu    sync.Mutex
	size  int64
	order *list.List // of *entry, the one that was used last first
	byID  map[string]*list.Element
	nodes map[xxh3.Uint128]*node // by their own texts and all before
}

// entry is a conversation up to an answer.
type entry struct {
	id   string
	last *node
}

// node is an item of a conversation, and leads to those before it. The first node of
// a conversation whose Shape Keeps is no item but the rest of the body. Nodes do not change; users belongs to
// the lock of the Store.
type node struct {
	before *node
	hash   xxh3.Uint128
	came   []byte // as the client sees it
	went   []byte // as the provider has it; nil: the same
	cut    int    // of the rest of a body: where the items stand
	root   bool   // it is the rest of a body
	users  int    // nodes and entries that lead to it
}

// New returns a Store that holds so many bytes. It holds nothing where max is not positive.
func New(max int64) *Store {
	return &Store{max: max, order: list.New(), byID: map[string]*list.Element{}, nodes: map[xxh3.Uint128]*node{}}
}

// Continue returns the turn of a request that goes on from the answer id with items that are new.
// It is nil if that answer is not held. body is kept, not copied.
func (s *Store) Continue(shape Shape, id string, body []byte) (*Turn, error) {
	s.mu.Lock()
	e := s.byID[id]
	if e == nil {
		s.mu.Unlock()
		return nil, nil
	}
	s.order.MoveToFront(e)
	last := e.Value.(*entry).last // nodes do not change: what is found is whole even if it leaves the Store
	s.mu.Unlock()
	return shape.continued(body, last)
}

// Hold holds a conversation up to the answer id. t is the request that was answered, sent its body
// as it went upstream, and answer the items of the answer. All is copied. An error means that sent is not
// the request with other texts; then nothing is held. Neither is a conversation that would take more than half of
// the memory.
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
	if last == nil { // there are no items yet: some clients begin so
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

// grow returns the node that is equal to n, which it holds if it is new. The texts of n are copied. The
// caller holds the lock, and leads to what is returned.
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

// restore holds a node and those before it again, where they have left since they were found. The
// caller holds the lock.
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

// drop forgets an entry, and the nodes that nothing else leads to. The caller holds the lock.
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

// sum hashes a node with all before it. It tells nodes apart that are likely the same; equal is the
// proof.
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

// path lists the items up to n, the oldest first.
func (n *node) path() (items []*node) {
	for ; n != nil && !n.root; n = n.before {
		items = append(items, n)
	}
	slices.Reverse(items)
	return items
}

// frame is what stands around the items in the body that the conversation began with.
func (n *node) frame() (head, tail []byte) {
	for n != nil && !n.root {
		n = n.before
	}
	if n == nil {
		return nil, nil
	}
	return n.came[:n.cut], n.came[n.cut:]
}
