package record

import (
	"context"
	"time"
)

// Kind is the kind of an entry of the audit trail.
type Kind string

// The kinds. A write has two entries: an intent before it happens, and an outcome after it. Everything else has one entry.
const (
	Call    Kind = "call"    // an operation that changed nothing, or was refused
	Intent  Kind = "intent"  // a write that is about to be done
	Outcome Kind = "outcome" // the outcome of the write whose intent is Entry.Intent
	Changed Kind = "changed" // what a call of an agent's own tool changed: Entry.After names the list, Entry.Bytes is how many paths
	Alarm   Kind = "alarm"   // a session's calls look like an attempt to leave the workspace
	Suspend Kind = "suspend" // the session's calls are refused from this entry on
	Resume  Kind = "resume"  // the session's calls are allowed again
	Prune   Kind = "prune"   // the oldest entries, up to Entry.Intent with the hash Entry.Before, were removed
	Loss    Kind = "loss"    // a person has accepted that the entries up to Entry.Intent, with the hash Entry.Before, are gone
)

// Outcomes. Any other outcome is an error code: the operation was not done.
const (
	OK    = "ok"
	Broke = "error" // an error without a code; a write may have been done
)

// Entry is one entry of the audit trail. Like every row of this package it has no content: it has names and hashes of
// files. "stet audit --json" prints its JSON, and the web UI shows it.
type Entry struct {
	Seq  uint64    `json:"seq"`  // numbers without gaps, from 1, or from after the pruned entries; set by the trail
	Time time.Time `json:"time"` // trails keep microseconds, in UTC

	Kind   Kind   `json:"kind"`
	Intent uint64 `json:"intent,omitempty"` // for Outcome: the Seq of the intent; for Prune and Loss: the Seq of the last entry that is gone

	Root    string `json:"root,omitempty" max:"4096"`   // the workspace, as an absolute path
	Session string `json:"session,omitempty"`           // the client session
	Client  string `json:"client,omitempty" max:"4096"` // the name that the caller gives itself
	CallID  string `json:"call_id,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Path    string `json:"path,omitempty" max:"4096"` // relative to the root; if the path could not be resolved, as the call gave it
	Bytes   int64  `json:"bytes"`                     // size of the written file, or of the result if nothing is written
	Before  string `json:"before,omitempty"`          // content hash before the write, or of what was read; "": there was no file
	After   string `json:"after,omitempty"`           // content hash after a write

	Decision string   `json:"decision,omitempty" max:"4096"` // "allowed", "approved", "edited", "rejected", …
	By       string   `json:"by,omitempty" max:"4096"`       // what or who decided: "policy default", "person desk"
	Outcome  string   `json:"outcome,omitempty"`             // OK, Broke, or a code; "" with Intent
	Flags    []string `json:"flags,omitempty" max:"4096"`

	// Request is a hash of the tool's name and the call's arguments. It is set if the call must not be done twice under its
	// CallID: see tool.Call.Once.
	Request string `json:"request,omitempty"`

	Prev string `json:"prev"` // Hash of the entry before; "" for the first; set by the trail
	Hash string `json:"hash"` // see Chain; set by the trail
}

// TrailQuery selects entries. The zero value selects all.
type TrailQuery struct {
	After    uint64    // Seq > After
	From, To time.Time // From ≤ Time < To; zero is open
	Root     string
	Session  string
	Kinds    []Kind // none: all
	CallID   string // only entries with a Request and this CallID
	// Limit is the largest number of entries: the first ones, or the last ones if Last is set; 0: all.
	Limit int
	Last  bool
}

// Trail is an append-only audit trail. Its entries are chained by hash. Its methods may be called concurrently. Several
// processes may have the same trail open at once.
type Trail interface {
	// Log appends entries in their order, all or none, and returns them with Seq, Prev and Hash. When it returns nil, they
	// survive the end of the process. If one of them is Durable, they survive a loss of power, too.
	Log(ctx context.Context, entries ...Entry) ([]Entry, error)

	// Entries returns the selected entries, by rising Seq. The caller owns what is returned.
	Entries(ctx context.Context, q TrailQuery) ([]Entry, error)
}

// Durable reports whether the entry must survive a loss of power.
func (e Entry) Durable() bool {
	switch e.Kind {
	case Intent, Changed, Suspend, Prune, Loss:
		return true
	}
	return false
}

// Suspended returns the Suspend entries of the sessions that are still suspended, the oldest first.
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
