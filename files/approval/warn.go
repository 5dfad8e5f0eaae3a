package approval

import (
	"fmt"

	"github.com/stet-dev/stet/tool"
)

// warnings has the text for people of each note.
var warnings = map[tool.Note]string{
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
	tool.Outside:      "this is not one of stet's own tools: what it does is not confined to the workspace, and cannot be undone here",
}

// Warnings returns what the person should know before deciding, the notes first.
func (q Question) Warnings() []string {
	var out []string
	for _, n := range q.Notes {
		if w, ok := warnings[n]; ok {
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
