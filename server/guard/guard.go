// Package guard watches over what agents do with their own tools. An agent's hooks tell the Guard of each call, before and after it.
//
// Before a call the Guard decides by the person's rules, for files and for commands; where no rule matches, it says nothing, and the agent's own rules decide.
// If the call can change something, the Guard prepares a snapshot of the workspace. After the call, what the call has changed becomes
// one entry of the audit trail, which can be undone (snapshot.Prepare).
//
// How an agent's hooks speak is a Form. The package knows no agent.
package guard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim/dialect"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds.
const (
	Other    Kind = iota // nothing to do
	Started              // a session begins, or goes on
	Before               // a call is about to run
	After                // a call has ended
	Stopped              // the agent has ended its turn or its session: no call of it runs, and none of its sub-agents but those of Event.Running
	Asking               // the agent asks its person about a call
	Settled              // the person has answered at the agent; Failed: with a no
	Prompted             // the person has said something to the agent
)

// Event is what an agent's hook tells.
type Event struct {
	Kind     Kind
	Agent    string // the name of its Form
	Session  string // the agent's own id of the session
	SubAgent string // "": the main agent
	Call     string // the agent's own id of the call; "": it has none, and calls are paired by their tools and arguments
	Tool     string
	Input    json.RawMessage // the call's arguments
	Dir      string          // the agent's working directory, absolute
	Failed   bool            // After: the call failed
	Output   string          // After: what the call has shown
	Closed   bool            // Before: the call is denied if its changes cannot be known
	Serial   bool            // Before: the agent runs its changing calls one after the other, so that this one ends those before it
	Running  []string        // Stopped: the sub-agents that go on
	Prompt   string          // Prompted: what the person said
	Anew     bool            // Started: the session goes on without what was sent before, or with a summary of it

	Dialog Dialog        // Before, Asking: how the agent asks its person
	Edits  bool          // Before, Asking: the agent takes changed arguments
	Most   time.Duration // how long the agent waits for its hook; 0: as long as it takes
}

// stops reports whether an event says that a sub-agent has no call that runs; "": the main agent.
func (e Event) stops(sub string) bool {
	return e.Kind == Stopped && (e.SubAgent == sub || e.SubAgent == "" && !slices.Contains(e.Running, sub))
}

// Answer is what the agent's hook gets.
type Answer struct {
	Action  policy.Action   // what the rules say; with Decided only
	Decided bool            // a rule matched
	Reason  string          // why it is denied or asked, for the model and the person
	Say     string          // what the person should know, when the session starts or gets a prompt
	Input   json.RawMessage // the arguments that the call is to have; nil: its own
}

// Config configures a Guard.
type Config struct {
	Store *snapshot.Store
	Trail record.Trail

	// Rules returns the person's rules and those of the project, for a workspace.
	Rules    func(workspace string) (*policy.Policy, error)
	Approver approval.Approver      // asks a person; nil: only the agents ask
	Wait     time.Duration          // how long a call waits for a person where its agent cannot ask; 0: DefaultWait
	Pause    time.Duration          // how long a dialog that comes after the hook waits; 0: DefaultPause
	Own      []string               // files and directories with which an agent could answer its own questions, absolute
	Hooks    func(path string) bool // whether a file has hooks of an agent, by its absolute path; nil: none
	Control  func(path string) bool // whether a file makes something run, by its path in the workspace: no rule allows to write to it
	Home     string                 // of the person
	Dialects *dialect.Table         // how agents' tools are called; nil: the default
	Limit    int64                  // bytes of the Store; 0: see snapshot.Options

	// Off returns what agents did while no guard ran. It is called once, in the background, and may take its time. nil: it is not known.
	Off func(ctx context.Context) Off

	// Costs returns a sentence if the next request of a session costs much more than it had to; "": it does not, or that is not known. since:
	// when the session last began without what was sent before, so that its earlier requests say nothing of the next one; zero: it did not since this Guard
	// knows it. anew: it does so now, which later Guards should know. nil: never known.
	Costs func(ctx context.Context, session string, since time.Time, anew bool) string

	Log *slog.Logger
}

