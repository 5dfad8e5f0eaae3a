// Package freshness knows which files a session has read and edited, and
// whether what it saw is still what is there.
//
// An Observation is one thing that happened to a file. A State is the fold of a
// session's observations: the same observations in the same order give the same
// State. A Tracker is a State for several goroutines. Content hashes decide whether
// a file has changed; stamps only save work. The disk is looked at by a function
// that the caller hands in: In makes one for a workspace.
//
// Paths are relative to the workspace, with slashes. Names that differ only in
// case are one file, unless their identities (device and inode) are known and
// differ.
package freshness

import (
	"cmp"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/workspace"
)

// Kind says what was observed.
type Kind string

// The kinds.
const (
	Read     Kind = "read"     // the session was shown lines of the file
	Edited   Kind = "edited"   // the session wrote the file
	Seen     Kind = "seen"     // the disk was looked at, nothing was shown
	Forgot   Kind = "forgot"   // what was shown is not in view any more
	Reported Kind = "reported" // what another program did to the file was reported to the session
)

// Observation is one thing that happened to a file. It is a session's event:
// its JSON is stored.
type Observation struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path"`

	// Version and Stamp are what was there. An empty Version was not computed. Gone
	// says that nothing is there, or that the session removed it.
	Version workspace.Version `json:"version,omitempty"`
	Stamp   workspace.Stamp   `json:"stamp,omitzero"`
	Gone    bool              `json:"gone,omitempty"`

	Lines Range `json:"lines,omitzero"` // that a Read showed
	Part  bool  `json:"part,omitempty"` // after an Edited, the session does not know all of the file; a Reported said that it changed, not how

	// From is the version that an Edited with Part replaced: if the session knew all of that, it knows all of the new one.
	From workspace.Version `json:"from,omitempty"`

	Time time.Time `json:"time"` // when it was looked at: not later than Stamp was taken
}

// Range is lines First to Last of a file, counted from 1. A Last of 0 is the
// end of the file; the zero Range is the whole file.
type Range struct {
	First int `json:"first,omitempty"`
	Last  int `json:"last,omitempty"`
}

// bounds returns the range with both ends named.
func (r Range) bounds() (first, last int) {
	first, last = max(r.First, 1), r.Last
	if last == 0 {
		last = endless
	}
	return first, last
}

const endless = 1<<31 - 1 // more lines than a file has

// Ranges are lines of a file, in ascending order. No two of them touch.
type Ranges []Range

// Add returns the ranges with the lines of r.
func (ranges Ranges) Add(r Range) Ranges {
	first, last := r.bounds()
	if last < first {
		return ranges
	}
	all := append(slices.Clone(ranges), Range{first, last})
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && (out[n-1].Last == endless || r.First <= out[n-1].Last+1) {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Covers reports whether every line of r is in the ranges.
func (ranges Ranges) Covers(r Range) bool {
	first, last := r.bounds()
	return slices.ContainsFunc(ranges, func(have Range) bool {
		return have.First <= first && last <= have.Last
	})
}

// Status says how a file on disk stands to what the session saw of it.
type Status string

// The statuses.
const (
	Unknown  Status = "unknown"  // the session never saw it, or nothing can be said
	Fresh    Status = "fresh"    // the content is what the session saw last, or wrote
	Modified Status = "modified" // another program has changed it
	Deleted  Status = "deleted"  // another program has removed it
)
