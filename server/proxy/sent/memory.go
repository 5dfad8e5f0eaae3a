package sent

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

const (
	maxMemory = 16 << 20 // limit of bytes of forms and places
	placeSize = 250      // bytes of a place
	maxPlaces = 4000     // limit of a request's places, the newest, that a store is asked for at once
)

// Memory has the newest forms. Its methods may be called concurrently.
type Memory struct {
	store record.Store // for forms that are not in memory; nil: none

	mu     sync.Mutex
	size   int64
	places map[uint64][]*placed // the newest first
	order  *list.List           // of *placed, the most recently used first
}

// placed is a place with one of the forms in which its messages were sent.
type placed struct {
	record.SentPlace
	form   *Form
	at     *list.Element
	loaded bool // from the store, which knows the first use of some places alone
}

// NewMemory returns an empty Memory.
func NewMemory(store record.Store) *Memory {
	return &Memory{store: store, places: map[uint64][]*placed{}, order: list.New()}
}

// Known says in which form the first Messages of a request were sent.
type Known struct {
	Messages int
	Form     *Form
	Signed   bool      // a signature identified it
	Same     bool      // the messages are those that were sent; otherwise the client may have changed some of them
	Bound    bool      // there was thinking in these messages, or directly after them
	Drops    bool      // they were sent with a request to drop thinking that was signed after other content
	Time     time.Time // they were sent, or answered, last
	Loaded   bool      // another process may have sent them later too
	News     bool      // memory did not know this before the store was asked for this request
}

// known returns what a place says about the messages before it.
func (p *placed) known(messages int, signed, same bool) Known {
	return Known{Messages: messages, Form: p.form, Signed: signed, Same: same, Bound: p.Bound || signed, Drops: p.Drops, Time: p.Time, Loaded: p.loaded}
}

// AnyKey is the key of Under for all keys.
const AnyKey = 0

// LookUp asks the store for the places of a request, once, unless memory knows its newest answer, or nothing before that answer can have
// been changed. fresh: the store is asked in any case. An error says that the lookup was incomplete.
func (m *Memory) LookUp(ctx context.Context, c *Conversation, fresh bool) error {
	answers := c.answers
	if m.store == nil || len(answers) == 0 || !fresh && (c.lookedUp || len(answers) == 1 && c.chain.Answer > 0 || m.has(c, answers[:1])) {
		return nil
	}
	return m.load(ctx, c, answers)
}

// Under returns in which forms the beginnings of a request were sent under a cache key, the longest beginning first: for each epoch the
// longest, and shorter ones that were sent later. It searches memory alone: see LookUp.
func (m *Memory) Under(c *Conversation, key uint64) (found []Known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range c.answers {
		for _, p := range m.places[c.placeBefore(i)] {
			if key != AnyKey && p.Key != key {
				continue
			}
			epoch := p.form.Epoch()
			if !slices.ContainsFunc(found, func(k Known) bool { return k.Form.Epoch() == epoch && !p.Time.After(k.Time) }) {
				m.order.MoveToFront(p.at)
				known := p.known(i, false, true)
				known.News = c.news[p.SentPlace]
				found = append(found, known)
			}
			break
		}
	}
	return found
}

// Knows reports whether memory knows how the messages before an answer in a request were sent.
func (m *Memory) Knows(c *Conversation) bool { return m.has(c, c.answers) }

// has reports whether memory knows the place of one of these answers.
func (m *Memory) has(c *Conversation, answers []int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(answers, func(i int) bool { return len(m.places[c.placeBefore(i)]) > 0 })
}

// Used records that a request was sent or answered: the provider's cache has all of its beginnings again that were sent alike.
func (m *Memory) Used(s *Outgoing, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, place := range s.covered {
		for _, p := range m.places[place] {
			if p.Key == s.Key && s.Form.Epoch() == p.form.Epoch() && at.After(p.Time) {
				p.Time, p.loaded = at, false
			}
		}
	}
}

