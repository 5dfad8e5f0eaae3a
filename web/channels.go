package web

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	window      = 256  // numbers of a channel that may be under way at once
	maxChannels = 1024 // that are remembered
)

// channel is what a page and this process have agreed on by a hello.
type channel struct {
	id, login string
	key       []byte

	// guarded by channels.mu
	last   time.Time // when it was in use
	proved bool      // its page has the key; a hello that is sent a second time opens a channel too

	mu   sync.Mutex
	used [window]uint64 // by remainder: the highest number so far
}

// useOnce reports whether a number is used for the first time, and notes it. A number
// that is far behind the highest counts as used.
func (c *channel) useOnce(n uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := n % window
	if n <= c.used[at] {
		return false
	}
	c.used[at] = n
	return true
}

// channels are the channels of this process. The zero channels is ready. Where there
// are too many, one is forgotten: one whose page has proved nothing, or else the one
// that was not in use for the longest time. Its page then says hello again.
type channels struct {
	mu sync.Mutex
	by map[string]*channel
}

func (cs *channels) open(login string, key []byte) (id string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.by == nil {
		cs.by = map[string]*channel{}
	}
	if len(cs.by) >= maxChannels {
		var out *channel
		for _, c := range cs.by {
			switch {
			case out == nil, out.proved && !c.proved, out.proved == c.proved && c.last.Before(out.last):
				out = c
			}
		}
		delete(cs.by, out.id)
	}
	id = rand.Text()
	cs.by[id] = &channel{id: id, login: login, key: key, last: time.Now()}
	return id
}

// find is the channel of that id, nil if there is none.
func (cs *channels) find(id string) *channel {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.by[id]
}

// use notes that the page of c, which has proved itself, uses it. It is false where
// the channel is forgotten.
func (cs *channels) use(c *channel) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.last, c.proved = time.Now(), true
	return cs.by[c.id] == c
}

// end forgets the channels of a login.
func (cs *channels) end(login string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for id, c := range cs.by {
		if c.login == login {
			delete(cs.by, id)
		}
	}
}
