// Package web is the UI in a browser: the queue of open questions with what
// each would change, the stored sessions, what requests used and what was left
// out of them, the files that were written, and the audit trail.
//
// [Handler] serves the built UI, which is embedded (its source is in ui, and
// "go generate" builds it), and the JSON that it shows, below /api/. The types
// of that JSON are in this package; ui/src/api.gen.ts is made of them.
//
// All but the UI itself needs a login by a token: see [Handler.Authenticate]. After
// the login no secret travels: the page and the server prove themselves by MACs,
// with a key that both have from the login. So a program that takes over the port
// of a server that has ended learns nothing that it could use. The protocol is
// in proof.go and in docs/web.md.
//
// Content from agents and files is data to the UI, never markup: the content security policy allows no script, style or request
// from elsewhere, and no text becomes HTML.
package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
)

// Handler serves the UI and its API at the root of a host. Queue,
// Authenticate and Holds are needed; what the other fields would give is not offered
// where they are nil. The fields are not to be changed once it is in use.
//
// Streams of events end with their requests' contexts: a server that shuts down
// has to end its BaseContext first.
type Handler struct {
	Queue *approval.Queue
	Root  string // the workspace of the questions; only programs on this machine see it

	// Authenticate says whose token it is, at login. The name goes into the audit
	// trail as who decided. It may be called concurrently.
	Authenticate func(token string) (Person, bool)

	// Holds is the person whose token has this ID, if the token is still good. It is
	// asked at every request, so that a token that was revoked is of no use from then
	// on, and may be called concurrently.
	Holds func(id string) (Person, bool)

	// SignIn lets people log in with an account elsewhere; nil: by a token alone.
	SignIn SignIn

	// Secret is what the keys of logins are made of: 32 random bytes, the same after
	// a restart, and different for each state directory. Nil: logins end with the process.
	Secret []byte

	// Buttons says that messages outside of stet have buttons, which answer a question without a login: see approval.Press. Their keys are made
	// with Secret.
	Buttons bool

	// Push sends messages about questions to browsers; nil: nothing does.
	Push Push

	// Refused gets the address from which a token came that was none. It may be nil.
	Refused func(ctx context.Context, address string)

	// Hosts are names of this host, with or without port, under which browsers
	// may reach it. The loopback names always are.
	Hosts []string

	Sessions session.Store // a *session.Hub is followed live
	Records  record.Store
	Trail    record.Trail

	// Changes is a number that is another one when something was stored since it
	// was asked for last, in this process or in another one: pages then read again
	// what they show. It is asked for every second while a page is open.
	Changes func(ctx context.Context) (int64, error)

	// Cost is what a request cost in US dollars, and what it would have cost more with the usage whole, which it would have had if nothing
	// had been left out; false where the price is not known.
	Cost func(model string, used, whole record.Usage) (usd, saved float64, known bool)
	// Next says until when the provider's cache has what follows a request, and what the next request costs in US dollars until then
	// and after; false: it is not known, or the difference is too small to be said.
	Next func(r record.Request) (until time.Time, within, after float64, known bool)
	// Window is a model's context window in tokens; 0: unknown.
	Window func(model string) int

	// Disk looks at files of a workspace: what they hold now, by content hash, ""
	// where there is no file. Those that cannot be looked at are not in the answer.
	Disk func(ctx context.Context, root string, paths []string) (map[string]string, error)
	// Undo undoes writes, oldest first, for the person of that name. Its questions are of the given client session. It returns
	// when that is done; it may put questions into Queue before. What it has begun goes on when ctx ends.
	Undo func(ctx context.Context, writes []record.Write, person, session string) error
	// TakeBack takes back what calls of agents' own tools changed, for the person of that name, or only shows it. With an error, TakenBack says what was
	// done all the same. What it has begun goes on when ctx ends.
	TakeBack func(ctx context.Context, in TakeBack, person string) (TakenBack, error)
	// Lift lets a suspended client session go on.
	Lift func(ctx context.Context, session, person string) error
	// Compact replaces a stored session's conversation by a summary, and returns
	// the session that goes on.
	Compact func(ctx context.Context, id string) (next string, err error)
	// ResumeCommand is what to type to go on with a stored session.
	ResumeCommand func(i session.Info) string

	Version  string
	Settings func() []Setting // what the server runs with, to be looked at

	Log *slog.Logger // nil: silence

	attempts limits.Keyed // recorded wrong tokens, by address
	channels channels

	once   sync.Once
	secret []byte
	routes http.Handler
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		h.attempts.PerMinute, h.attempts.All = badOfOne, limits.NewRate(badOfAll)
		if h.secret = h.Secret; h.secret == nil {
			h.secret = make([]byte, 32)
			_, _ = rand.Read(h.secret) // it never fails
		}
		h.routes = httpguard.LimitPauses(h.guarded(h.mux()), httpguard.Pause)
	})
	h.routes.ServeHTTP(w, r)
}

