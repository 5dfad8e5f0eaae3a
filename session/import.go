package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Recording is a conversation that was recorded elsewhere.
type Recording struct {
	Dir      string
	Source   string // identifies the recording, so that it is imported only once
	From     Link   // for a sub-agent: the session that started it
	Messages []llm.Message
	Starts   []int // indexes of Messages at which the context was restarted
}

// ErrImported means that a recording was imported before.
var ErrImported = errors.New("imported already")

// Import stores a recording as one session. If the context was restarted, it stores several sessions, each compacted into the next. It
// returns the ID of the last one. With ErrImported this is the ID of the existing session.
func Import(ctx context.Context, store Store, r Recording) (string, error) {
	if len(r.Messages) == 0 {
		return "", fmt.Errorf("import %s: no messages", r.Source)
	}
	if r.Source != "" {
		found, err := store.List(ctx, Query{Source: r.Source, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0].ID, fmt.Errorf("session %s: %w", found[0].ID, ErrImported)
		}
	}
	var batches []Batch
	from, at := r.From, time.Time{}
	for i, messages := range contexts(r) {
		id, err := newID()
		if err != nil {
			return "", fmt.Errorf("import %s: %w", r.Source, err)
		}
		if i > 0 {
			old := &batches[i-1]
			from = Link{old.Session, uint64(len(old.Events)), Compacted}
			old.Events = append(old.Events, Event{Time: at, Body: Compaction{To: id}})
		}
		b := Batch{Session: id, Events: []Event{{Time: begun(messages, at), Body: Opening{Dir: r.Dir, Source: r.Source, From: from}}}}
		for _, m := range messages {
			if !m.Time.IsZero() {
				at = m.Time
			}
			b.Events = append(b.Events, Event{Time: at, Body: Message(m)})
		}
		batches = append(batches, b)
	}
	if err := store.Append(ctx, batches...); err != nil {
		return "", fmt.Errorf("import %s: %w", r.Source, err)
	}
	return batches[len(batches)-1].Session, nil
}

// contexts splits the messages where a context begins.
func contexts(r Recording) [][]llm.Message {
	var out [][]llm.Message
	from := 0
	for _, start := range r.Starts {
		if start > from && start < len(r.Messages) {
			out = append(out, r.Messages[from:start])
			from = start
		}
	}
	return append(out, r.Messages[from:])
}

// begun returns the time of the first message that has one, or else or.
func begun(messages []llm.Message, or time.Time) time.Time {
	for _, m := range messages {
		if !m.Time.IsZero() {
			return m.Time
		}
	}
	return or
}