// Guard decides about calls and records what they change. Its methods may be called concurrently.
type Guard struct {
	Config
	journal *record.Journal

	mu       sync.Mutex
	trees    map[string]*follower // by workspace
	sessions map[string]*session  // by agent and id
	off      offTime
	running  map[*call]bool  // until what they changed is known
	ended    []endedOwn      // calls by the name of stet's own tools, which may be others
	claimed  map[uint64]bool // entries of the trail that belong to such calls
	pruned   time.Time       // when the limit of the Store was last reached
}

// follower is a workspace that is followed.
type follower struct {
	tree *snapshot.Tree
	err  error // why it is not
	used time.Time
	rest time.Time // until then it is not tried again
}

// session is a session of an agent.
type session struct {
	workspace string
	about     string                             // its title, from the first prompt
	costs     string                             // what was last said of its next request
	anew      time.Time                          // when it last began without what was sent before
	calls     []*call                            // that run, in the order in which they began
	asks      map[*ask]bool                      // the questions that are open
	approved  []*call                            // by a person, before its agent has reported that it begins
	grants    map[string]string                  // who allowed what for the session: see approval.Question.Covered
	files     map[string][]freshness.Observation // what it has read and edited: see saw
	seen      time.Time
}

// call is a call that runs.
type call struct {
	event  Event
	action dialect.Action
	by     policy.Decision
	notes  []tool.Note
	snap   *snapshot.Call // nil: no snapshot was taken
	tree   *snapshot.Tree // of snap
	began  time.Time
	head   uint64   // the last entry of the trail when it began
	with   []string // the calls that ran at the same time
	own    string   // the name of stet's own tool, if the call has its name
	lost   error    // why

	decision, who string          // of a person; "": the rules or the agent decided
	agreed        json.RawMessage // the arguments that a person has approved; nil: none
	ended         string          // the outcome of a call that did not run, as far as is known
	told          bool            // the trail has ended
	over          bool            // the agent has reported its end
	begun         bool            // it was seen to begin: it is one of those that run, or was
}

// cancel marks a call that was not allowed at the agent, as far as the guard can see.
func (c *call) cancel() {
	c.decision, c.who, c.ended = "cancelled", "the agent", string(tool.Cancelled)
}

// Limits of what agents may have at once. The oldest goes first.
const (
	maxTrees    = 16
	maxSessions = 1000
	maxCalls    = 100 // of a session
)

// New returns a Guard. Close must be called.
func New(c Config) *Guard {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dialects == nil {
		c.Dialects = dialect.Default()
	}
	g := &Guard{
		Config: c, journal: &record.Journal{Trail: c.Trail, Log: c.Log},
		trees: map[string]*follower{}, sessions: map[string]*session{}, running: map[*call]bool{}, claimed: map[uint64]bool{},
	}
	g.lookBack()
	return g
}

// Close records what the calls that run have changed so far, ends all snapshots and writes what is not in the trail yet.
func (g *Guard) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	g.off.stop()
	<-g.off.known
	errs := []error{g.finishWhere(ctx, func(*session, *call) bool { return true }), g.settleOwn(ctx, true)}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.trees {
		if f.tree != nil {
			errs = append(errs, f.tree.Close())
		}
	}
	clear(g.trees)
	return errors.Join(append(errs, g.journal.Close())...)
}

// closeTime is how long Close waits for what calls have changed.
const closeTime = 10 * time.Second

// room removes the oldest contents if the limit of the Store is reached.
func (g *Guard) room() {
	if g.Store.Used() <= cmp.Or(g.Limit, snapshot.DefaultLimit) {
		return
	}
	g.mu.Lock()
	now := time.Now()
	again := now.Sub(g.pruned) > time.Minute
	if again {
		g.pruned = now
	}
	g.mu.Unlock()
	if !again {
		return
	}
	n, err := g.Prune(time.Time{})
	g.Log.Info("guard: the limit of what is kept was reached; the oldest contents are gone", "contents", n, "err", err)
}

