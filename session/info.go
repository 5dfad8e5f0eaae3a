package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
)

// Which sessions there are: what is known of each, and how one is found.

// Info is the information about a session in a list of sessions.
type Info struct {
	ID      string
	Dir     string
	Source  string
	Title   string
	First   string // the beginning of the first message by a person, on one line
	Model   string // model of the last answer
	From    Link
	Next    string // the session that continues after a compaction; empty: this session is open
	Closed  uint64 // event number of that compaction
	Created time.Time
	Updated time.Time // of the last event
	Last    uint64    // number of the last event
	Count   int       // number of messages that are not Local, including rewound ones
}

// firstWords is the maximum length of Info.First, in bytes.
const firstWords = 200

// Add updates i with the next event of the session.
func (i *Info) Add(e Event) {
	i.Last, i.Updated = max(i.Last, e.Seq), e.Time
	if e.Seq == 1 {
		i.Created = e.Time
	}
	switch b := e.Body.(type) {
	case Opening:
		i.Dir, i.Source, i.From = b.Dir, b.Source, b.From
	case Message:
		i.message(b)
	case Title:
		i.Title = string(b)
	case Compaction:
		i.Next, i.Closed = b.To, e.Seq
	case Rewind:
		if b.To < i.Closed {
			i.Next, i.Closed = "", 0
		}
	}
}

func (i *Info) message(m Message) {
	if m.Local {
		return
	}
	i.Count++
	if m.Role == llm.Assistant && m.Model != "" {
		i.Model = m.Model
	}
	if m.Role != llm.User || i.First != "" {
		return
	}
	for _, p := range m.Parts {
		if words := oneLine(p.Text, firstWords); p.Kind == llm.Text && llm.Title(p.Text) != "" {
			i.First = words
			return
		}
	}
}

// oneLine returns the beginning of s, at most n bytes, without line breaks and invalid UTF-8.
func oneLine(s string, n int) string {
	s = s[:min(len(s), 4*n)]
	return limits.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), n)
}

// chosen reports whether q selects the session. It ignores Limit.
func (q Query) chosen(i Info) bool {
	switch {
	case !strings.HasPrefix(i.ID, q.ID),
		q.Dir != "" && i.Dir != q.Dir,
		q.Source != "" && i.Source != q.Source,
		q.Parent != "" && i.From.Session != q.Parent,
		q.Open && (i.Next != "" || i.From.Relation == Started):
		return false
	}
	return true
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// Latest returns the most recently used open session of a workspace. With dir "" it searches all workspaces.
func Latest(ctx context.Context, store Store, dir string) (Info, error) {
	found, err := store.List(ctx, Query{Dir: dir, Open: true, Limit: 1})
	if err != nil {
		return Info{}, err
	}
	if len(found) == 0 {
		return Info{}, fmt.Errorf("latest session: %w", ErrNotFound)
	}
	return found[0], nil
}

// Find returns the session whose ID is id or begins with id. It is an error if several sessions match.
func Find(ctx context.Context, store Store, id string) (Info, error) {
	found, err := store.List(ctx, Query{ID: id})
	if err != nil {
		return Info{}, err
	}
	for _, i := range found {
		if i.ID == id {
			return i, nil
		}
	}
	switch {
	case len(found) == 0 || id == "":
		return Info{}, fmt.Errorf("session %s: %w", id, ErrNotFound)
	case len(found) > 1:
		return Info{}, fmt.Errorf("session %s: %d sessions have an id that begins with this; give more of it", id, len(found))
	}
	return found[0], nil
}

// Follow returns the open session that continues the named one, through all compactions. If the named session is open, it returns that.
func Follow(ctx context.Context, store Store, id string) (Info, error) {
	seen := map[string]bool{}
	for {
		found, err := Find(ctx, store, id)
		if err != nil || found.Next == "" {
			return found, err
		}
		if seen[id] {
			return found, fmt.Errorf("session %s: its compactions go round in a circle", id)
		}
		seen[id] = true
		id = found.Next
	}
}
