package web

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/approval"
)

// Question is an open question in a list.
type Question struct {
	ID      string    `json:"id"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"`

	Session string `json:"session"`
	Client  string `json:"client,omitempty"`
	Tool    string `json:"tool"`

	Path    string `json:"path"`   // "": it is about no known file
	Action  string `json:"action"` // "read", "create", "change", "remove", or "run" for a tool that is not stet's
	Size    int64  `json:"size"`   // bytes after the change
	Files   []File `json:"files,omitempty"`
	Added   int    `json:"added"` // lines
	Removed int    `json:"removed"`

	Warnings  []string `json:"warnings,omitempty"`
	Why       string   `json:"why"`
	Grantable bool     `json:"grantable"` // the answers "session" and "pattern" are possible
	Editable  bool     `json:"editable"`  // the answer "edit" and single changes are possible
	Partial   bool     `json:"partial"`   // the diff is incomplete, or too large to read quickly
	Seal      string   `json:"seal"`
}

// File is one of several files that a question is about.
type File struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Size   int64  `json:"size"`
}

// Detail is a question with its whole change.
type Detail struct {
	Question
	Diff      []FileDiff `json:"diff"`
	Arguments string     `json:"arguments,omitempty"` // of a tool to run
}

// Content is the text of a question's file, before and after.
type Content struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Answer is the body of POST /api/questions/{id}/answer.
type Answer struct {
	Verdict string  `json:"verdict"`                      // approve, session, pattern, edit, reject, cancel
	Seal    string  `json:"seal"`                         // of the shown question
	Words   string  `json:"words,omitempty" max:"65536"`  // with reject
	Pattern string  `json:"pattern,omitempty" max:"4096"` // with pattern
	Content *string `json:"content,omitempty" max:"-"`    // with edit: the whole text
	Keep    []int   `json:"keep,omitempty" max:"-"`       // with edit, without content: the changes to make, counted from 0
}

// Closed says how a question ended.
type Closed struct {
	ID   string    `json:"id"`
	How  string    `json:"how"`  // the verdict, "expired" or "withdrawn"
	By   string    `json:"by"`   // who answered
	Text string    `json:"text"` // as a sentence
	Path string    `json:"path,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// QueueEvent is an event of GET /api/events: first a snapshot, then changes. A page that connects again also gets a snapshot first,
// and replaces its state by it. Either Open or one of the other fields is set.
type QueueEvent struct {
	Open   []Question `json:"open,omitzero"`  // all open questions
	Ended  []Closed   `json:"ended,omitzero"` // with Open: the newest ended questions, the oldest first
	Opened *Question  `json:"opened,omitempty"`
	Closed *Closed    `json:"closed,omitempty"`
	Stored bool       `json:"stored,omitempty"` // data was stored: shown data may be outdated
}

// told is the number of ended questions in a snapshot.
const told = 200

func (h *Handler) questions(_ *http.Request) (any, error) {
	snapshot, sub := h.watch()
	_ = sub.Close()
	return snapshot, nil
}

// watch returns a snapshot of the queue, and a subscription that continues it.
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
		c.Before, _ = keep(c.After, files[0].Hunks, nil) // otherwise it is not known
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
	if err := h.Queue.Answer(id, a); err != nil { // the error says how a closed question ended
		return nil, err
	}
	return nothing{}, nil
}

// edited returns the text that a person wants to write.
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

// action returns what happens to a file.
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
