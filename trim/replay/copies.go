package replay

import (
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// copies finds the answers that stand in several sessions. The first one that is read is billed, with the usage of the
// fullest.
type copies struct {
	first    map[[16]byte]*billedOnce
	forkedOf map[string]string // by session: another one of its family, nearer to the root
	n        int               // answers that were left out
}

// billedOnce is an answer that is billed with the session of an entry.
type billedOnce struct {
	of      *entry
	session string
	usage   llm.Usage
	next    *billedOnce // an answer of another family with the same key
}

func newCopies() *copies {
	return &copies{first: map[[16]byte]*billedOnce{}, forkedOf: map[string]string{}}
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
		}
	}
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
	head := c.first[a.Key]
	for b := head; b != nil; b = b.next {
		if a.Local && c.root(b.session) != c.root(session) {
			continue
		}
		if transcript.Fuller(a.Usage, b.usage) {
			b.usage = a.Usage
			if b.of.fuller == nil {
				b.of.fuller = make(map[[16]byte]llm.Usage)
			}
			b.of.fuller[a.Key] = a.Usage
		}
		return true
	}
	c.first[a.Key] = &billedOnce{of, session, a.Usage, head}
	return false
}
