package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim/dialect"
)

const (
	maxShown   = 1 << 20 // bytes of a file whose difference is shown
	maxText    = 1 << 18 // bytes of a command or of arguments that are shown
	maxCommand = 200     // bytes of a command in one line
)

// question makes the question about a call. Of a command it has the whole text, of an edit the difference to the file as it is, and of anything
// else the arguments.
func (g *Guard) question(s *session, c *call, notes []tool.Note) approval.Question {
	e, a := c.event, &c.action
	q := approval.Question{
		Asked: time.Now(), Root: s.workspace, Session: e.Session, Client: e.Agent, CallID: e.Call, Tool: e.Tool, SubAgent: e.SubAgent,
		Native: true, Dir: absolute(e.Dir, a.Dir), Write: changes(a), Notes: slices.Clone(notes), Why: c.by.Rule,
	}
	if q.Why == "" {
		q.Why = "the agent's own rules"
	}
	sum := sha256.Sum256([]byte("stet native 1\x00" + e.Tool + "\x00" + string(e.Input)))
	q.Seal = hex.EncodeToString(sum[:])
	if g.show(s, e, a, &q); q.Diff.Empty() && q.Command == "" && (q.Write || len(a.Targets) == 0) {
		q.Notes = append(q.Notes, tool.Outside)
		q.Diff.Other, q.Scope = indented(e.Input), fmt.Sprintf("%s with any arguments", e.Tool)
	}
	if invisible.Has(Texts(e.Input)) {
		q.Notes = append(q.Notes, tool.Hidden)
	}
	if len(q.Diff.Other) > maxText || len(q.Path) > limits.Path {
		q.Notes = append(q.Notes, tool.Large)
		q.Diff.Other, q.Path, q.Content = limits.Clip(q.Diff.Other, maxText), limits.Clip(q.Path, limits.Path), nil
	}
	q.Grantable = !slices.ContainsFunc(q.Notes, func(n tool.Note) bool { return slices.Contains(lasting, n) })
	if _, err := g.changed(e, a, q.Content); err != nil || !e.Edits {
		q.Content = nil
	}
	q.Editable = len(q.Content) > 0
	q.Complete()
	return q
}

// lasting are cautions about which a person is asked each time.
var lasting = []tool.Note{tool.Stet, tool.Secret, tool.Control, tool.Away, tool.Deletes, tool.Overwrites, tool.Fetched, tool.Build, tool.Instructions, tool.Large}

// show sets what the call would do.
func (g *Guard) show(s *session, e Event, a *dialect.Action, q *approval.Question) {
	if a.Op == dialect.Shell && a.Command != "" {
		q.Command, q.Diff.Other = oneLine(a.Command), a.Command
		q.Content = []byte(a.Command)
		q.Scope = "this very command in " + q.Dir
		for _, name := range switches(e.Input) {
			q.Scope += ", with " + name
			q.Notes = append(q.Notes, tool.Note("with "+name))
		}
		return
	}
	if len(a.Targets) == 0 {
		return
	}
	q.Path = shown(s.workspace, e.Dir, a.Targets[0].Path)
	if a.Op == dialect.Read || a.Op == dialect.List {
		q.Scope = "reading in this workspace"
		return
	}
	if a.Op != dialect.Edit && a.Op != dialect.Write {
		return
	}
	q.Scope = "edits in " + s.workspace
	var size int64
	for _, t := range a.Targets {
		if slices.ContainsFunc(q.Files, func(f approval.File) bool { return f.Path == shown(s.workspace, e.Dir, t.Path) }) {
			continue
		}
		path := absolute(e.Dir, t.Path)
		before, ok := snapshot.Text(path, maxShown)
		after, err := applied(a, t.Path, before)
		if !ok || err != nil || len(after) > maxShown {
			if err == nil { // it is too large, or not text
				q.Notes = append(q.Notes, tool.Large)
			}
			q.Diff, q.Files, q.Content = tool.Diff{Other: indented(e.Input)}, nil, nil
			return
		}
		name := shown(s.workspace, e.Dir, t.Path)
		f := approval.File{Path: name, Before: hash(before), After: hash(after), Size: int64(len(after))}
		q.Files, size = append(q.Files, f), size+f.Size
		q.Diff.Files = append(q.Diff.Files, tool.CompareTexts(name, before, after))
		q.Content = []byte(after)
	}
	q.Size = size
	if len(q.Files) == 1 {
		q.Before, q.After, q.Files = q.Files[0].Before, q.Files[0].After, nil
	} else {
		q.Content = nil
	}
}

