package web

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/approval"
)

// Question is an open question as a list shows it.
type Question struct {
	ID      string    `json:"id"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"`

	Session string `json:"session"`
	Client  string `json:"client,omitempty"`
	Tool    string `json:"tool"`

	Path    string `json:"path"`   // "" where it is about no file that is known here
	Action  string `json:"action"` // "read", "create", "change", "remove", or "run", of a tool that is not stet's
	Size    int64  `json:"size"`   // bytes, once it is done
	Files   []File `json:"files,omitempty"`
	Added   int    `json:"added"` // lines
	Removed int    `json:"removed"`

	Warnings  []string `json:"warnings,omitempty"`
	Why       string   `json:"why"`
	Grantable bool     `json:"grantable"` // "session" and "pattern" are answers
	Editable  bool     `json:"editable"`  // "edit" is one, and so are single changes
	Partial   bool     `json:"partial"`   // the diff does not show all, or is too large to be read at a glance
	Seal      string   `json:"seal"`
}

// File is one of several files that a question is about.
type File struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Size   int64  `json:"size"`
}

// Detail is a question with all that it would do.
type Detail struct {
	Question
	Diff      []FileDiff `json:"diff"`
	Arguments string     `json:"arguments,omitempty"` // of a tool to run
}

// Content is the text of a question's file: as it is, and as it would be.
type Content struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Answer is the body of POST /api/questions/{id}/answer.
type Answer struct {
	Verdict string  `json:"verdict"`           // approve, session, pattern, edit, reject, cancel
	Seal    string  `json:"seal"`              // of the question that was seen
	Words   string  `json:"words,omitempty"`   // with reject
	Pattern string  `json:"pattern,omitempty"` // with pattern
	Content *string `json:"content,omitempty"` // with edit: the whole text
	Keep    []int   `json:"keep,omitempty"`    // with edit, without content: the changes to make, counted from 0
}

// Closed says how a question came to its end.
type Closed struct {
	ID   string    `json:"id"`
	How  string    `json:"how"`  // the verdict, "expired" or "withdrawn"
	By   string    `json:"by"`   // who answered
	Text string    `json:"text"` // in words
	Path string    `json:"path,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// QueueEvent is what GET /api/events tells: first a snapshot, then what happens.
// A page that connects again begins with a snapshot too, and takes it for all it
// knew. Open is set, or one of the others.
type QueueEvent struct {
	Open   []Question `json:"open,omitzero"`  // all of them
	Ended  []Closed   `json:"ended,omitzero"` // with Open: the newest that are not open any more, the oldest first
	Opened *Question  `json:"opened,omitempty"`
	Closed *Closed    `json:"closed,omitempty"`
	Stored bool       `json:"stored,omitempty"` // something was stored: what was read of that may be old
}

// told is how many questions that have ended a snapshot has.
const told = 200

func (h *Handler) questions(_ *http.Request) (any, error) {
	snapshot, sub := h.watch()
	_ = sub.Close()
	return snapshot, nil
}

// watch is a snapshot of the queue, and what follows on it.
func (h *Handler) watch() (QueueEvent, *approval.Subscription) {
	open, ended, sub := h.Queue.Watch(told)
	snapshot := QueueEvent{Open: []Question{}, Ended: []Closed{}}
	for _, q := range open {
		snapshot.Open = append(snapshot.Open, briefly(q))
	}
	for _, e := range ended {
		c := closed(e.Closing)
		c.Path, c.At = e.Path, e.At
		snapshot.Ended = append(snapshot.Ended, c)
	}
	return snapshot, sub
}

func closed(c approval.Closing) Closed {
	return Closed{ID: c.ID, How: c.How, By: c.By, Text: c.String()}
}

// find returns an open question.
func (h *Handler) find(id string) (approval.Question, error) {
	q, ok := h.Queue.Find(id)
	if !ok {
		return approval.Question{}, problem{http.StatusNotFound, "this question is no longer open"}
	}
	return q, nil
}

func (h *Handler) question(r *http.Request) (any, error) {
	q, err := h.find(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := Detail{Question: briefly(q), Diff: diffOf(q)}
	if q.Outside() {
		d.Arguments = q.Diff.Text()
	}
	return d, nil
}

func (h *Handler) content(r *http.Request) (any, error) {
	q, err := h.find(r.PathValue("id"))
	switch {
	case err != nil:
		return nil, err
	case !q.Editable:
		return nil, invalid("this cannot be edited")
	case !utf8.Valid(q.Content):
		return nil, invalid("this is not UTF-8, and cannot be edited here")
	}
	c := Content{After: string(q.Content)}
	if files := q.Diff.Files; len(files) == 1 {
		c.Before, _ = keep(c.After, files[0].Hunks, nil) // else it is not known
	}
	return c, nil
}

func (h *Handler) answer(r *http.Request, in Answer) (any, error) {
	id := r.PathValue("id")
	a := approval.Answer{
		Verdict: approval.Verdict(in.Verdict), Seal: in.Seal, Words: in.Words, Pattern: in.Pattern, By: who(r.Context()),
	}
	q, err := h.find(id)
	if err == nil && a.Verdict == approval.Edit {
		if a.Content, err = edited(q, in); err != nil {
			return nil, err
		}
	}
	if err == nil {
		if err := q.Check(a); err != nil {
			return nil, invalid("%v", err)
		}
	}
	if err := h.Queue.Answer(id, a); err != nil { // it says how one that is closed ended
		return nil, err
	}
	return nothing{}, nil
}

// edited is the text that a person wants written.
func edited(q approval.Question, in Answer) ([]byte, error) {
	if in.Content != nil {
		return []byte(*in.Content), nil
	}
	files := q.Diff.Files
	if len(files) != 1 || !q.Editable {
		return nil, invalid("this cannot be approved in parts")
	}
	if len(in.Keep) == 0 {
		return nil, invalid("no change is chosen: reject it instead")
	}
	text, err := keep(string(q.Content), files[0].Hunks, in.Keep)
	if err != nil {
		return nil, invalid("this cannot be approved in parts: %v", err)
	}
	return []byte(text), nil
}

func briefly(q approval.Question) Question {
	out := Question{
		ID: q.ID, Asked: q.Asked, Expires: q.Expires, Session: q.Session, Client: q.Client, Tool: q.Tool,
		Path: q.Path, Action: action(q.Write, q.Before, q.After), Size: q.Size, Warnings: q.Warnings(), Why: q.Why,
		Grantable: q.Grantable, Editable: q.Editable && utf8.Valid(q.Content), Partial: q.Partial(), Seal: q.Seal,
		Added: q.Added, Removed: q.Removed,
	}
	if q.Outside() {
		out.Action = "run"
	}
	for _, f := range q.Files {
		out.Files = append(out.Files, File{f.Path, action(q.Write, f.Before, f.After), f.Size})
	}
	return out
}

// action is what becomes of a file.
func action(write bool, before, after string) string {
	switch {
	case !write:
		return "read"
	case before == "":
		return "create"
	case after == "":
		return "remove"
	}
	return "change"
}
