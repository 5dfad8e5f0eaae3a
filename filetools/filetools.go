// Package filetools holds the tools by which an agent works on files: Read,
// read_file, write_file, edit_file, list_files, find_files, search_text,
// file_info and undo. Each has a file, and a .md with its description for the
// model.
//
// A result's text is a JSON object: of Read the standard envelope (READ-2), of
// the others a FileOperationResult with data (FILE-2, FILE-18). Tools that only
// read are done when planned. What is written is planned on the version that is
// there, compared with the version that the client session last saw, and
// applied by compare-and-swap (FILE-15).
package filetools

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/freshness"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// Config configures the tools. Root is needed; the zero value of the others is
// the default.
type Config struct {
	Root *workspace.Root

	// WriteLimit is that of the Root's options, so that nobody is asked about
	// a write that cannot be made. 0: 5 MB. (FILE-8)
	WriteLimit int64
	// PartsLimit is likewise, of a content that comes in parts. 0: 100 MB.
	// (FILE-9)
	PartsLimit int64

	// Hidden tells of paths whose content is not to be shown: searches pass
	// over them, listings leave them out. It does not replace the decision on
	// a call that names such a path. Nil: none.
	Hidden func(path string) bool

	// Dedupe answers a repeated read with one line. Nil: every read is
	// answered in full. (TRK-8, TRK-10)
	Dedupe *Dedupe

	// Sessions is how many client sessions are remembered, those least used
	// going first; 0: 1000. A session that was forgotten has read nothing.
	Sessions int

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: silence
}

// Tools are the tools over one workspace. They may be used concurrently.
type Tools struct {
	cfg  Config
	root *workspace.Root
	all  []tool.Tool

	mu       sync.Mutex
	sessions map[string]*session
	uses     int
}

// New makes the tools.
func New(c Config) (*Tools, error) {
	if c.Root == nil {
		return nil, errors.New("filetools: no workspace")
	}
	if c.WriteLimit == 0 {
		c.WriteLimit = 5 << 20
	}
	if c.PartsLimit == 0 {
		c.PartsLimit = 100 << 20
	}
	if c.Sessions == 0 {
		c.Sessions = 1000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Hidden == nil {
		c.Hidden = func(string) bool { return false }
	}
	t := &Tools{cfg: c, root: c.Root, sessions: map[string]*session{}}
	for _, k := range kinds {
		t.all = append(t.all, &fileTool{t, k, k.spec()})
	}
	return t, nil
}

// kinds are the tools, as they are listed.
var kinds = []*kind{readKind, readFileKind, writeFileKind, editFileKind, listFilesKind, findFilesKind, searchTextKind, fileInfoKind, undoKind}

// Version is the content hash of a file now, "" where there is none.
func (t *Tools) Version(ctx context.Context, path string) (string, error) {
	p, err := t.root.Path(path)
	if err != nil {
		return "", err
	}
	v, err := t.root.Version(ctx, p)
	return string(v), err
}

// All returns the tools, for a tool.Set.
func (t *Tools) All() []tool.Tool { return t.all }

// Aliases are further names of tools, for tool.Set.Alias. Read's messages say LS.
// (READ-7)
func (t *Tools) Aliases() map[string]string { return map[string]string{"LS": listFilesKind.name} }

// kind is one tool: what it says of itself and what it does.
type kind struct {
	name        string
	description string
	params      params
	readOnly    bool

	// plan works out the call. A *failure, or an error of workspace that a
	// model can act on, becomes a failed result.
	plan func(ctx context.Context, q *request) (*tool.Plan, error)
	// fail words a failed result; nil: as a FileOperationResult.
	fail func(q *request, f *failure) string
}

func (k *kind) spec() tool.Spec {
	return tool.Spec{
		Name: k.name, Description: describe(k.description), Schema: k.params.schema(),
		ReadOnly: k.readOnly, Destructive: !k.readOnly,
	}
}

// request is a call being planned.
type request struct {
	*Tools
	kind  *kind
	call  tool.Call
	args  values
	ses   *session
	began time.Time

	path      string // as the caller gave it
	canonical string // of the file that was found, else ""
	options   readOptions
	foreign   bool   // the writes undone are not the session's
	told      func() // what to note once a failure is told; may be nil
}

// fileTool is a kind over a workspace.
type fileTool struct {
	t *Tools
	k *kind
	s tool.Spec
}

// Spec implements tool.Tool.
func (f *fileTool) Spec() tool.Spec { return f.s }

// Plan implements tool.Tool.
func (f *fileTool) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	q := &request{Tools: f.t, kind: f.k, call: c, began: f.t.cfg.Now(), ses: f.t.session(c.Session)}
	q.ses.spend(f.t.cfg.Dedupe.tokens(string(c.Arguments)))
	args, err := q.arguments()
	if err == nil {
		q.args, q.path = args, args.str("path")
		var p *tool.Plan
		if p, err = f.k.plan(ctx, q); err == nil {
			return p, nil
		}
	}
	return q.refuse(err)
}