func hash(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// shown returns a path for people: relative to the workspace if it is in there.
func shown(workspace, dir, path string) string {
	if rel, ok := relative(workspace, dir, path); ok {
		return rel
	}
	return absolute(dir, path)
}

// applied returns the text of a file after the call, as its agent would write it.
func applied(a *dialect.Action, path, text string) (string, error) {
	if a.Op == dialect.Write {
		return a.Content, nil
	}
	edits := 0
	for _, r := range a.Edits {
		if r.Path != path && r.Path != "" {
			continue
		}
		edits++
		switch {
		case r.Old == "" && text == "":
			text = r.New
		case r.Old == "" || !strings.Contains(text, r.Old):
			return "", errors.New("the text that is to be replaced is not in the file")
		case r.All:
			text = strings.ReplaceAll(text, r.Old, r.New)
		default:
			text = strings.Replace(text, r.Old, r.New, 1)
		}
	}
	if edits == 0 {
		return "", errors.New("what is to be replaced is not known")
	}
	return text, nil
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxCommand {
		s = strings.ToValidUTF8(s[:maxCommand], "") + "…"
	}
	return s
}

func indented(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil || !utf8.Valid(b) {
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	return out.String()
}

// switches returns the arguments that are true: they may change how a command runs.
func switches(input []byte) (names []string) {
	var in map[string]any
	_ = json.Unmarshal(input, &in) // other arguments have none
	for name, v := range in {
		if v == true {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// changed returns the call's arguments with the text that a person edited: the command, or the content of a file. The result is a call
// that does just that, whatever other arguments hold the same text.
func (g *Guard) changed(e Event, a *dialect.Action, text []byte) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(e.Input, &in); err != nil {
		return nil, err
	}
	does := func(a *dialect.Action) string {
		if a.Op == dialect.Write {
			return a.Content
		}
		return a.Command
	}
	for key, v := range in {
		var s string
		if json.Unmarshal(v, &s) != nil || s != does(a) || a.Op != dialect.Write && a.Op != dialect.Shell {
			continue
		}
		other := maps.Clone(in)
		other[key], _ = json.Marshal(string(text)) // a string
		out, err := json.Marshal(other)
		if err != nil {
			return nil, err
		}
		now := g.Dialects.Action(e.Tool, string(out))
		same := slices.EqualFunc(now.Targets, a.Targets, func(x, y dialect.Target) bool { return x.Path == y.Path })
		if now.Op == a.Op && same && strings.TrimSpace(does(&now)) == strings.TrimSpace(string(text)) {
			return out, nil
		}
	}
	return nil, errors.New("this call cannot be changed")
}

// decided returns what an answer makes of a call.
func (g *Guard) decided(q approval.Question, e Event, a *dialect.Action, given approval.Answer) (Answer, error) {
	if err := q.Check(given); err != nil {
		return Answer{}, err
	}
	out := Answer{Decided: true, Action: policy.Allow}
	switch {
	case given.Verdict == approval.Edit:
		var err error
		out.Input, err = g.changed(e, a, given.Content)
		return out, err
	case given.Approves():
		return out, nil
	}
	out.Action, out.Reason = policy.Deny, "The person who was asked rejected this."
	if given.Words != "" {
		out.Reason = "The person who was asked rejected this, and says: " + given.Words
	}
	return out, nil
}
