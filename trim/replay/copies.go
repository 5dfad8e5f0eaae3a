package replay

import (
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// copies finds the answers that are in several sessions. The first one that is read is billed, with the usage of the
// fullest.
type copies struct {
	at       map[[16]byte]*link // by key, and by rough key
	forkedOf map[string]string  // by session: another one of its family, nearer to the root
	roots    map[string]bool    // of the sessions that were read
	late     bool               // families were joined after their sessions were read
	n        int                // answers that were left out
}

// link is an element of the list of the answers with one key, the newest first.
type link struct {
	*billedOnce
	next *link
}

// billedOnce is an answer that is billed with the session of an entry.
type billedOnce struct {
	of         *entry
	session    string
	key, rough [16]byte
	local      bool
	usage      llm.Usage
}

// root returns the session that all sessions of a family come from, as far as it is known.
func (c *copies) root(session string) string {
	for range 1000 { // files may name each other in a circle
		up, ok := c.forkedOf[session]
		if !ok || up == session {
			break
		}
		session = up
	}
	return session
}

// leaveOut removes the copies from the answers of a session, and reports whether there is no other answer.
func (c *copies) leaveOut(of *entry, s *transcript.Session) (empty bool) {
	for _, fork := range s.Forks {
		if root, mine := c.root(fork), c.root(s.ID); root != mine {
			c.forkedOf[mine] = root
			c.late = c.late || c.roots[mine]
		}
	}
	c.roots[c.root(s.ID)] = true
	own := s.Answers[:0]
	for _, a := range s.Answers {
		if !c.copied(of, s.ID, &a) {
			own = append(own, a)
		}
	}
	all := len(s.Answers)
	s.Answers = own
	c.n += all - len(own)
	return all > 0 && len(own) == 0
}

func (c *copies) copied(of *entry, session string, a *transcript.Answer) bool {
	mine := &billedOnce{of, session, a.Key, a.Rough, a.Local, a.Usage}
	keys := [][16]byte{a.Key, a.Rough}
	if a.Rough == ([16]byte{}) {
		keys = keys[:1]
	}
	for _, key := range keys {
		for l := c.at[key]; l != nil; l = l.next {
			if !c.same(mine, l.billedOnce, key) {
				continue
			}
			l.fill(a.Usage)
			if key == a.Rough { // other copies may be like this one
				c.at[a.Key] = &link{l.billedOnce, c.at[a.Key]}
			}
			return true
		}
	}
	for _, key := range keys {
		c.at[key] = &link{mine, c.at[key]}
	}
	return false
}

// same reports whether two answers in the list of a key are copies. If it is the rough key, one of them has no usage.
func (c *copies) same(a, b *billedOnce, key [16]byte) bool {
	return (key != a.rough || a.of != b.of && (a.usage.IsZero() || b.usage.IsZero())) &&
		(!a.local || c.root(a.session) == c.root(b.session))
}

// fill takes the usage of a copy if it is fuller.
func (b *billedOnce) fill(u llm.Usage) {
	if !transcript.Fuller(u, b.usage) {
		return
	}
	b.usage = u
	if b.of.fuller == nil {
		b.of.fuller = map[[16]byte]llm.Usage{}
	}
	b.of.fuller[b.key] = u
}

// relink leaves out the copies that were billed before their family was known.
func (c *copies) relink() {
	if !c.late {
		return
	}
	for key, head := range c.at {
		for l := head; l != nil; l = l.next {
			for old := l.next; old != nil && l.local && !l.of.copied[l.key]; old = old.next {
				if l.billedOnce == old.billedOnce || old.of.copied[old.key] || !c.same(l.billedOnce, old.billedOnce, key) {
					continue
				}
				old.fill(l.usage)
				if l.of.copied == nil {
					l.of.copied = map[[16]byte]bool{}
				}
				l.of.copied[l.key] = true
				c.n++
			}
		}
	}
}
