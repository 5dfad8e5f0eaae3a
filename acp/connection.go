package acp

import (
	"errors"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// connection is a client and all that it has opened.
type connection struct {
	config Config
	sdk    *sdk.Connection
	out    *lineWriter
	over   <-chan struct{} // closed when no request is begun any more

	handling sync.WaitGroup // requests at work

	mu       sync.Mutex
	ending   bool                   // turns are cancelled, later ones too
	stopped  bool                   // no request is begun any more
	client   *sdk.InitializeRequest // nil: it has not said who it is
	sessions map[string]*session
	spaces   map[string]*space
}

// stop cancels every turn, and those that begin later.
func (c *connection) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	for _, s := range c.sessions {
		s.cancelTurn()
	}
}

// close waits for the requests at work, and closes the workspaces. It does not
// wait for a write to a client that does not read.
func (c *connection) close() error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		c.handling.Wait()
		close(idle)
	}()
	wait(idle, nil, grace)
	c.mu.Lock()
	sessions, spaces := c.sessions, c.spaces
	c.sessions, c.spaces = nil, nil
	c.mu.Unlock()
	var ending sync.WaitGroup // an MCP server may take its time
	for _, s := range sessions {
		ending.Go(s.end)
	}
	ending.Wait()
	var errs []error
	for _, s := range spaces {
		<-s.ready
		if s.Workspace != nil && s.Close != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// isEnding reports whether turns are to be cancelled.
func (c *connection) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// isInitialized reports whether the client has said who it is.
func (c *connection) isInitialized() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client != nil
}

// name is what the client calls itself.
func (c *connection) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil || c.client.ClientInfo == nil || c.client.ClientInfo.Name == "" {
		return "editor"
	}
	return c.client.ClientInfo.Name
}

// readsBuffers reports whether the client answers what its buffers hold.
func (c *connection) readsBuffers() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client != nil && c.client.ClientCapabilities.Fs.ReadTextFile
}

// session returns an open session; nil where there is none.
func (c *connection) session(id string) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// cancel cancels the turn of a session, and the prompts that wait.
func (c *connection) cancel(id string) {
	if s := c.session(id); s != nil {
		s.cancelAll()
	}
}

// promptArrived notes that a prompt came in.
func (c *connection) promptArrived(id string) {
	if s := c.session(id); s != nil {
		s.promptArrived()
	}
}
