package acp

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// The connection to one client, with its open sessions and workspaces.

// connection is the connection to one client, with its open sessions and workspaces.
type connection struct {
	config Config
	sdk    *sdk.Connection
	out    *lineWriter
	over   <-chan struct{} // closed when no new request is accepted

	handling sync.WaitGroup // running requests

	mu       sync.Mutex
	ending   bool                   // turns are cancelled, also later ones
	stopped  bool                   // no new request is accepted
	client   *sdk.InitializeRequest // nil: the client has not sent initialize
	sessions map[string]*session
	spaces   map[string]*space
}

// stop cancels all turns, also turns that begin later.
func (c *connection) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	for _, s := range c.sessions {
		s.cancelTurn()
	}
}

// close waits for running requests and closes the workspaces. It waits for the time grace at most, because a write to a client
// that does not read may block.
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
	var ending sync.WaitGroup // ending an MCP server may take time
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

// isEnding reports whether turns must be cancelled.
func (c *connection) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// isInitialized reports whether the client has sent initialize.
func (c *connection) isInitialized() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client != nil
}

// name returns the name that the client gives itself.
func (c *connection) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil || c.client.ClientInfo == nil || c.client.ClientInfo.Name == "" {
		return "editor"
	}
	return c.client.ClientInfo.Name
}

// readsBuffers reports whether the client offers to read its buffers.
func (c *connection) readsBuffers() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client != nil && c.client.ClientCapabilities.Fs.ReadTextFile
}

// session returns an open session, or nil.
func (c *connection) session(id string) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// cancel cancels the turn of a session, and its waiting prompts.
func (c *connection) cancel(id string) {
	if s := c.session(id); s != nil {
		s.cancelAll()
	}
}

// promptArrived records that a prompt was received.
func (c *connection) promptArrived(id string) {
	if s := c.session(id); s != nil {
		s.promptArrived()
	}
}

// space is a workspace that is open or is being opened.
type space struct {
	*Workspace
	ready chan struct{} // closed when Workspace or err is set
	err   error
}

// space opens the workspace of a directory, or returns it if it is open.
func (c *connection) space(ctx context.Context, dir string) (*space, error) {
	if !filepath.IsAbs(dir) {
		return nil, wrong("cwd has to be an absolute path, not %q", dir)
	}
	dir = filepath.Clean(dir)
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil, context.Canceled
	}
	s, ok := c.spaces[dir]
	if !ok {
		s = &space{ready: make(chan struct{})}
		c.spaces[dir] = s
	}
	c.mu.Unlock()
	if !ok {
		s.Workspace, s.err = c.config.Open(ctx, dir)
		if s.err != nil { // the next request tries again
			c.mu.Lock()
			delete(c.spaces, dir)
			c.mu.Unlock()
		} else {
			c.wrapTools(s.Workspace)
		}
		close(s.ready)
	}
	select {
	case <-s.ready:
		return s, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wrapTools puts sessionTools in front of the tools of an agent.
func (c *connection) wrapTools(w *Workspace) {
	w.Agent.Client = c.name()
	if w.Agent.Tools != nil {
		w.Agent.Tools = &sessionTools{next: w.Agent.Tools, text: w.Text}
	}
}
