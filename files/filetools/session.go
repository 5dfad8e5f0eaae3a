package filetools

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
)

// What is remembered of a client session: what it has read and written, and which reads are answered with one line.

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
		t.forgetOldest()
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

// forgetOldest forgets the session that was used least recently, if there are too many.
func (t *Tools) forgetOldest() {
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
	if s.encodings[path] = e; e == (workspace.Encoding{}) {
		delete(s.encodings, path)
	}
}

// Dedupe answers with one line a read of lines that the client session was shown
// before and that have not changed. The tools cannot see what is still in the window of
// the client: lines count as in view while at most Budget tokens were sent after them.
// A read with the argument full is answered in full, and so is, once for each version
// of the file, the same call directly after the line.
type Dedupe struct {
	Budget int                   // tokens; 0: 50,000
	Count  func(text string) int // tokens of a text; nil: a third of its bytes
}

// tokens counts the tokens of a text.
func (d *Dedupe) tokens(text string) int {
	switch {
	case d == nil:
		return 0
	case d.Count == nil:
		return len(text)/3 + 1
	}
	return d.Count(text)
}

func (d *Dedupe) budget() int {
	return cmp.Or(d.Budget, 50_000)
}

// paramFull is the argument that the line names.
var paramFull = param{name: "full", typ: "boolean", about: "Show the content, even if it was shown before.", repeats: true}

// window is what was sent to a client session.
type window struct {
	off   bool
	sent  int // tokens so far
	views map[string]*view
	line  string // the last call, if it was answered with one line or a difference; else ""
}

// view is what was shown of one file, in one encoding: in another encoding it is another
// text.
type view struct {
	version workspace.Version
	enc     workspace.Encoding
	shown   []stretch
	again   bool // the version was shown again because the call was repeated
}

type stretch struct {
	lines freshness.Range
	at    int // window.sent when it was shown
}

const maxViews = 2000

// covers reports whether the lines are in view.
func (v *view) covers(lines freshness.Range, since int) bool {
	var all freshness.Ranges
	for _, x := range v.shown {
		if x.at >= since {
			all = all.Add(x.lines)
		}
	}
	return all.Covers(lines)
}

// begin counts the tokens of a call, and returns the call before it if that was answered with one line.
func (s *session) begin(tokens int) (line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.sent += tokens
	line, s.window.line = s.window.line, ""
	return line
}

func (s *session) spend(tokens int) {
	s.mu.Lock()
	s.window.sent += tokens
	s.mu.Unlock()
}

// forget makes the next read of a file full.
func (s *session) forget(path string) {
	s.mu.Lock()
	delete(s.window.views, path)
	s.mu.Unlock()
}

// answer is how a read is answered.
type answer struct {
	kind answerKind
	text string // of a repeat the line, of changed the difference
}

type answerKind int

const (
	full answerKind = iota
	repeat
	changed
)

// readOptions is how a file is read.
type readOptions struct {
	encoding workspace.Encoding
	asked    bool // an encoding was given
	convert  bool // a whole file may be in another encoding than the one in which it is written
}

// showing is what a read is going to show.
type showing struct {
	info    workspace.Info
	version workspace.Version
	enc     workspace.Encoding // that the text was found in
	garbled bool               // some of it is no text in enc
	lines   freshness.Range
	size    int // bytes
}

// shown records that lines of a file are shown, and decides how they are. Garbled text
// is shown, and does not count as seen.
func (q *toolCall) shown(s showing) answer {
	v, lines := s.version, s.lines
	q.ses.tracker.Observe(freshness.Observation{
		Kind: freshness.Read, Path: q.canonical, Version: v, Stamp: s.info.Stamp, Lines: lines, Time: q.began,
	})
	if q.options.asked || !s.garbled { // an edit means the text as it was shown last
		q.ses.setEncoding(q.canonical, q.options.encoding)
	}
	shared := q.call.Session == q.call.Account // by all clients with the token: one does not see what another was shown
	if q.cfg.Dedupe == nil || v == "" || q.ses.window.off || shared || s.garbled {
		return answer{}
	}
	call := fmt.Sprintf("%s %#v", q.def.name, q.args)
	q.ses.mu.Lock()
	defer q.ses.mu.Unlock()
	w, d := &q.ses.window, q.cfg.Dedupe
	since := w.sent - d.budget()
	old := w.views[q.canonical]
	if old != nil && old.enc != s.enc {
		old = nil
	}
	insists := old != nil && old.version == v && !old.again && q.after == call
	if old != nil && !insists && !q.args.flag("full", false) {
		if old.version == v && old.covers(lines, since) {
			w.line = call
			return answer{repeat, fmt.Sprintf("[File previously read: %s. Content unchanged since last read.] With full: true it is shown.", quoted(q.path))}
		}
		if text := q.difference(old, s, since); text != "" {
			old.version, old.again, w.line = v, false, call
			return answer{changed, text}
		}
	}
	if len(w.views) >= maxViews || w.views == nil {
		w.views = map[string]*view{}
	}
	if old == nil || old.version != v {
		old = &view{version: v, enc: s.enc}
		w.views[q.canonical] = old
	}
	old.again = old.again || insists
	kept := old.shown[:0]
	for _, x := range old.shown {
		if x.at >= since {
			kept = append(kept, x)
		}
	}
	old.shown = append(kept, stretch{lines, w.sent})
	return answer{}
}

// difference is the diff of a file that is in view whole, if that is much shorter than
// the file; else "".
func (q *toolCall) difference(old *view, s showing, since int) string {
	v, lines, whole := s.version, s.lines, freshness.Range{First: 1}
	if old.version == v || lines != whole && lines != (freshness.Range{}) || !old.covers(whole, since) {
		return ""
	}
	before, err := q.root.Kept(old.version)
	if err != nil {
		return ""
	}
	now, err := q.root.Kept(v)
	if err != nil {
		return ""
	}
	a, _, err := q.options.encoding.Decode(before)
	if err != nil {
		return ""
	}
	b, _, err := q.options.encoding.Decode(now)
	if err != nil {
		return ""
	}
	name := quoted(q.path)
	u := diff.Lines(a, b, diff.Options{}).Unified("a/"+q.canonical, "b/"+q.canonical)
	if u == "" || len(u)*4 > s.size {
		return ""
	}
	return fmt.Sprintf("[File previously read: %s. Changed since last read:]\n%s", name, u)
}

// edited records that the session wrote a file at a time. With part the session does
// not know all that the file holds now.
func (q *toolCall) edited(path string, v workspace.Version, info workspace.Info, part bool, at time.Time) {
	q.ses.forget(path)
	q.ses.tracker.Observe(freshness.Observation{
		Kind: freshness.Edited, Path: path, Version: v, Stamp: info.Stamp, Part: part, Time: at,
	})
}

// learn records what the session did to a file with other tools.
func (q *toolCall) learn(ctx context.Context, path string) {
	if q.cfg.Elsewhere == nil {
		return
	}
	for _, o := range q.cfg.Elsewhere(ctx, q.call, filepath.Join(q.root.Dir(), filepath.FromSlash(path))) {
		o.Path = path
		q.ses.tracker.Learn(o)
	}
}

// removed records that a file does not exist any more, and that the session knows.
func (q *toolCall) removed(path string) {
	q.ses.forget(path)
	q.ses.tracker.Observe(freshness.Observation{Kind: freshness.Edited, Path: path, Gone: true, Time: q.cfg.Now()})
}
