package sentform

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
	maxMemory = 16 << 20 // bytes of forms and places that are held
	placeSize = 250      // bytes of a place
	maxPlaces = 4000     // of a request, the newest, that a store is asked for at once
)

// Memory holds the newest forms. Its methods may be called concurrently.
type Memory struct {
	store record.Store // that others are looked up in; nil: there is none

	mu     sync.Mutex
	size   int64
	places map[uint64][]*placed // the newest first
	order  *list.List           // of *placed, the newest used first
}

// placed is a place with one of the forms that it was sent in.
type placed struct {
	record.SentPlace
	form *Form
	at   *list.Element
}

// NewMemory returns a Memory that holds nothing yet.
func NewMemory(store record.Store) *Memory {
	return &Memory{store: store, places: map[uint64][]*placed{}, order: list.New()}
}

// Known says that the first Messages of a request were sent in a form.
type Known struct {
	Messages int
	Form     *Form
	Signed   bool // it is known by a signature
	Bound    bool // there was thinking among the messages, or right behind them
	Drops    bool // they were sent with thinking dropped that was bound to something else
}

// known is what a place says of the messages before it.
func (p *placed) known(messages int, signed bool) Known {
	return Known{Messages: messages, Form: p.form, Signed: signed, Bound: p.Bound || signed, Drops: p.Drops}
}

// Find returns in which forms the beginning of a request may have been sent, the likeliest first. They are of
// the last answer in it that is known. There are none if no answer is. An error says that not all was
// looked up.
func (m *Memory) Find(ctx context.Context, c *Conversation) ([]Known, error) {
	var answers []int
	for i := len(c.messages) - 1; i > c.chain.Skip; i-- {
		if c.messages[i].Role == llm.Assistant {
			answers = append(answers, i)
		}
	}
	if len(answers) == 0 {
		return nil, nil
	}
	found := m.find(c, answers)
	if m.store == nil || len(found) > 0 && found[0].Signed && found[0].Messages == answers[0] {
		return found, nil
	}
	if signed, _ := c.places(answers[0]); len(signed) == 0 && len(found) == 1 && found[0].Messages == answers[0] {
		return found, nil // no signature could say more
	}
	err := m.load(ctx, c, answers)
	if err != nil {
		err = fmt.Errorf("look up sent forms: %w", err)
	}
	return m.find(c, answers), err
}

// find looks in memory. answers are in the order of looking: the last one first.
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
			if len(found) > 0 { // an older answer tells which forms of a newer one can be
				found = likeliest(found, same[0].form)
				return found
			}
			for _, p := range same {
				m.order.MoveToFront(p.at)
				found = append(found, p.known(i, true))
			}
			if len(found) > 1 { // a signature that is not unique
				slices.SortStableFunc(found, func(a, b Known) int { return rank(a, asked) - rank(b, asked) })
			}
			return found
		}
		if len(found) == 0 {
			for _, p := range asked {
				m.order.MoveToFront(p.at)
				found = append(found, p.known(i, false))
			}
			if len(found) == 1 {
				return found
			}
		}
	}
	return found
}

// rank orders a form that the request was sent in before others.
func rank(k Known, asked []*placed) int {
	if slices.ContainsFunc(asked, func(p *placed) bool { return p.form.identity() == k.Form.identity() }) {
		return 0
	}
	return 1
}

// identity is the id of a form, 0 for nil.
func (f *Form) identity() uint64 {
	if f == nil {
		return 0
	}
	return f.id
}