// csp is the page's content security policy: it may run and show only its own files and connect to this host, and cannot make
// markup from text. No other page may frame it.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html stet-worker"

// guarded refuses requests that may come from another page, and says what the page may do. A link on another site may open the UI.
func (h *Handler) guarded(next http.Handler) http.Handler {
	guard := httpguard.Guard{
		Check: httpguard.Check{Hosts: h.Hosts, Links: true},
		Fail: func(w http.ResponseWriter, r *http.Request, status int, why string) {
			h.fail(w, r, problem{status, why})
		},
	}.Before(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", csp)
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		guard.ServeHTTP(w, r)
	})
}

// mux has all routes. What is below /api/ needs a person, but for the login, the
// hello and a button, and an admin where it is about more than questions.
func (h *Handler) mux() *http.ServeMux {
	stored := needs("a stored session", func() bool { return h.Sessions != nil })
	recorded := needs("an account of requests", func() bool { return h.Records != nil })
	trail := needs("an audit trail", func() bool { return h.Trail != nil })
	push := needs("a message to this browser", func() bool { return h.Push != nil })
	undo := needs("undoing", func() bool { return h.Undo != nil && h.Trail != nil })
	m := http.NewServeMux()
	login := needs("a login", func() bool { return h.Authenticate != nil && h.Holds != nil })
	m.Handle("POST /api/login", h.open(login(posted(h.login))))
	m.Handle("POST /api/hello", h.open(login(posted(h.hello))))
	m.Handle("GET /api/ways", h.open(h.ways))
	buttons := needs("a button in a message", func() bool { return h.Buttons })
	m.Handle("POST /api/questions/{id}/press", h.open(buttons(posted(h.press))))
	if h.SignIn != nil {
		m.Handle("/login/", h.SignIn)
	}
	for pattern, serve := range map[string]endpoint{ // for approvers and admins
		"GET /api/me":                     h.me,
		"GET /api/questions":              h.questions,
		"GET /api/questions/{id}":         h.question,
		"GET /api/questions/{id}/content": h.content,
		"POST /api/questions/{id}/answer": posted(h.answer),
		"GET /api/push":                   push(h.pushKey),
		"POST /api/push":                  push(posted(h.subscribe)),
		"POST /api/push/end":              push(h.unsubscribe),
	} {
		m.Handle(pattern, h.person(h.answered(serve)))
	}
	for pattern, serve := range map[string]endpoint{
		"GET /api/sessions":               stored(h.sessions),
		"GET /api/search":                 stored(h.search),
		"GET /api/sessions/{id}":          stored(h.session),
		"POST /api/sessions/{id}/rewind":  stored(posted(h.rewind)),
		"POST /api/sessions/{id}/fork":    stored(posted(h.fork)),
		"POST /api/sessions/{id}/compact": needs("compacting", func() bool { return h.Compact != nil })(h.compact),
		"GET /api/conversations":          recorded(h.conversations),
		"GET /api/requests":               recorded(h.requests),
		"GET /api/savings":                recorded(h.savings),
		"GET /api/running":                recorded(h.spending),
		"POST /api/running/stop":          recorded(posted(h.stop)),
		"GET /api/files":                  trail(h.files),
		"GET /api/files/disk":             needs("a look at the files", func() bool { return h.Trail != nil && h.Disk != nil })(h.disk),
		"POST /api/undo":                  undo(posted(h.undo)),
		"POST /api/undo/look":             undo(posted(h.lookAtUndo)),
		"POST /api/takeback":              needs("taking back calls", func() bool { return h.TakeBack != nil })(posted(h.takeBack)),
		"GET /api/audit":                  trail(h.audit),
		"POST /api/audit/verify":          trail(posted(h.verify)),
		"GET /api/suspended":              h.suspended,
		"POST /api/suspended/lift":        needs("letting a session go on", func() bool { return h.Lift != nil })(posted(h.lift)),
	} {
		m.Handle(pattern, h.admin(h.answered(serve)))
	}
	m.Handle("POST /api/logout", h.person(h.logout))
	m.Handle("GET /api/events", h.person(h.events))
	m.Handle("GET /api/sessions/{id}/events", h.admin(h.sessionEvents))
	m.Handle("GET /api/sessions/{id}/export", h.admin(h.export))
	m.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, problem{http.StatusNotFound, "there is nothing at " + r.URL.Path})
	})
	m.Handle("/", built())
	return m
}

func (h *Handler) log() *slog.Logger {
	return cmp.Or(h.Log, slog.New(slog.DiscardHandler))
}