// Prune removes what was kept before a time and is over the limit of the Store, but nothing that a followed workspace needs.
func (g *Guard) Prune(before time.Time) (removed int, err error) {
	g.mu.Lock()
	live := map[[32]byte]bool{}
	for _, f := range g.trees {
		if f.tree != nil {
			maps.Copy(live, f.tree.Live())
		}
	}
	g.mu.Unlock()
	return g.Store.Prune(before, cmp.Or(g.Limit, snapshot.DefaultLimit)/10*9, live)
}

// Handle takes an event and returns what the agent's hook is to answer. If ctx ends, a question is withdrawn.
func (g *Guard) Handle(ctx context.Context, e Event) (Answer, error) {
	if !filepath.IsAbs(e.Dir) {
		return Answer{}, fmt.Errorf("the working directory %q is not absolute", e.Dir)
	}
	if err := g.settleOwn(ctx, false); err != nil {
		return Answer{}, err
	}
	if e.Kind == Asking {
		return g.asking(ctx, e)
	}
	g.elsewhere(g.session(e), e)
	if e.Kind == Before {
		return g.before(ctx, e)
	}
	g.dropApproved(g.session(e), e)
	ctx, cancel := lasts(ctx)
	defer cancel()
	switch e.Kind {
	case Started:
		return g.start(ctx, e), nil
	case After:
		return Answer{}, g.after(ctx, e)
	case Stopped:
		return Answer{}, g.end(ctx, e)
	case Prompted:
		s := g.session(e)
		g.mu.Lock()
		if s.about == "" {
			s.about = llm.Title(e.Prompt)
		}
		g.mu.Unlock()
		return saying(g.costs(ctx, e)), g.dismissed(ctx, s)
	}
	return Answer{}, nil
}

// handleTime is how long an event may take, without the wait for a person.
const handleTime = 5 * time.Minute

// lasts returns a context for what is recorded: an agent that is ended in the middle of a call closes the connection, and what the call has changed is
// recorded all the same.
func lasts(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), handleTime)
}

func (g *Guard) start(ctx context.Context, e Event) Answer {
	f := g.follow(g.session(e).workspace)
	var say []string
	if f.err != nil {
		say = append(say, fmt.Sprintf("commands cannot be undone here: %v", f.err))
	}
	return saying(append(say, g.notice(e.Agent), g.costs(ctx, e))...)
}

// saying is an answer with what a person should know.
func saying(what ...string) Answer {
	what = slices.DeleteFunc(what, func(s string) bool { return s == "" })
	if text := strings.Join(what, "; "); text != "" {
		return Answer{Say: "stet guard: " + text}
	}
	return Answer{}
}

// session returns the event's session. Its workspace is the directory in which it began; if that was not seen, the top of the git repository.
func (g *Guard) session(e Event) *session {
	s, old, open := g.sessionOf(e)
	g.warn(g.finishAll(context.Background(), old, open))
	return s
}

func (g *Guard) warn(err error) {
	if err != nil {
		g.Log.Warn("guard", "err", err)
	}
}

// sessionOf returns the event's session, and one that had to go with its calls.
func (g *Guard) sessionOf(e Event) (s, old *session, open []*call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := e.Agent + "\x00" + e.Session
	s = g.sessions[id]
	if s == nil {
		s = &session{workspace: snapshot.Resolve(e.Dir), asks: map[*ask]bool{}, grants: map[string]string{}}
		if e.Kind != Started {
			s.workspace = snapshot.Top(s.workspace)
		}
		g.sessions[id] = s
		if old = oldest(g.sessions, maxSessions, func(s *session) time.Time { return s.seen }); old != nil {
			open, old.calls = old.calls, nil
		}
	}
	s.seen = time.Now()
	return s, old, open
}

