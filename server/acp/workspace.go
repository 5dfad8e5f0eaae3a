package acp

import (
	"context"
	"path/filepath"
)

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
