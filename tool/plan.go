package tool

import (
	"context"
	"errors"
)

// ErrChanged is what Apply returns when the file is no longer the one that was
// planned on. Nothing has been written.
var ErrChanged = errors.New("changed since the plan was made")

// Plan is what one call would do. A plan that is done already, because it only
// read or because it was refused, has Done and nothing else to apply.
type Plan struct {
	Call Call
	Done *Result

	// Deliver makes the result of a plan that is done, when it is handed to
	// the caller: what it shows counts as shown from then on, and not while a
	// person still decides. Done has the code then, and may have no text. Nil:
	// the result is Done.
	Deliver func() Result

	Path   string // the file, relative to the workspace, links resolved
	Before string // its content hash now; "" where there is no file
	After  string // its content hash once applied
	Size   int64  // bytes once applied
	Dirs   int    // directories that are made for it: the last so many of Path's
	Diff   Diff   // of the decoded texts; empty where they cannot be shown; see also Outside
	Notes  []Note // what whoever decides has to know

	// Grown is set in an edit that was planned again: to Before of the plan it
	// comes from, where the file has only grown at its end since then; else "".
	Grown string

	// Files are the files of a plan that writes to several, else nil. Path is
	// then a directory that holds them all, Size their sum, and Before and
	// After are hashes over theirs.
	Files []File

	// Content is the whole text once applied, for a person who edits before
	// approving; nil where it is not text.
	Content []byte

	// Numbers are those of the writes in the audit trail, one for each of Files, or the one of
	// Path. They are set before Apply; nil: there is no trail.
	Numbers []uint64

	// Apply does what was planned if the file is still the one of Before,
	// else it returns ErrChanged. It is called once at most.
	Apply func(ctx context.Context) (Result, error)

	// Replan plans again from the content that was approved, on the file as
	// it is now: edited by the person, or merged with what others have
	// written meanwhile. A conflict is a Plan that is Done.
	Replan func(ctx context.Context, approved []byte) (*Plan, error)
}

// File is one of several files that a plan writes to.
type File struct {
	Path          string
	Before, After string // content hashes, "" where there is no file
	Size          int64  // bytes once applied
	Dirs          int    // as in Plan
}

// Note is something about a plan that policy and people decide by.
type Note string

// The notes.
const (
	Unread     Note = "unread"      // the file is there, and this session never read it
	PartRead   Note = "part_read"   // the file is overwritten, and this session does not know all of it
	Stale      Note = "stale"       // the file changed since this session read it, and the plan is not merged with what it read
	Control    Note = "control"     // it makes something run, or says what may
	Build      Note = "build"       // building, testing or installing runs what the file says
	Executable Note = "executable"  // its mode lets it be executed
	HardLink   Note = "hard_link"   // it has other names, maybe outside the workspace
	Merged     Note = "merged"      // the content is merged with a change by others
	Hidden     Note = "hidden"      // the new text or the name has characters that are not seen
	ReadOnly   Note = "read_only"   // the file's mode forbids writing
	Attributes Note = "attributes"  // owner or attributes cannot be kept
	Reencoded  Note = "reencoded"   // the whole file is written in another encoding
	Large      Note = "large"       // too large to be shown whole
	NewDirs    Note = "directories" // directories are created with it

	// Instructions: agents take what the file says for instructions.
	Instructions Note = "instructions"

	// Outside: a tool that is not stet's own does it, not to a file that is known here.
	// The plan has no path, and its Diff shows the arguments of the call. Where the
	// tool's Spec says ReadOnly, it is a read for all that it has an Apply.
	Outside Note = "outside"
)

// Result is the result of a plan that is done, on its way to the caller. It is
// asked for once at most.
func (p *Plan) Result() Result {
	if p.Deliver != nil {
		return p.Deliver()
	}
	return *p.Done
}

// Has reports whether the plan bears the note.
func (p *Plan) Has(n Note) bool {
	for _, m := range p.Notes {
		if m == n {
			return true
		}
	}
	return false
}
