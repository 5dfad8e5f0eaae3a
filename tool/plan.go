package tool

import (
	"context"
	"errors"
)

// ErrChanged is the error of Apply if the file has changed since the plan. Nothing was written.
var ErrChanged = errors.New("changed since the plan was made")

// Plan is what one call would do. A plan that is already done, because it only read or was refused, has Done and nothing to apply.
type Plan struct {
	Call Call
	Done *Result

	// Deliver makes the result of a done plan at the time when it is given to the caller. Only then does its content count as
	// shown, not while a person still decides. Done then has the code, and may have no text. nil: the result is Done.
	Deliver func() Result

	Path   string // the file, relative to the workspace, links resolved
	Before string // its content hash now; "": no file
	After  string // its content hash once applied
	Size   int64  // bytes once applied
	Dirs   int    // number of directories to make for it: the last ones of Path
	Diff   Diff   // of the decoded texts; empty if they cannot be shown; see also Outside
	Notes  []Note // what the person or policy that decides must know

	// Grown is set in an edit that was planned again, if the file has since only grown at its end. It is then Before of the earlier
	// plan; otherwise "".
	Grown string

	// Files are the files of a plan that writes to several; otherwise nil. Path is then a directory that contains them all, Size
	// their sum, and Before and After are hashes over their hashes.
	Files []File

	// Content is the whole new text, for a person who edits it before approving; nil if it is not text.
	Content []byte

	// Numbers are the numbers of the writes in the audit trail: one for each of Files, or one for Path. They are set before Apply;
	// nil: no trail.
	Numbers []uint64

	// Apply applies the plan if the file's hash is still Before; otherwise it returns ErrChanged. It is called at most once.
	Apply func(ctx context.Context) (Result, error)

	// Replan plans again with the approved content on the current file. The content was edited by the person, or is merged with
	// other changes. A conflict gives a Plan that is Done.
	Replan func(ctx context.Context, approved []byte) (*Plan, error)
}

// File is one of several files that a plan writes to.
type File struct {
	Path          string
	Before, After string // content hashes; "": no file
	Size          int64  // bytes once applied
	Dirs          int    // as in Plan
}

// Note is a fact about a plan on which policy and people decide.
type Note string

// The notes.
const (
	Unread     Note = "unread"      // the file exists, and this session did not read it
	PartRead   Note = "part_read"   // the file is overwritten, and this session has not read all of it
	Stale      Note = "stale"       // the file changed since this session read it, and the plan is not merged with the change
	Control    Note = "control"     // it makes something run, or says what may
	Secret     Note = "secret"      // it may hold keys or passwords, which the call shows
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

	// Of a call of an agent's own tool:
	Away       Note = "away"       // outside of the workspace
	Deletes    Note = "deletes"    // a command that deletes directories, or throws away changes
	Overwrites Note = "overwrites" // a command that replaces what others may have fetched: a forced push
	Fetched    Note = "fetched"    // a command that may run what it gets from the network
	Stet       Note = "stet"       // it runs stet, or reaches stet's state or hooks

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
