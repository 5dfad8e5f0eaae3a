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

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// ErrNoPerson is the error of an Approver that has no person to ask.
var ErrNoPerson = errors.New("there is no person to ask")

// Approver asks a person a question and waits for the answer or the end of ctx. If ctx ends, it withdraws the question and returns
// the error of ctx. It may be called concurrently. A question must not wait for the answer to another one.
type Approver interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question asks a person about one call. It has exactly what the call would do. (FILE-6)
type Question struct {
	ID      string    `json:"id,omitempty"` // set by a Queue
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // a later answer does not count

	Root    string `json:"root,omitempty"` // the workspace: its directory, or its name at a gateway
	Session string `json:"session"`
	Client  string `json:"client,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Tool    string `json:"tool"`

	Path     string      `json:"path"`
	Write    bool        `json:"write"`            // false: the call only reads
	Before   string      `json:"before,omitempty"` // see tool.Plan, also for the next ones
	After    string      `json:"after,omitempty"`
	Size     int64       `json:"size"`
	Diff     tool.Diff   `json:"diff,omitzero"`     // its text
	Added    int         `json:"added,omitempty"`   // lines added in Diff, or in Content if there is no Diff; set by a Queue
	Removed  int         `json:"removed,omitempty"` // lines removed; set by a Queue
	Files    []File      `json:"files,omitempty"`   // if there are several files
	Notes    []tool.Note `json:"notes,omitempty"`
	Content  []byte      `json:"content,omitempty"` // for Edit; must not be changed
	Editable bool        `json:"editable,omitempty"`

	Why       string `json:"why"`                 // why the person is asked: "default", "control file"
	Grantable bool   `json:"grantable,omitempty"` // ForSession and ForPattern are answers
	Relay     bool   `json:"relay,omitempty"`     // an answer relayed by the client is accepted
	Again     int    `json:"again,omitempty"`     // how often it was asked again because the file changed

	Seal string `json:"seal"` // hash of path, base and result; an approval must contain it
}

// Partial reports whether Diff shows only a part of the change.
func (q Question) Partial() bool { return slices.Contains(q.Notes, tool.Large) }

// bytes returns about how much memory the question takes while it is open. Its waiting call holds the arguments, the old and new
// text, and their bytes.
func (q Question) bytes() int64 {
	n := 4<<10 + q.Diff.Memory() + int64(4*len(q.Content))
	for _, f := range q.Files {
		n += int64(200 + len(f.Path))
	}
	return n
}

// count counts the added and removed lines. It runs once, because a list shows these numbers for many questions.
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

// Outside reports whether the question is about a tool that is not stet's own. Then it names no file, and Diff has the call's
// arguments. ForSession then covers this tool.
func (q Question) Outside() bool { return slices.Contains(q.Notes, tool.Outside) }

// File is one of the several files that a call would write to: see tool.File.
type File struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Size   int64  `json:"size"`
}

// Verdict is a person's decision.
type Verdict string

// The verdicts.
const (
	Approve    Verdict = "approve"
	ForSession Verdict = "session" // approve this, and the session's other writes
	ForPattern Verdict = "pattern" // approve this, and the session's other writes to matching paths
	Edit       Verdict = "edit"    // approve, with the content in Answer.Content
	Reject     Verdict = "reject"
	Cancel     Verdict = "cancel" // end the call
)

// Answer is a person's decision.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	Seal    string  `json:"seal,omitempty"`    // with approvals: the seal of the shown question
	Pattern string  `json:"pattern,omitempty"` // with ForPattern, see policy.Pattern
	Content []byte  `json:"content,omitempty"` // with Edit: the whole text
	Words   string  `json:"words,omitempty"`   // with Reject: text for the model

	By      string `json:"by,omitempty"`      // the person's name, for the audit trail
	Relayed bool   `json:"relayed,omitempty"` // a client says that its person gave this answer
}

// Approves reports whether the answer allows the call.
func (a Answer) Approves() bool {
	return a.Verdict == Approve || a.Verdict == ForSession || a.Verdict == ForPattern || a.Verdict == Edit
}

// maxWords is the limit, in bytes, of a person's text for the model.
const maxWords = 8000

// errNotEditable is the error for an edit of a change that has no whole text.
var errNotEditable = errors.New("this cannot be edited before approving: there is no whole text")

// Check returns what is wrong with the answer a to q.
func (q Question) Check(a Answer) error {
	switch a.Verdict {
	case Approve:
	case Reject, Cancel:
		if len(a.Words) > maxWords {
			return fmt.Errorf("%d bytes of words: at most %d", len(a.Words), maxWords)
		}
		return nil // a refusal needs no reason and no seal
	case Edit:
		if !q.Editable {
			return errNotEditable
		}
	case ForSession, ForPattern:
		if !q.Grantable {
			return fmt.Errorf("this can be approved only once, not for more calls (%s)", q.Why)
		}
	default:
		return fmt.Errorf("unknown verdict %q", a.Verdict)
	}
	if a.Seal != q.Seal {
		return errors.New("the approval is for another question than this one")
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

// covers reports whether a, an answer to q, also answers another question: it must hold for later calls, and must be a valid answer
// to the other question. A grant holds only in the workspace of its question, because a session may have calls in several.
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

// Until returns the time of day at which the question expires, with the date if that is another day; "": it does not expire.
func (q Question) Until() string {
	switch end := q.Expires.Local(); {
	case q.Expires.IsZero():
		return ""
	case end.Format(time.DateOnly) == q.Asked.Local().Format(time.DateOnly):
		return end.Format(time.TimeOnly)
	default:
		return end.Format(time.DateTime)
	}
}

func (q Question) expired(now time.Time) bool { return !q.Expires.IsZero() && !now.Before(q.Expires) }

// seal hashes path, base and result; for an outside tool, the tool and its arguments.
func seal(p *tool.Plan) string {
	bound := []string{"stet plan 1", p.Path, p.Before, p.After}
	if p.Has(tool.Outside) {
		bound = []string{"stet call 1", p.Call.Name, string(p.Call.Arguments)}
	}
	sum := sha256.Sum256([]byte(strings.Join(bound, "\x00")))
	return hex.EncodeToString(sum[:])
}
