package approval

import (
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

// Question asks a person about one call. It has exactly what the call would do. It is the JSON of a question everywhere: on the
// gateway's wire, on the page, and between stet's own programs. The tags are for the gateway's schema and for limits.Strings.
type Question struct {
	ID      string    `json:"id,omitempty"` // set by a Queue
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // a later answer does not count

	Root    string `json:"-"` // the workspace: its directory, or its name at a gateway; it stays in this process
	Session string `json:"session"`
	Client  string `json:"client,omitempty" max:"4096"`
	CallID  string `json:"call_id,omitempty"`
	Tool    string `json:"tool"`

	Path     string      `json:"path" max:"4096"`
	Write    bool        `json:"write" jsonschema:"else the call would only read"`
	Before   string      `json:"before,omitempty" jsonschema:"content hash now"` // see tool.Plan, also for the next ones
	After    string      `json:"after,omitempty" jsonschema:"content hash once applied"`
	Size     int64       `json:"size" jsonschema:"bytes once applied"`
	Diff     tool.Diff   `json:"diff,omitzero" jsonschema:"unified"` // its text
	Files    []File      `json:"files,omitempty" jsonschema:"where there are several"`
	Notes    []tool.Note `json:"notes,omitempty" max:"16384"`
	Content  []byte      `json:"content,omitempty" jsonschema:"base64: what an edit begins with"` // for Edit; must not be changed
	Editable bool        `json:"editable,omitempty"`

	// Native: an agent's own tool does it, and the agent may ask in its own dialog too. Diff has a command whole, or the arguments of a tool
	// of unknown effect.
	Native   bool   `json:"native,omitempty"`
	Command  string `json:"command,omitempty" max:"4096" jsonschema:"the beginning of what a shell would run"`
	Dir      string `json:"dir,omitempty" max:"4096" jsonschema:"where it would run"`
	About    string `json:"about,omitempty" max:"4096" jsonschema:"the session's title"`
	SubAgent string `json:"sub_agent,omitempty" max:"4096"`
	Scope    string `json:"scope,omitempty" max:"16384" jsonschema:"what the answer session covers; none: all writes of the session, or the tool"`

	Why       string `json:"why" max:"16384"` // why the person is asked: "default", "control file"
	Grantable bool   `json:"grantable,omitempty" jsonschema:"session and pattern are answers"`
	Relay     bool   `json:"relay,omitempty"` // an answer relayed by the client is accepted
	Again     int    `json:"again,omitempty" jsonschema:"how often it was asked before, because the file changed"`

	Seal string `json:"seal" jsonschema:"of path, base and result; an approval has to bear it"`

	// What follows is computed from the above: see Complete.

	Action   Action   `json:"action,omitempty" jsonschema:"read, create, change, remove, or run for a tool that is not stet's"`
	Warnings []string `json:"warnings,omitempty" max:"16384" jsonschema:"what a person should know before they decide"`
	Added    int      `json:"added,omitempty" jsonschema:"lines"`
	Removed  int      `json:"removed,omitempty" jsonschema:"lines"`
}

// File is one of the several files that a call would write to: see tool.File.
type File struct {
	Path   string `json:"path" max:"4096"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Size   int64  `json:"size"`
	Action Action `json:"action,omitempty"`
}

// Action is what a call does to a file.
type Action string

// The actions.
const (
	Read   Action = "read"
	Create Action = "create"
	Change Action = "change"
	Remove Action = "remove"
	Run    Action = "run" // a tool that is not stet's
)

// ActionOf returns what happens to a file with these content hashes; "": there is no file.
func ActionOf(write bool, before, after string) Action {
	switch {
	case !write:
		return Read
	case before == "":
		return Create
	case after == "":
		return Remove
	}
	return Change
}

// Complete computes the fields that follow from the others. A Handler and a Queue do it for their questions.
func (q *Question) Complete() {
	if q.Action = ActionOf(q.Write, q.Before, q.After); q.Outside() || q.Command != "" {
		q.Action = Run
	}
	q.Files = slices.Clone(q.Files)
	for i, f := range q.Files {
		q.Files[i].Action = ActionOf(q.Write, f.Before, f.After)
	}
	q.Warnings = q.warnings()
	q.Editable = q.Editable && utf8.Valid(q.Content)
	if q.Diff.Empty() || q.Action == Run {
		return
	}
	q.Added, q.Removed = 0, 0
	for _, f := range q.Diff.Files {
		q.Added += f.Added
		q.Removed += f.Removed
	}
}

// Brief returns the question without the change itself.
func (q Question) Brief() *Question {
	q.Diff, q.Content = tool.Diff{}, nil
	return &q
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

// Outside reports whether the question is about a tool that is not stet's own. Then it names no file, and Diff has the call's
// arguments. ForSession then covers this tool.
func (q Question) Outside() bool { return slices.Contains(q.Notes, tool.Outside) }

// Patterns reports whether ForPattern is an answer.
func (q Question) Patterns() bool { return q.Grantable && !q.Outside() && !q.Native }

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

// Answer is a person's decision. Like Question, it is the JSON of an answer everywhere.
type Answer struct {
	Verdict Verdict `json:"verdict" jsonschema:"approve, session, pattern, edit, reject or cancel"`
	Seal    string  `json:"seal,omitempty" jsonschema:"with approvals: of the question that was seen"`
	Pattern string  `json:"pattern,omitempty" max:"4096"`                                    // with ForPattern, see policy.Pattern
	Content []byte  `json:"content,omitzero" jsonschema:"base64, with edit: the whole text"` // not nil, also if it is empty
	Keep    []int   `json:"keep,omitempty" jsonschema:"with edit, without content: the hunks to apply, from 0; the others stay as they were"`
	Words   string  `json:"words,omitempty" max:"-" jsonschema:"with reject: for the model"`

	By      string `json:"by,omitempty" jsonschema:"to a host: who answered"` // for the audit trail
	Relayed bool   `json:"relayed,omitempty"`                                 // a client says that its person gave this answer
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
	if a.Verdict == ForPattern && q.Native {
		return errors.New("there is no pattern for a tool of the agent's own")
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
	switch {
	case q.Native != other.Native, q.Outside() != other.Outside(), q.Outside() && q.Tool != other.Tool:
		return false
	case q.Native:
		return q.Covered() == other.Covered() && q.Root == other.Root && q.Session == other.Session && other.Check(a) == nil
	}
	return other.Root == q.Root && other.Session == q.Session && other.Write == q.Write && other.Check(a) == nil
}

// Covered names the calls that ForSession covers, of an agent's own tool.
func (q Question) Covered() string {
	if q.Command != "" {
		return q.Scope + "\x00" + q.Diff.Other
	}
	return q.Scope
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