// likeliest orders those that add to a form before others.
func likeliest(found []Known, to *Form) []Known {
	slices.SortStableFunc(found, func(a, b Known) int {
		switch x, y := a.Form.adds(to), b.Form.adds(to); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return found
}

// load takes in what the store has of some answers' places.
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
	at, rows, err := m.store.SentForms(ctx, all)
	if err != nil || len(at) == 0 {
		return err
	}
	byID := make(map[uint64]record.SentForm, len(rows))
	for _, f := range rows {
		byID[f.ID] = f
	}
	forms := map[uint64]*Form{}
	slices.SortStableFunc(at, func(a, b record.SentPlace) int {
		if exact[a.Place] != exact[b.Place] { // what is put last is held longest
			if exact[a.Place] {
				return -1
			}
			return 1
		}
		return newestFirst(a, b)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range slices.Backward(at) { // the oldest first, and those of signatures last
		form, broken := chained(p.Form, byID, forms)
		if broken != nil {
			err = broken // of what else was found, all counts
			continue
		}
		m.put(p, form)
	}
	return err
}

// chained makes a form of its rows, and those that it adds to.
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
		parent = &Form{id: row.ID, parent: parent, rules: row.Rules, edits: edits, size: int64(len(row.Edits)), stored: true}
		made[row.ID] = parent
	}
	return parent, nil
}

// put notes a place. The caller holds the lock.
func (m *Memory) put(p record.SentPlace, form *Form) {
	same := m.places[p.Place]
	for i, old := range same {
		if old.form.identity() != p.Form {
			continue
		}
		p.Add(old.SentPlace)
		form, p.Time = old.form, later(p.Time, old.Time)
		same = slices.Delete(slices.Clone(same), i, i+1)
		m.order.Remove(old.at)
		m.release(old.form)
		m.size -= placeSize
		break
	}
	n := &placed{SentPlace: p, form: form}
	n.at = m.order.PushFront(n)
	m.retain(form)
	m.size += placeSize
	same = append(same[:len(same):len(same)], n)
	slices.SortStableFunc(same, func(a, b *placed) int { return newestFirst(a.SentPlace, b.SentPlace) })
	m.places[p.Place] = same
	for m.size > maxMemory {
		m.drop(m.order.Back().Value.(*placed))
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
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

// retain counts a user of a form, and release one less. The caller holds the lock.
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

// Edits returns the edits of a form in the first n messages, in their order, and of how many calls the provider was asked to clear
// the results there. An edit that cannot be read is an error: its part would go otherwise than it was sent.
func (m *Memory) Edits(f *Form, c *Conversation, n int) (out []Edit, cleared int, err error) {
	if f == nil {
		return nil, 0, nil
	}
	parts := c.listed()
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[uint64]*Form{} // the newest form that has an edit of the part
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

// Sent is a request that goes upstream in a form.
type Sent struct {
	Form  *Form
	Bound bool // there is thinking in it
	Drops bool // it asks for thinking to be dropped that is bound to something else

	place  uint64   // of the answer to it
	before []uint64 // places of the last answer in it
}

// Note remembers, from now on, how all messages of a request go upstream. It returns what a store is to
// keep of it, and the function to be called once the store has it.
func (m *Memory) Note(s *Sent, c *Conversation, now time.Time) (b record.Batch, kept func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.place, s.before = ofRequest(c.chain.Last()), nil
	if last := c.Last(); last > c.chain.Skip {
		signed, request := c.places(last)
		s.before = append(signed, request)
	}
	f, p := s.Form, m.note(s, s.place, now)
	forms, keys := []*Form{}, map[uint64]*llm.Part{}
	for ; f != nil && !f.stored; f = f.parent {
		forms = append(forms, f)
	}
	if len(forms) > 0 {
		for _, at := range c.listed() {
			keys[at.key], keys[at.key^clearedMark] = c.at(at), c.at(at)
		}
	}
	for _, f := range slices.Backward(forms) {
		row, err := f.row(keys)
		if err != nil {
			return record.Batch{}, func() {} // it cannot be stored; memory has it
		}
		b.Forms = append(b.Forms, row)
	}
	b.Places = []record.SentPlace{p}
	return b, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, f := range forms {
			f.stored = true
		}
	}
}

// row is a form as it is stored.
func (f *Form) row(parts map[uint64]*llm.Part) (record.SentForm, error) {
	row := record.SentForm{ID: f.id, Parent: f.parent.identity(), Rules: f.rules}
	for _, key := range f.sorted() {
		v := f.edits[key]
		if v.sealed == nil {
			p := parts[key]
			if p == nil {
				return row, errSealed
			}
			if err := v.seal(p); err != nil {
				return row, err
			}
		}
		row.Edits = pack(row.Edits, key, v.sealed)
	}
	return row, nil
}

// Answered notes that thinking with a signature was made by the answer to a request. It returns what a store is to
// keep of it.
func (m *Memory) Answered(s *Sent, signature string, now time.Time) (rows []record.SentPlace) {
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

// Taken notes that the provider took a request, after it had refused the same messages in another form. drops says that it
// asked for thinking to be dropped. A request that goes on from the same answer goes likewise then. It returns what a store is
// to keep of it.
func (m *Memory) Taken(s *Sent, drops bool, now time.Time) (rows []record.SentPlace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Drops = s.Drops || drops
	for _, place := range append(s.before, s.place) {
		rows = append(rows, m.note(s, place, now))
	}
	return rows
}

// note notes a place of a request. What goes out last is the newest, also within a tick of the clock, and where that was
// put back. The caller holds the lock.
func (m *Memory) note(s *Sent, place uint64, now time.Time) record.SentPlace {
	p := record.SentPlace{Place: place, Form: s.Form.identity(), Time: now, Bound: s.Bound, Drops: s.Drops}
	for _, other := range m.places[place] {
		if !p.Time.After(other.Time) {
			p.Time = other.Time.Add(time.Microsecond)
		}
	}
	m.put(p, s.Form)
	return p
}