// Find returns the forms in which the beginning of a request may have been sent, the most likely first. They are the forms of the
// last known answer in it; none if no answer is known. An error says that the lookup was incomplete.
func (m *Memory) Find(ctx context.Context, c *Conversation) ([]Known, error) {
	answers := c.answers
	if len(answers) == 0 {
		return nil, nil
	}
	found := m.find(c, answers)
	if m.store == nil || c.lookedUp || len(found) > 0 && found[0].Signed && found[0].Messages == answers[0] {
		return found, nil
	}
	if signed, _ := c.places(answers[0]); len(signed) == 0 && len(found) == 1 && found[0].Messages == answers[0] {
		return found, nil // no signature could add information
	}
	err := m.load(ctx, c, answers)
	return m.find(c, answers), err
}

// find searches memory. answers are in search order: the last answer first.
func (m *Memory) find(c *Conversation, answers []int) (found []Known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range answers {
		signed, request := c.places(i)
		asked := m.places[request]
		for _, place := range signed {
			same := m.places[place]
			if len(same) == 0 {
				continue
			}
			if len(found) > 0 { // an older answer decides between the forms of a newer one
				return prefer(found, func(f *Form) bool { return f.adds(same[0].form) })
			}
			for _, p := range same {
				m.order.MoveToFront(p.at)
				found = append(found, p.known(i, true, len(asked) > 0))
			}
			return prefer(found, func(f *Form) bool { // the signature may not be unique
				return slices.ContainsFunc(asked, func(p *placed) bool { return p.form.identity() == f.identity() })
			})
		}
		if len(found) == 0 {
			for _, p := range asked {
				m.order.MoveToFront(p.at)
				found = append(found, p.known(i, false, true))
			}
			if len(found) == 1 {
				return found
			}
		}
	}
	return found
}

// identity returns the id of a form; 0 for nil.
func (f *Form) identity() uint64 {
	if f == nil {
		return 0
	}
	return f.id
}

// prefer moves the forms for which first holds before the others.
func prefer(found []Known, first func(*Form) bool) (sorted []Known) {
	var others []Known
	for _, k := range found {
		if first(k.Form) {
			sorted = append(sorted, k)
		} else {
			others = append(others, k)
		}
	}
	return append(sorted, others...)
}