// oldest removes the entry that was used first from a map with more than max.
func oldest[V any](m map[string]V, max int, used func(V) time.Time) (removed V) {
	if len(m) <= max {
		return removed
	}
	var name string
	for k, v := range m {
		if at := used(v); !at.IsZero() && (name == "" || at.Before(used(m[name]))) {
			name = k
		}
	}
	removed = m[name]
	delete(m, name)
	return removed
}

// follow returns the follower of a workspace.
func (g *Guard) follow(workspace string) *follower {
	f, old := g.followerOf(workspace)
	for _, t := range old {
		g.warn(g.finishWhere(context.Background(), func(_ *session, c *call) bool { return c.tree == t }))
		g.warn(t.Close())
	}
	return f
}

// restTime is how long a workspace that is too large is not read again.
const restTime = time.Hour

// followerOf returns the follower of a workspace, and the trees that are followed no more.
func (g *Guard) followerOf(workspace string) (f *follower, old []*snapshot.Tree) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f = g.trees[workspace]
	if f != nil && f.tree != nil {
		if err := f.tree.Broken(); err != nil {
			g.Log.Info("guard: the workspace is read again", "workspace", workspace, "err", err)
			old = append(old, f.tree)
			f = nil
			if errors.Is(err, snapshot.ErrTooMany) { // reading it again at each call would take long
				f = &follower{err: err, rest: time.Now().Add(restTime)}
				g.trees[workspace] = f
			}
		}
	}
	if f == nil || f.err != nil && time.Now().After(f.rest) {
		f = &follower{}
		f.tree, f.err = snapshot.Open(workspace, g.Store, snapshot.Options{Limit: g.Limit, Log: g.Log})
		g.trees[workspace] = f
	}
	f.used = time.Now()
	if last := oldest(g.trees, maxTrees, func(f *follower) time.Time { return f.used }); last != nil && last.tree != nil {
		old = append(old, last.tree)
	}
	return f, old
}

// is reports whether an event is about the call, by the agent's own id; without one, by the tool and the arguments.
func (c *call) is(e Event) bool {
	of := c.event
	return of.SubAgent == e.SubAgent && of.Call == e.Call && (e.Call != "" || of.Tool == e.Tool && sameJSON(of.Input, e.Input))
}

// sameJSON reports whether two texts are the same, or JSON of the same value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return bytes.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// remove removes a call from those that run. It reports whether it was there. Guard.mu is held.
func (s *session) remove(c *call) bool {
	i := slices.Index(s.calls, c)
	if i >= 0 {
		s.calls = slices.Delete(s.calls, i, i+1)
	}
	return i >= 0
}

// ended removes the call that has ended from those that run; of equal ones the first. An agent without ids may report other arguments at the end of a
// call than before it: then it is the first call of that tool. nil: none. Guard.mu is held.
func (s *session) ended(e Event) *call {
	i := slices.IndexFunc(s.calls, func(c *call) bool { return c.is(e) })
	if i < 0 && e.Call == "" {
		i = slices.IndexFunc(s.calls, func(c *call) bool {
			return c.event.SubAgent == e.SubAgent && c.event.Call == "" && c.event.Tool == e.Tool
		})
	}
	if i < 0 {
		return nil
	}
	c := s.calls[i]
	s.remove(c)
	return c
}

