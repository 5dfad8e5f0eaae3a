package approval

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/stet-dev/stet/tool"
)

// What people read about a question, in every front end. The texts have names that agents chose: a front end escapes what does not
// print.

// Title says in one line who wants to do what.
func (q Question) Title() string {
	switch {
	case q.Native:
		return q.Client + " wants to " + q.Does()
	case q.Outside():
		return q.Tool + " wants to be called"
	}
	return q.Tool + " wants to " + q.Does()
}

// Does says what the call would do, after "wants to".
func (q Question) Does() string {
	switch {
	case q.Command != "":
		return "run " + q.Command
	case q.Outside():
		return "run " + q.Tool
	case !q.Write:
		return "read " + Quoted(q.Path)
	case len(q.Files) > 0:
		return fmt.Sprintf("change %d files below %s (%s)", len(q.Files), Quoted(q.Path), Bytes(q.Size))
	}
	return File{q.Path, q.Before, q.After, q.Size, ActionOf(true, q.Before, q.After)}.Does()
}

// Does says what the call would do to the file.
func (f File) Does() string {
	switch f.Action {
	case Remove:
		return "remove " + Quoted(f.Path)
	case Create:
		return fmt.Sprintf("write %s (%s), a new file", Quoted(f.Path), Bytes(f.Size))
	}
	return fmt.Sprintf("write %s (%s)", Quoted(f.Path), Bytes(f.Size))
}

// Subject names the file of the question, or the tool where it names no file.
func (q Question) Subject() string {
	if q.Command != "" {
		return q.Command
	}
	if q.Outside() || q.Path == "" {
		return q.Tool
	}
	return Quoted(q.Path)
}

// Origin says who asks, for which reason, and until when.
func (q Question) Origin() string {
	var out []string
	if q.Client != "" {
		out = append(out, q.Client)
	}
	if q.SubAgent != "" {
		out = append(out, "its sub-agent "+q.SubAgent)
	}
	if q.Session != "" {
		out = append(out, "session "+q.Session)
	}
	if q.About != "" {
		out = append(out, fmt.Sprintf("about %q", q.About))
	}
	if q.Dir != "" {
		out = append(out, "in "+Quoted(q.Dir))
	}
	if q.Why != "" && q.Why != "default" {
		out = append(out, "asked because of: "+q.Why)
	}
	if end := q.until(); end != "" {
		out = append(out, "until "+end)
	}
	return strings.Join(out, ", ")
}

// LocalPerson returns the name of the person who runs this process: the user's. It is the name of one who answers at the terminal, on
// the command line, over the socket of this machine, or with the token of a server's owner.
func LocalPerson() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// Deadline is a sentence on when the question expires; "": it does not.
func (q Question) Deadline() string {
	if end := q.until(); end != "" {
		if q.Native {
			return "It can be answered here until " + end + "."
		}
		return "Without an answer until " + end + " it is not done."
	}
	return ""
}

// until returns the time of day at which the question expires, with the date if that is another day; "": it does not expire.
func (q Question) until() string {
	switch end := q.Expires.Local(); {
	case q.Expires.IsZero():
		return ""
	case end.Format(time.DateOnly) == q.Asked.Local().Format(time.DateOnly):
		return end.Format(time.TimeOnly)
	default:
		return end.Format(time.DateTime)
	}
}

// Quoted returns a path. It has quotes if its ends would not be clear without them.
func Quoted(path string) string {
	if path == "" || strings.ContainsAny(path, " \"'") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// cautions has the text for people of each note.
var cautions = map[tool.Note]string{
	tool.Unread:       "the agent never read this file: it does not know what it overwrites",
	tool.PartRead:     "the agent read only a part of this file: it may not know all that it overwrites",
	tool.Stale:        "this file changed since the agent read it: it may not know what it overwrites",
	tool.Control:      "this file makes something run, or says what may",
	tool.Secret:       "this file may hold keys or passwords: what the agent is shown of it goes to its provider too",
	tool.Build:        "building, testing or installing runs what this file says",
	tool.Executable:   "this file is executable",
	tool.HardLink:     "this file has other names, maybe outside the workspace: they will keep the old content",
	tool.Merged:       "merged with what somebody else has written meanwhile",
	tool.Hidden:       "the new text or the name has characters that are not seen: it may not be what it looks like",
	tool.Reencoded:    "the whole file is written in another encoding: every byte of it may change",
	tool.ReadOnly:     "the file's mode forbids writing",
	tool.Attributes:   "the file's owner or attributes will be lost",
	tool.Large:        "too large to be shown whole",
	tool.NewDirs:      "directories are created for it",
	tool.Instructions: "agents take what this file says for instructions",
	tool.Away:         "this is outside of the workspace",
	tool.Deletes:      "this deletes files, or throws away changes",
	tool.Overwrites:   "this replaces what others may have fetched already",
	tool.Fetched:      "this may run what it gets from the network",
	tool.Stet:         "this runs stet itself, or reaches its state or its hooks: with that, an agent could answer its own questions",
	tool.Outside:      "this is not one of stet's own tools: what it does is not confined to the workspace, and cannot be undone here",
}

// ForSessionMeans says what the answer for the session covers.
func (q Question) ForSessionMeans() string {
	switch {
	case q.Scope != "":
		return q.Scope
	case q.Outside():
		return "this tool, with any arguments"
	}
	return "all writes of this session"
}

// warnings returns what the person should know before deciding, the notes first.
func (q Question) warnings() []string {
	var out []string
	for _, n := range q.Notes {
		if w, ok := cautions[n]; ok {
			out = append(out, w)
		} else {
			out = append(out, string(n))
		}
	}
	if q.Again > 0 {
		out = append(out, fmt.Sprintf("asked again (%d): the file was changed after it was shown", q.Again))
	}
	return out
}

// String says how the question ended.
func (c Closing) String() string {
	if c.Text != "" {
		return c.Text
	}
	how := map[string]string{
		string(Approve): "approved", string(ForSession): "approved for the session", string(ForPattern): "approved by pattern",
		string(Edit): "edited and approved", string(Reject): "rejected", string(Cancel): "cancelled",
	}[c.How]
	if how == "" {
		how = c.How
	}
	if c.By != "" {
		how += " by " + c.By
	}
	return how
}
