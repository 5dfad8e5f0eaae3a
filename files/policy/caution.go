package policy

import (
	"slices"

	"github.com/stet-dev/stet/tool"
)

// caution is a reason to ask a person that no rule and no grant removes.
type caution struct {
	note tool.Note
	rule string
	why  string // for the model, if the call is refused

	deny    bool // refused even if a person could be asked: set by caution
	flagged bool // unattended, it is only recorded
}

// ForSecret is Decision.Rule where the reason is that the file may be a secret.
const ForSecret = "secret"

// cautions are checked in this order.
var cautions = []caution{
	{note: tool.Secret, rule: ForSecret, why: "the file may hold keys or passwords: a person must confirm each reading of it, but there is no person to ask"},
	{note: tool.Control, rule: "control file", why: "this file makes something run, or says what may: a person must confirm each write to it, but there is no person to ask"},
	{note: tool.Executable, rule: "executable", why: "the file is executable: a person must confirm each write to it, but there is no person to ask"},
	{note: tool.HardLink, rule: "hard link", why: "the file has other names, maybe outside the workspace: a person must confirm each write to it, but there is no person to ask"},
	{note: tool.ReadOnly, rule: "read-only", why: "the file's mode forbids writing: a person must confirm the write, but there is no person to ask"},
	{note: tool.Build, rule: "build file", why: "building or installing runs what this file says: a person must confirm each write to it, but there is no person to ask", flagged: true},
	{note: tool.Instructions, rule: "agent instructions", why: "agents take this file for instructions: a person must confirm each write to it, but there is no person to ask", flagged: true},
	{note: tool.Unread, rule: "unread", why: "the file is there and was never read in this session: read it first, then write"},
	{note: tool.PartRead, rule: "unread", why: "only a part of the file was read in this session: read all of it first, then write; or use edit_file"},
	{note: tool.Stale, rule: "stale", why: "the file changed since you read it: read it again, then write"},
	{note: tool.Hidden, rule: "hidden characters", why: "the text or the name has characters that are not seen: a person must confirm it, but there is no person to ask", flagged: true},
}

// caution returns the first caution that applies to the request, because of its notes or the name of its file.
func (p *Policy) caution(r Request) (caution, bool) {
	var notes []tool.Note
	if r.Write {
		notes = slices.Concat(r.Notes, NotesOf(r.Path))
		notes = slices.DeleteFunc(notes, func(n tool.Note) bool { return n == tool.Secret }) // of the file, whatever is shown of it
	}
	if effectOf(r)&Shows != 0 && !outside(r) && Secret(r.Path) {
		notes = append(notes, tool.Secret)
	}
	for _, c := range cautions {
		if !slices.Contains(notes, c.note) || c.flagged && p.Unattended {
			continue
		}
		does := Ask
		switch c.note {
		case tool.Unread, tool.PartRead, tool.Stale:
			does = p.Unread
		case tool.Secret:
			does = p.Secrets
		}
		if does == Allow {
			continue
		}
		if c.deny = does == Deny; c.deny && c.note == tool.Secret {
			c.why = "the file may hold keys or passwords, which no agent is shown here"
		}
		return c, true
	}
	return caution{}, false
}