// before decides about a call and prepares for it.
func (g *Guard) before(ctx context.Context, e Event) (Answer, error) {
	s := g.session(e)
	action := g.Dialects.Action(e.Tool, string(e.Input))
	d, notes, decided, err := g.decide(s.workspace, e, &action)
	answer := Answer{Action: d.Action, Decided: decided, Reason: d.Why}
	if err != nil { // an agent can write to a project's rules: that must not end the guard
		d, decided = policy.Decision{Action: policy.Ask, Rule: "unreadable rules"}, changes(&action)
		answer = Answer{Action: policy.Ask, Decided: decided, Reason: fmt.Sprintf("stet cannot read the rules, so a person decides: %v", err)}
		g.warn(err)
	} else if decided && d.Action == policy.Ask {
		answer.Reason = fmt.Sprintf("stet: %s asks about this", d.Rule)
	}
	c := &call{event: e, action: action, by: d, notes: notes, began: time.Now(), own: ownTool(e.Tool)}
	if !decided {
		c.by = policy.Decision{Action: policy.Allow}
	}
	switch approved := g.takeApproved(s, c); {
	case approved && (!decided || d.Action == policy.Ask):
		answer, decided = Answer{}, false
	case decided && d.Action == policy.Ask && e.Dialog != Beside && c.own == "":
		answer = g.hold(ctx, s, c)
		action = c.action
		decided, d.Action = answer.Decided, answer.Action
	}
	ctx, cancel := lasts(ctx)
	defer cancel()
	if decided && d.Action == policy.Deny {
		return answer, g.log(s, c, cmp.Or(map[string]string{"rejected": string(tool.UserRejected), "timeout": string(tool.Timeout)}[c.decision], "permission_denied"))
	}
	if c.own != "" { // it asks by itself
		answer, c.by = Answer{}, policy.Decision{}
	} else if !changes(&action) {
		return answer, g.log(s, c, record.OK)
	}
	if err := g.overtaken(ctx, s, e); err != nil {
		return Answer{}, err
	}
	if c.head, err = g.head(ctx); err != nil {
		return Answer{}, err
	}
	if changes(&action) {
		g.snapshot(ctx, s, c)
	}
	if c.lost != nil && e.Closed {
		return Answer{
			Action: policy.Deny, Decided: true,
			Reason: fmt.Sprintf("stet guard: this could not be undone, so it is denied: %v", c.lost),
		}, g.log(s, c, "permission_denied")
	}
	if first := g.begin(s, c); first != nil {
		return answer, g.finish(ctx, s, first)
	}
	return answer, nil
}

// snapshot prepares for what a call will change. c.lost says why that is not possible.
func (g *Guard) snapshot(ctx context.Context, s *session, c *call) {
	f := g.follow(s.workspace)
	c.lost = f.err
	if f.err == nil {
		ready := f.wait(ctx, c.event.Closed)
		g.room()
		c.tree = f.tree
		var named []string
		if !ready {
			named = g.named(c.event, &c.action)
		}
		c.snap, c.lost = f.tree.Begin(ctx, named...)
		if !ready && c.event.Closed && c.lost == nil {
			_, _ = c.snap.End(ctx) // it has not begun
			c.snap, c.lost = nil, errors.New("the first snapshot of the workspace is not done yet; try again later")
		}
	}
	if c.lost != nil {
		g.Log.Warn("guard: no snapshot", "workspace", s.workspace, "err", c.lost)
	}
}

// How long a call waits for the first snapshot of its workspace. After that, only the files that it names are protected.
const (
	firstWait       = 2 * time.Second
	firstWaitClosed = 20 * time.Second
)

