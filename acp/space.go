package acp

import (
	"context"
	"path/filepath"
)

// space is a workspace on its way, or there.
type space struct {
	*Workspace
	ready chan struct{} // closed when Workspace or err is set
	err   error
}

// space opens the workspace of a directory, or returns the one that is open.
func (l *link) space(ctx context.Context, dir string) (*space, error) {
	if !filepath.IsAbs(dir) {
		return nil, wrong("cwd has to be an absolute path, not %q", dir)
	}
	dir = filepath.Clean(dir)
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return nil, context.Canceled
	}
	s, ok := l.spaces[dir]
	if !ok {
		s = &space{ready: make(chan struct{})}
		l.spaces[dir] = s
	}
	l.mu.Unlock()
	if !ok {
		s.Workspace, s.err = l.config.Open(ctx, dir)
		if s.err != nil { // the next one tries again
			l.mu.Lock()
			delete(l.spaces, dir)
			l.mu.Unlock()
		} else {
			l.handOver(s.Workspace)
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

// handOver puts the sessions' rules before the tools of an agent and of its
// sub-agents.
func (l *link) handOver(w *Workspace) {
	for a := w.Agent; a != nil; a = a.Tasks {
		a.Client = l.name()
		if a.Tools != nil {
			a.Tools = &hands{next: a.Tools, text: w.Text}
		}
		if a.Tasks == a {
			break
		}
	}
}