// load loads the places of some answers from the store.
func (m *Memory) load(ctx context.Context, c *Conversation, answers []int) error {
	var all []uint64
	exact := map[uint64]bool{}
	for _, i := range answers {
		signed, request := c.places(i)
		all = append(all, request)
		for _, place := range signed {
			all, exact[place] = append(all, place), true
		}
		if len(all) > maxPlaces {
			break
		}
	}
	c.lookedUp = true
	at, rows, err := m.store.SentForms(ctx, all)
	if err != nil {
		return fmt.Errorf("look up sent edits: %w", err)
	}
	if len(at) == 0 {
		return nil
	}
	byID := make(map[uint64]record.SentForm, len(rows))
	for _, f := range rows {
		byID[f.ID] = f
	}
	forms := map[uint64]*Form{}
	if c.news == nil {
		c.news = map[record.SentPlace]bool{}
	}
	slices.SortStableFunc(at, func(a, b record.SentPlace) int {
		if exact[a.Place] != exact[b.Place] { // the place that is added last is kept longest
			if exact[a.Place] {
				return -1
			}
			return 1
		}
		return newestFirst(a, b)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range slices.Backward(at) { // the oldest first, and places of signatures last
		form, broken := chained(p.Form, byID, forms)
		if broken != nil {
			err = broken // the other places still count
			continue
		}
		if now, news := m.put(p, form, true); news {
			c.news[now] = true
		}
	}
	return err
}

// chained builds a form and its parents from their rows.
func chained(id uint64, rows map[uint64]record.SentForm, made map[uint64]*Form) (*Form, error) {
	var todo []record.SentForm
	for id != 0 && made[id] == nil {
		row, ok := rows[id]
		if !ok || len(todo) > len(rows) {
			return nil, errSealed
		}
		todo = append(todo, row)
		id = row.Parent
	}
	parent := made[id]
	for _, row := range slices.Backward(todo) {
		edits, err := unpack(row.Edits)
		if err != nil {
			return nil, err
		}
		parent = (&Form{id: row.ID, parent: parent, edits: edits, size: int64(len(row.Edits)), stored: true}).inEpoch()
		made[row.ID] = parent
	}
	return parent, nil
}

// put adds a place. It returns what is known of it now, and whether that is news. The caller holds the lock.
func (m *Memory) put(p record.SentPlace, form *Form, loaded bool) (now record.SentPlace, news bool) {
	same := m.places[p.Place]
	known := record.SentPlace{}
	for i, old := range same {
		if old.Key != p.Key {
			continue
		}
		if p.Add(old.SentPlace); p.Form == old.Form {
			form, loaded = old.form, loaded && old.loaded
		}
		known = old.SentPlace
		same = slices.Delete(slices.Clone(same), i, i+1)
		m.order.Remove(old.at)
		m.release(old.form)
		m.size -= placeSize
		break
	}
	n := &placed{SentPlace: p, form: form, loaded: loaded}
	n.at = m.order.PushFront(n)
	m.retain(form)
	m.size += placeSize
	same = append(same[:len(same):len(same)], n)
	slices.SortStableFunc(same, func(a, b *placed) int { return newestFirst(a.SentPlace, b.SentPlace) })
	m.places[p.Place] = same
	for m.size > maxMemory {
		m.drop(m.order.Back().Value.(*placed))
	}
	return p, p != known
}

// drop forgets a place. The caller holds the lock.
func (m *Memory) drop(p *placed) {
	m.order.Remove(p.at)
	m.size -= placeSize
	if left := slices.DeleteFunc(slices.Clone(m.places[p.Place]), func(q *placed) bool { return q == p }); len(left) > 0 {
		m.places[p.Place] = left
	} else {
		delete(m.places, p.Place)
	}
	m.release(p.form)
}

// retain increments the users of a form; release decrements them. The caller holds the lock.
func (m *Memory) retain(f *Form) {
	for ; f != nil; f = f.parent {
		if f.users++; f.users > 1 {
			return
		}
		m.size += f.size
	}
}

func (m *Memory) release(f *Form) {
	for ; f != nil; f = f.parent {
		if f.users--; f.users > 0 {
			return
		}
		m.size -= f.size
	}
}

// Edits returns the edits of a form in the first n messages, in order, and for how many calls the provider was asked to clear the
// results. If an edit cannot be read, Edits returns an error, because its part would be sent in another way than before.
func (m *Memory) Edits(f *Form, c *Conversation, n int) (out []Edit, cleared int, err error) {
	if f == nil {
		return nil, 0, nil
	}
	parts := c.listed()
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[uint64]*Form{} // the newest form with an edit of the part
	for ; f != nil; f = f.parent {
		for key := range f.edits {
			if all[key] == nil {
				all[key] = f
			}
		}
	}
	calls := 0
	for _, at := range parts {
		if at.message >= n {
			break
		}
		if c.at(at).Kind == llm.ToolCall {
			calls++
		} else if all[at.key^clearedMark] != nil {
			cleared = calls
		}
		from := all[at.key]
		if from == nil {
			continue
		}
		v := from.edits[at.key]
		if v.sealed != nil {
			if err := v.open(c.at(at)); err != nil {
				return nil, 0, err
			}
			from.edits[at.key] = v
		}
		out = append(out, Edit{llm.Edit{Message: at.message, Part: at.part, Text: v.text}, v.reason})
	}
	return out, cleared, nil
}

// Later reports whether a form has edits of the messages of c from message n on.
func (m *Memory) Later(f *Form, c *Conversation, n int) bool {
	if f == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range slices.Backward(c.listed()) {
		if at.message < n {
			break
		}
		for g := f; g != nil; g = g.parent {
			if _, ok := g.edits[at.key]; ok {
				return true
			}
		}
	}
	return false
}

// Outgoing is a request that is sent upstream in a form.
type Outgoing struct {
	Form  *Form
	Bound bool   // it contains thinking
	Drops bool   // it asks to drop thinking that was signed after other content
	Key   uint64 // of the cache; 0: thinking is checked, and each form has its own place
	From  int    // the places of the answers from this message on are written too
	Anew  bool   // so are those of the signatures in these answers

	place   uint64   // the place of its answer
	before  []uint64 // places of the last answer in it
	covered []uint64 // the places of all answers in it
}

// Note records how all messages of a request are sent upstream. It returns the rows to store, and a function to call once they are
// stored.
func (m *Memory) Note(s *Outgoing, c *Conversation, now time.Time) (b record.Batch, kept func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.place, s.before = ofRequest(c.chain.Last()), nil
	if last := c.Last(); last > c.chain.Skip {
		signed, request := c.places(last)
		s.before = append(signed, request)
	}
	f := s.Form
	for _, i := range c.answers {
		place := c.placeBefore(i)
		s.covered = append(s.covered, place)
		if i < s.From {
			continue
		}
		b.Places = append(b.Places, m.note(s, place, now))
		if s.Anew {
			signed, _ := c.places(i)
			for _, place := range signed {
				b.Places = append(b.Places, m.note(s, place, now))
			}
		}
	}
	b.Places = append(b.Places, m.note(s, s.place, now))
	s.covered = append(s.covered, s.place)
	var forms []*Form
	for ; f != nil && !f.stored; f = f.parent {
		forms = append(forms, f)
	}
	for _, f := range slices.Backward(forms) {
		if err := f.pack(c); err != nil {
			return record.Batch{}, func() {} // it cannot be stored, but memory has it
		}
		b.Forms = append(b.Forms, record.SentForm{ID: f.id, Parent: f.parent.identity(), Edits: f.packed})
	}
	return b, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, f := range forms {
			f.stored, f.packed = true, nil
		}
	}
}

// pack makes the edits of a form ready to be stored. c has the parts that they replace.
func (f *Form) pack(c *Conversation) error {
	if f.packed != nil {
		return nil
	}
	var packed []byte
	left := len(f.edits)
	for key, v := range f.edits {
		if v.plain != nil {
			packed, left = pack(packed, key, v.plain), left-1
		}
	}
	for _, at := range c.listed() {
		for _, key := range []uint64{at.key, at.key ^ clearedMark} {
			v, ok := f.edits[key]
			if !ok {
				continue
			}
			sealed, err := v.seal(c.at(at))
			if err != nil {
				return err
			}
			packed, left = pack(packed, key, sealed), left-1
		}
	}
	if left > 0 {
		return errSealed
	}
	f.packed = packed
	return nil
}

// Answered records that the answer to a request made thinking with this signature. It returns the rows to store.
func (m *Memory) Answered(s *Outgoing, signature string, now time.Time) (rows []record.SentPlace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.Bound { // the client may leave this thinking out, and send it again later
		s.Bound = true
		rows = append(rows, m.note(s, s.place, now))
	}
	if place, ok := ofSignature(signature); ok {
		rows = append(rows, m.note(s, place, now))
	}
	return rows
}

// Taken records that the provider accepted a request after it had refused the same messages in another form. drops says that the
// request asked to drop thinking. A request that continues from the same answer is then sent in the same way. It returns the rows
// to store.
func (m *Memory) Taken(s *Outgoing, drops bool, now time.Time) (rows []record.SentPlace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Drops = s.Drops || drops
	for _, place := range append(s.before, s.place) {
		rows = append(rows, m.note(s, place, now))
	}
	return rows
}

// note records a place of a request. The last sent request is the newest, even within one clock tick or after the clock was set
// back. The caller holds the lock.
func (m *Memory) note(s *Outgoing, place uint64, now time.Time) record.SentPlace {
	p := record.SentPlace{Place: place, Key: s.Key, Form: s.Form.identity(), Time: now, Bound: s.Bound, Drops: s.Drops}
	if p.Key == 0 {
		p.Key = p.Form
	}
	for _, other := range m.places[place] {
		if !p.Time.After(other.Time) {
			p.Time = other.Time.Add(time.Microsecond)
		}
	}
	m.put(p, s.Form, false)
	return p
}