// wait reports whether the first snapshot is done.
func (f *follower) wait(ctx context.Context, closed bool) (ready bool) {
	most := firstWait
	if closed {
		most = firstWaitClosed
	}
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-f.tree.Ready():
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// overtaken finishes earlier calls of a serial agent without a reported end: some report none of a call that they refused themselves. Other agents may
// still run them.
func (g *Guard) overtaken(ctx context.Context, s *session, e Event) error {
	if !e.Serial {
		return nil
	}
	return g.finishWhere(ctx, func(of *session, c *call) bool {
		return of == s && c.event.SubAgent == e.SubAgent && c.action.Op != dialect.Agent // several sub-agents may run at once
	})
}

// finishWhere finishes some of the calls that run.
func (g *Guard) finishWhere(ctx context.Context, which func(*session, *call) bool) error {
	open := map[*session][]*call{}
	g.mu.Lock()
	for _, s := range g.sessions {
		s.calls = slices.DeleteFunc(s.calls, func(c *call) bool {
			gone := which(s, c)
			if gone {
				open[s] = append(open[s], c)
			}
			return gone
		})
	}
	g.mu.Unlock()
	var errs []error
	for s, calls := range open {
		errs = append(errs, g.finishAll(ctx, s, calls))
	}
	return errors.Join(errs...)
}

func (g *Guard) finishAll(ctx context.Context, s *session, calls []*call) error {
	var errs []error
	for _, c := range calls {
		errs = append(errs, g.finish(ctx, s, c))
	}
	return errors.Join(errs...)
}

// changes reports whether a call can change something: all calls can that are not known to only look.
func changes(a *dialect.Action) bool {
	switch a.Op {
	case dialect.Read, dialect.List, dialect.Output:
		return false
	case dialect.Shell:
		return a.Changes()
	}
	return true
}

// named returns the paths that a call names.
func (g *Guard) named(e Event, a *dialect.Action) (paths []string) {
	for _, t := range a.Targets {
		paths = append(paths, absolute(e.Dir, t.Path))
	}
	if a.Op == dialect.Other && len(a.Targets) == 0 {
		names, lines, _ := mayName(e.Input)
		for _, path := range slices.Concat(names, lines) {
			paths = append(paths, absolute(e.Dir, path))
		}
	}
	if a.Op == dialect.Shell {
		l := g.line(e, a)
		for _, c := range l.Commands {
			for _, name := range slices.Concat(c.Wrote, c.Names) {
				for _, dir := range l.Dirs {
					paths = append(paths, absolute(dir, name))
				}
			}
		}
	}
	return paths
}

func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// after records what a call has changed.
func (g *Guard) after(ctx context.Context, e Event) error {
	s := g.session(e)
	ran := &call{event: e, action: g.Dialects.Action(e.Tool, string(e.Input)), own: ownTool(e.Tool)}
	approved := g.takeApproved(s, ran)
	g.mu.Lock()
	c := s.ended(e)
	g.mu.Unlock()
	if c == nil && g.passed(e.Call) {
		return nil
	}
	switch {
	case c != nil && approved && c.who == "": // the question was about arguments that another hook had changed
		c.decision, c.who = ran.decision, ran.who
	case c != nil && c.agreed != nil && len(e.Input) > 0:
		agreed := call{event: Event{Tool: e.Tool, Input: c.agreed}, action: g.Dialects.Action(e.Tool, string(c.agreed))}
		if !agreed.like(&ran.action, e) {
			c.notes = append(c.notes, otherInput)
		}
	}
	if c == nil {
		c = ran
		if c.own != "" || c.action.Op == dialect.Other && len(e.Input) == 0 || !changes(&c.action) {
			if c.action.Op == dialect.Read && !e.Failed {
				g.read(s, e, &c.action)
			}
			return nil // it was recorded before it ran
		}
		c.lost = errors.New("the guard did not see this call begin, or it had to end its record early")
	}
	c.event.Failed, c.over = e.Failed, true
	return g.finish(ctx, s, c)
}

// otherInput is noted of a call that ran with other arguments than a person has approved, as far as its agent has reported them truly.
const otherInput tool.Note = "ran with other arguments than were approved: another hook may have changed them"

// end finishes the calls of a session of which no end was told: they were interrupted.
func (g *Guard) end(ctx context.Context, e Event) error {
	s := g.session(e)
	return g.finishWhere(ctx, func(of *session, c *call) bool { return of == s && e.stops(c.event.SubAgent) })
}

func (g *Guard) finish(ctx context.Context, s *session, c *call) error {
	var r snapshot.Result
	var err error
	if c.snap != nil {
		if r, err = g.result(ctx, c, c.snap.End); err != nil {
			c.lost = err
		}
	}
	g.mu.Lock()
	delete(g.running, c)
	if c.own != "" {
		g.ended = append(g.ended, endedOwn{s, c, r, time.Now()})
	}
	g.mu.Unlock()
	if c.own == "" {
		if c.tree != nil && (c.ended == "" || c.over) {
			g.edited(s, c, r.Changes)
		}
		err = errors.Join(err, g.write(ctx, s, c, r))
	}
	return err
}

// write records a call that has ended.
func (g *Guard) write(ctx context.Context, s *session, c *call, r snapshot.Result) error {
	outcome := record.OK
	if c.event.Failed {
		outcome = record.Broke
	}
	none := nothing(r)
	if c.ended != "" && c.over && (!c.event.Failed || !none) { // it ran all the same
		c.decidedThere("approved")
		c.ended, c.told = "", false
	}
	switch {
	case c.told:
		return nil
	case c.ended != "": // what changed meanwhile is not the call's
		return g.log(s, c, c.ended)
	case none:
		return g.log(s, c, outcome)
	}
	entry := g.entry(s, c, outcome)
	if len(r.Refs.BackTo(r.RefsBefore)) > 0 {
		entry.Flags = append(entry.Flags, "moved branches, the stash or the index of git")
	}
	entry.Kind = record.Changed
	for p := range r.Changes {
		if entry.Path = p; len(r.Changes) > 1 {
			entry.Path = ""
			break
		}
	}
	entry.Bytes = int64(len(r.Changes))
	if r.Shared {
		g.mu.Lock()
		entry.Flags = append(entry.Flags, c.with...)
		g.mu.Unlock()
	}
	if r.Partial {
		entry.Flags = append(entry.Flags, "the first snapshot was not done: only named files are known")
	}
	var err error
	if entry.After, err = r.Save(g.Store); err != nil {
		c.lost = fmt.Errorf("%d changes, and no space to record them: %w", len(r.Changes), err)
		return errors.Join(err, g.log(s, c, outcome))
	}
	_, err = g.journal.Now(ctx, entry)
	return err
}

// log records a call that changed nothing, as far as the guard knows.
func (g *Guard) log(s *session, c *call, outcome string) error {
	e := g.entry(s, c, outcome)
	if c.lost != nil {
		e.Flags = append(e.Flags, "no snapshot: "+c.lost.Error())
	}
	return g.journal.Later(e)
}

func (g *Guard) entry(s *session, c *call, outcome string) record.Entry {
	e := record.Entry{
		Kind: record.Call, Time: time.Now(), Root: s.workspace, Session: c.event.Session, Client: c.event.Agent, CallID: c.event.Call, Tool: c.event.Tool,
		Decision: "allowed", By: "the agent", Outcome: outcome,
	}
	if len(c.action.Targets) == 1 {
		if rel, ok := relative(s.workspace, c.event.Dir, c.action.Targets[0].Path); ok {
			e.Path = rel
		}
	}
	if c.by.Rule != "" {
		e.By = "policy " + c.by.Rule
		e.Decision = map[policy.Action]string{policy.Allow: "allowed", policy.Ask: "asked", policy.Deny: "denied"}[c.by.Action]
	}
	if c.who != "" {
		e.Decision, e.By = c.decision, c.who
	}
	for _, n := range c.notes {
		e.Flags = append(e.Flags, string(n))
	}
	if c.event.SubAgent != "" {
		e.Flags = append(e.Flags, "sub-agent "+c.event.SubAgent)
	}
	return e
}

// relative returns a path relative to the workspace, with slashes. ok is false outside of it.
func relative(workspace, dir, p string) (rel string, ok bool) {
	p = absolute(dir, p)
	if !snapshot.Contains(workspace, p) {
		return "", false
	}
	rel, err := filepath.Rel(workspace, p)
	return filepath.ToSlash(rel), err == nil
}
