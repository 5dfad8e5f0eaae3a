package record

import (
	"context"
	"slices"
	"time"
)

// Kind is what an entry of the audit trail is.
type Kind string

// The kinds. A write has two entries, an intent before it happens and an
// outcome after; everything else has one. (FILE-11)
const (
	Call    Kind = "call"    // an operation that changed nothing, or was refused
	Intent  Kind = "intent"  // a write that is about to be done
	Outcome Kind = "outcome" // what the write of Entry.Intent came to
	Alarm   Kind = "alarm"   // a session's calls look like an attempt to get out
	Suspend Kind = "suspend" // the session's calls are refused from here on
	Resume  Kind = "resume"  // and no longer
	Prune   Kind = "prune"   // the oldest entries, up to Entry.Intent with the hash Entry.Before, were removed
	Loss    Kind = "loss"    // a person has noted that the entries up to Entry.Intent, with the hash Entry.Before, are gone
)

// Outcomes. The others are codes (FILE-5), of what was not done.
const (
	OK    = "ok"
	Broke = "error" // something broke
)

// Entry is one entry of the audit trail. Like every row of this package it has
// no content: of files it has names and hashes. Its JSON is what "stet audit
// --json" prints and the web UI shows.
type Entry struct {
	Seq  uint64    `json:"seq"`  // without gaps, from 1 or from behind what was pruned; given by the trail
	Time time.Time `json:"time"` // trails keep microseconds, in UTC

	Kind   Kind   `json:"kind"`
	Intent uint64 `json:"intent,omitempty"` // with Outcome: the Seq of the intent; with Prune and Loss: of the last entry that is gone

	Root    string `json:"root,omitempty"`    // the workspace, as an absolute path
	Session string `json:"session,omitempty"` // the client session
	Client  string `json:"client,omitempty"`  // who called, as it calls itself
	CallID  string `json:"call_id,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Path    string `json:"path,omitempty"`   // relative to the root; as it was given, where it led nowhere
	Bytes   int64  `json:"bytes"`            // of the file as written; of the result, where nothing is written
	Before  string `json:"before,omitempty"` // content hash before, or of what was read; "" where there was no file
	After   string `json:"after,omitempty"`  // content hash after a write

	Decision string   `json:"decision,omitempty"` // "allowed", "approved", "edited", "rejected", …
	By       string   `json:"by,omitempty"`       // what or who decided: "policy default", "person desk"
	Outcome  string   `json:"outcome,omitempty"`  // OK, Broke, or a code; "" with Intent
	Flags    []string `json:"flags,omitempty"`

	// Request is a hash of the tool's name and the call's arguments, where the call
	// must not be done twice under its CallID: see tool.Call.Once.
	Request string `json:"request,omitempty"`

	Prev string `json:"prev"` // Hash of the entry before, "" for the first; given by the trail
	Hash string `json:"hash"` // see Chain; given by the trail
}

// TrailQuery chooses entries. The zero value chooses all.
type TrailQuery struct {
	After    uint64    // Seq > After
	From, To time.Time // From ≤ Time < To; zero is open
	Root     string
	Session  string
	Kinds    []Kind // none: all
	CallID   string // only entries with a Request and this CallID
	// Limit keeps at most so many, the first ones or, with Last, the last
	// ones; 0 keeps all.
	Limit int
	Last  bool
}

// Trail is an append-only audit trail, whose entries are chained by hash. Its
// methods may be called concurrently; several processes may have the same
// trail open at once.
type Trail interface {
	// Log appends entries, all or none, in their order, and returns them with
	// Seq, Prev and Hash. When it returns nil they are durable against the end
	// of the process; if an Intent or a Suspend is among them, against the loss
	// of power too.
	Log(ctx context.Context, entries ...Entry) ([]Entry, error)

	// Entries lists what q chooses, by rising Seq. What is returned is the
	// caller's.
	Entries(ctx context.Context, q TrailQuery) ([]Entry, error)
}

// Durable reports whether the entry must survive a loss of power.
func (e Entry) Durable() bool {
	switch e.Kind {
	case Intent, Suspend, Prune, Loss:
		return true
	}
	return false
}

func (q TrailQuery) chooses(e Entry) bool {
	switch {
	case e.Seq <= q.After, !q.From.IsZero() && e.Time.Before(q.From), !q.To.IsZero() && !e.Time.Before(q.To):
		return false
	case q.Root != "" && q.Root != e.Root, q.Session != "" && q.Session != e.Session:
		return false
	case q.CallID != "" && (q.CallID != e.CallID || e.Request == ""):
		return false
	}
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)
}

// Log implements Trail.
func (m *Memory) Log(ctx context.Context, entries ...Entry) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var last Link
	if n := len(m.trail); n > 0 {
		last = m.trail[n-1].Link()
	}
	chained := Chain(last, entries)
	for _, e := range chained {
		e.Flags = slices.Clone(e.Flags)
		m.trail = append(m.trail, e)
	}
	return chained, nil
}

// Entries implements Trail.
func (m *Memory) Entries(ctx context.Context, q TrailQuery) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []Entry
	for _, e := range m.trail {
		if q.chooses(e) {
			e.Flags = slices.Clone(e.Flags)
			out = append(out, e)
		}
	}
	if q.Last {
		return newest(out, q.Limit), nil
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = slices.Clone(out[:q.Limit])
	}
	return out, nil
}

// Suspended are the entries that suspended the sessions that still are,
// oldest first.
func Suspended(ctx context.Context, t Trail) ([]Entry, error) {
	all, err := t.Entries(ctx, TrailQuery{Kinds: []Kind{Suspend, Resume}})
	if err != nil {
		return nil, err
	}
	newest := map[string]uint64{}
	for _, e := range all {
		newest[e.Session] = e.Seq
	}
	var left []Entry
	for _, e := range all {
		if e.Kind == Suspend && newest[e.Session] == e.Seq {
			left = append(left, e)
		}
	}
	return left, nil
}