// Refuse implements tool.Refuser.
func (f *fileTool) Refuse(c tool.Call, code tool.Code, message string) tool.Result {
	q := &request{Tools: f.t, kind: f.k, call: c, began: f.t.cfg.Now(), ses: f.t.session(c.Session)}
	if args, err := f.k.params.parse(c.Arguments); err == nil {
		q.path = args.str("path")
	}
	r, _ := q.failed(&failure{code: code, message: message, verbatim: true})
	return r
}

// done is a plan with nothing left to apply. The text is asked for when the
// result is delivered: only then the session has seen it. (TRK-12)
func (q *request) done(text func() string) *tool.Plan {
	return q.doneWith(func() (string, *tool.Content, error) { return text(), nil, nil })
}

// doneWith is done with a content apart from the text, where there is one.
func (q *request) doneWith(deliver func() (string, *tool.Content, error)) *tool.Plan {
	return &tool.Plan{Call: q.call, Path: q.canonical, Done: &tool.Result{CallID: q.call.ID}, Deliver: func() tool.Result {
		text, content, err := deliver()
		if err != nil {
			r, broken := q.failed(err)
			if broken != nil {
				r, _ = q.failed(fail(tool.PermissionDenied, "the file cannot be read"))
			}
			return r
		}
		q.ses.spend(q.cfg.Dedupe.tokens(text))
		if content != nil {
			q.ses.spend(int(content.Size / 3))
		}
		return tool.Result{CallID: q.call.ID, Text: text, Content: content}
	}}
}

// say is done with a text that is there already.
func (q *request) say(v any) *tool.Plan {
	text := encode(v)
	return q.done(func() string { return text })
}

// refuse is the plan for an error that a model can act on; any other error is
// returned.
func (q *request) refuse(err error) (*tool.Plan, error) {
	q.canonical = q.about()
	r, err := q.failed(err)
	if err != nil {
		return nil, err
	}
	p := &tool.Plan{Call: q.call, Path: q.canonical, Done: &r}
	if q.told != nil {
		p.Deliver = func() tool.Result {
			q.told()
			return r
		}
	}
	return p, nil
}

// about is the file that a failed call is about, if it is there: whoever
// decides goes by it, since what is said of the failure may quote the file.
func (q *request) about() string {
	if q.canonical != "" {
		return q.canonical
	}
	p, err := q.root.Resolve(q.args.str("path"))
	if err != nil {
		return ""
	}
	info, err := q.root.Inspect(p)
	if err != nil {
		return ""
	}
	return info.Path.String()
}

func (q *request) failed(err error) (tool.Result, error) {
	f, ok := asFailure(err)
	if !ok {
		return tool.Result{}, err
	}
	word := q.kind.fail
	if word == nil {
		word = failOperation
	}
	text := word(q, f)
	q.ses.spend(q.cfg.Dedupe.tokens(text))
	return tool.Result{CallID: q.call.ID, Text: text, Code: f.code}, nil
}

// session is what is remembered of one client session.
type session struct {
	tracker freshness.Tracker
	used    int // guarded by Tools.mu

	mu        sync.Mutex
	encodings map[string]workspace.Encoding // by path: what it was read or written in
	writes    []Write
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

// makeRoom forgets the session least used, if there are too many.
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
