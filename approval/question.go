package approval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/tool"
)

// ErrNoPerson is what an Approver answers when there is no person it could ask.
var ErrNoPerson = errors.New("nobody can be asked")

// Approver puts a question to a person and waits for the answer, or for the
// end of ctx, whose error it then returns: the question is withdrawn. It may
// be called concurrently, and no question may wait for another's answer.
type Approver interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is what a person decides about: one call, and exactly what it would
// do. (FILE-6)
type Question struct {
	ID      string    `json:"id,omitempty"` // given by a Queue
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // no answer counts after it

	Root    string `json:"root,omitempty"` // the workspace: its directory, or what a gateway calls it
	Session string `json:"session"`
	Client  string `json:"client,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Tool    string `json:"tool"`

	Path     string      `json:"path"`
	Write    bool        `json:"write"`            // else the call would only read
	Before   string      `json:"before,omitempty"` // see tool.Plan, also for the next ones
	After    string      `json:"after,omitempty"`
	Size     int64       `json:"size"`
	Diff     tool.Diff   `json:"diff,omitzero"`     // its text
	Added    int         `json:"added,omitempty"`   // lines of Diff, or of Content without one; given by a Queue
	Removed  int         `json:"removed,omitempty"` // likewise
	Files    []File      `json:"files,omitempty"`   // where there are several
	Notes    []tool.Note `json:"notes,omitempty"`
	Content  []byte      `json:"content,omitempty"` // for Edit; not to be changed
	Editable bool        `json:"editable,omitempty"`

	Why       string `json:"why"`                 // what made us ask: "default", "control file"
	Grantable bool   `json:"grantable,omitempty"` // ForSession and ForPattern are answers
	Relay     bool   `json:"relay,omitempty"`     // an answer relayed by the client is one
	Again     int    `json:"again,omitempty"`     // how often it was asked before, because the file changed

	Seal string `json:"seal"` // of path, base and result; an approval has to bear it
}

// Partial reports whether Diff does not show all that would be written.
func (q Question) Partial() bool { return slices.Contains(q.Notes, tool.Large) }

// bytes is about how much memory the question takes while it is open: the call that
// waits holds its arguments, the text as it is and as it would be, and its bytes.
func (q Question) bytes() int64 {
	n := 4<<10 + q.Diff.Memory() + int64(4*len(q.Content))
	for _, f := range q.Files {
		n += int64(200 + len(f.Path))
	}
	return n
}

// count sums up the lines that are added and removed. It is done once, since a list
// shows the numbers of many questions.
func (q *Question) count() {
	if q.Added+q.Removed > 0 || q.Outside() {
		return
	}
	for _, f := range q.Diff.Files {
		q.Added += f.Added
		q.Removed += f.Removed
	}
	if q.Diff.Empty() && utf8.Valid(q.Content) {
		for range bytes.Lines(q.Content) {
			q.Added++
		}
	}
}

// Outside reports whether it is about a tool that is not ours, and no file that
// is known here: Diff has the arguments of the call. ForSession is then about
// this tool.
func (q Question) Outside() bool { return slices.Contains(q.Notes, tool.Outside) }

// File is one of several files that a call would write to: see tool.File.
type File struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Size   int64  `json:"size"`
}

// Verdict is how a person decided.
type Verdict string

// The verdicts.
const (
	Approve    Verdict = "approve"
	ForSession Verdict = "session" // approve, and what else the session wants to write, or has asked to
	ForPattern Verdict = "pattern" // approve, and what else it wants to write to such paths, or has asked to
	Edit       Verdict = "edit"    // approve, with the content of Answer.Content
	Reject     Verdict = "reject"
	Cancel     Verdict = "cancel" // end the call
)

// Answer is a person's decision.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	Seal    string  `json:"seal,omitempty"`    // with approvals: of the question that was seen
	Pattern string  `json:"pattern,omitempty"` // with ForPattern, see policy.Pattern
	Content []byte  `json:"content,omitempty"` // with Edit: the whole text
	Words   string  `json:"words,omitempty"`   // with Reject: for the model

	By      string `json:"by,omitempty"`      // who answered, for the audit trail
	Relayed bool   `json:"relayed,omitempty"` // a client says that its person answered so
}

// Approves reports whether the answer lets the call be done.
func (a Answer) Approves() bool {
	return a.Verdict == Approve || a.Verdict == ForSession || a.Verdict == ForPattern || a.Verdict == Edit
}

// maxWords is how many bytes of a person's words go to the model.
const maxWords = 8000

// errNotEditable is for an edit of what has no whole text.
var errNotEditable = errors.New("this cannot be edited before approving: there is no whole text")

// Check says what is wrong with a as an answer to q.
func (q Question) Check(a Answer) error {
	switch a.Verdict {
	case Approve:
	case Reject, Cancel:
		if len(a.Words) > maxWords {
			return fmt.Errorf("%d bytes of words: at most %d", len(a.Words), maxWords)
		}
		return nil // a no needs no reason and no seal
	case Edit:
		if !q.Editable {
			return errNotEditable
		}
	case ForSession, ForPattern:
		if !q.Grantable {
			return fmt.Errorf("this can be approved for this once only (%s)", q.Why)
		}
	default:
		return fmt.Errorf("unknown verdict %q", a.Verdict)
	}
	if a.Seal != q.Seal {
		return errors.New("the approval is of something else than what is asked")
	}
	if a.Relayed && !q.Relay {
		return errors.New("an answer through the client does not suffice here: answer by `stet approve`")
	}
	if a.Verdict == ForPattern {
		p, err := policy.ParsePattern(a.Pattern)
		if err != nil {
			return err
		}
		paths := []string{q.Path}
		if len(q.Files) > 0 {
			paths = nil
		}
		for _, f := range q.Files {
			paths = append(paths, f.Path)
		}
		for _, path := range paths {
			if !p.Match(path) {
				return fmt.Errorf("pattern %q does not match %q", a.Pattern, path)
			}
		}
	}
	return nil
}

// covers reports whether a, an answer to q, answers another question too: it holds for
// later calls, and would be an answer to the other question as well. An answer holds in
// the workspace that was asked about: a session may have calls in several.
func (q Question) covers(a Answer, other Question) bool {
	if a.Verdict != ForSession && a.Verdict != ForPattern {
		return false
	}
	a.Seal = other.Seal
	if q.Outside() != other.Outside() || q.Outside() && q.Tool != other.Tool {
		return false
	}
	return other.Root == q.Root && other.Session == q.Session && other.Write == q.Write && other.Check(a) == nil
}

func (q Question) expired(now time.Time) bool { return !q.Expires.IsZero() && !now.Before(q.Expires) }

// seal binds path, base and result together; outside, tool and arguments.
func seal(p *tool.Plan) string {
	bound := []string{"stet plan 1", p.Path, p.Before, p.After}
	if p.Has(tool.Outside) {
		bound = []string{"stet call 1", p.Call.Name, string(p.Call.Arguments)}
	}
	sum := sha256.Sum256([]byte(strings.Join(bound, "\x00")))
	return hex.EncodeToString(sum[:])
}
