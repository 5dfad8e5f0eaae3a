package filetools

import (
	"sync"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
)

// session is what is remembered of one client session: what it has read and written.
type session struct {
	tracker freshness.Tracker
	used    int // guarded by Tools.mu

	mu        sync.Mutex
	encodings map[string]workspace.Encoding // by path: what it was read or written in
	writes    []pastWrite
	window    window
}

func (t *Tools) session(name string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[name]
	if s == nil {
		t.makeRoom()
		s = &session{encodings: map[string]workspace.Encoding{}}
		s.tracker.Now = t.cfg.Now
		s.tracker.Stamp = t.stamp
		s.window.off = name == ""
		t.sessions[name] = s
	}
	t.uses++
	s.used = t.uses
	return s
}

// makeRoom forgets the session that was used least recently, if there are too many.
func (t *Tools) makeRoom() {
	if len(t.sessions) < t.cfg.Sessions {
		return
	}
	oldest := ""
	least := t.uses + 1
	for name, s := range t.sessions {
		if s.used < least {
			oldest, least = name, s.used
		}
	}
	delete(t.sessions, oldest)
}

func (t *Tools) stamp(name string) workspace.Stamp {
	p, err := t.root.Path(name)
	if err != nil {
		return workspace.Stamp{}
	}
	info, _ := t.root.Inspect(p)
	return info.Stamp
}

// Tracker returns what a client session has read and edited.
func (t *Tools) Tracker(session string) *freshness.Tracker { return &t.session(session).tracker }

// End forgets a client session.
func (t *Tools) End(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, session)
}

// encoding is the encoding in which the session last read or wrote a file.
func (s *session) encoding(path string) (e workspace.Encoding, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, known = s.encodings[path]
	return e, known
}

func (s *session) setEncoding(path string, e workspace.Encoding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.encodings[path] = e
}
