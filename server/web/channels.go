package web

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"
	"time"
)

const (
	window      = 256    // numbers of a channel that may be in use at once
	maxChannels = 1024   // limit of channels
	maxEnded    = 10_000 // limit of logins that a logout has ended and that are remembered
)

// channel is opened by a page's hello.
type channel struct {
	id, login string
	key       []byte

	open context.Context // ends with the channel, and so do its requests
	end  context.CancelFunc

	// guarded by channels.mu
	last   time.Time // time of the last use
	proved bool      // its page has proved that it has the key; a replayed hello also opens a channel

	mu   sync.Mutex
	used [window]uint64 // by remainder: the highest number used
}

// useOnce reports whether a number is used for the first time, and records it. A number far below the highest counts as used.
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

// channels are the channels of this process. The zero value is ready to use. When there are too many, one is dropped: one whose
// page has proved nothing, or else the least recently used one. Its page then says hello again.
type channels struct {
	mu    sync.Mutex
	by    map[string]*channel
	ended map[string]time.Time // logins that a logout has ended, and until when they would have been valid
}

// open opens a channel; "": the login has ended.
func (cs *channels) open(login string, key []byte) (id string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, ended := cs.ended[login]; ended {
		return ""
	}
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
		cs.drop(out)
	}
	c := &channel{id: rand.Text(), login: login, key: key, last: time.Now()}
	c.open, c.end = context.WithCancel(context.Background())
	cs.by[c.id] = c
	return c.id
}

// drop ends a channel. The caller holds mu.
func (cs *channels) drop(c *channel) {
	delete(cs.by, c.id)
	c.end()
}

// find returns the channel with that id, or nil.
func (cs *channels) find(id string) *channel {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.by[id]
}

// use records that the page of c, which has proved itself, uses it. It returns false if the channel was dropped.
func (cs *channels) use(c *channel) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.last, c.proved = time.Now(), true
	return cs.by[c.id] == c
}

// end drops the channels of a login, and lets it open no others. It would have been valid until then.
func (cs *channels) end(login string, until time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.by {
		if c.login == login {
			cs.drop(c)
		}
	}
	maps.DeleteFunc(cs.ended, func(_ string, until time.Time) bool { return !time.Now().Before(until) })
	if cs.ended == nil {
		cs.ended = map[string]time.Time{}
	}
	if len(cs.ended) < maxEnded {
		cs.ended[login] = until
	}
}
