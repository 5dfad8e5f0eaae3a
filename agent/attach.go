package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
)

type observation = freshness.Observation

// Limits of what is attached after a compaction: maxAttached files, and 1/attachedShare of the window for all of them.
const (
	maxAttached   = 5
	attachedShare = 10
)

// attached returns the files that the conversation works with, in their current content on disk, and what the new session
// knows about all files. Files that were read or written before remain the base of later merges, but count as not shown.
// Attached files count as shown, and can be edited without a read.
func (r *run) attached(ctx context.Context) (parts []llm.Part, known []observation) {
	t := r.tracker()
	if t == nil {
		return nil, nil
	}
	files := t.Files()
	known = forgotten(files)
	chosen := r.important(t)
	left := r.a.window() / attachedShare
	var shown [][]observation
	for i, path := range chosen {
		at := slices.IndexFunc(files, func(f freshness.File) bool { return f.Path == path })
		if at < 0 {
			continue
		}
		share := left / (len(chosen) - i) // the next files may use what is left of it
		text, seen, err := r.a.Files.Show(ctx, r.clientSession(), files[at], share*3)
		size := r.a.counter.Count(text)
		if err != nil || text == "" || size > left || strings.Contains(text, reminderEnd) {
			continue // a text with the end of a reminder is not attached: what follows would look like the person's words
		}
		left -= size
		parts = append(parts, llm.Part{Kind: llm.Text, Text: reminderOpen + "The file as it is on disk now: " + text + reminderClose})
		shown = append(shown, seen)
	}
	for _, seen := range slices.Backward(shown) { // in the order in which they were used
		known = append(known, seen...)
	}
	return parts, known
}

// important returns the paths of the files that the conversation works with. A file that the prompt shows is one of them
// only if it has changed since.
func (r *run) important(t *freshness.Tracker) []string {
	out := t.Important(freshness.Selection{Max: maxAttached, Ignored: func(path string) bool {
		return r.a.Prompt.shows(path) || r.a.Files.Ignored(path)
	}})
	for _, o := range r.a.Prompt.shown() {
		if f, ok := t.File(o.Path, o.Stamp); ok && f.Version != o.Version {
			out = append(out, f.Path)
		}
	}
	return out
}

// inPrompt records the files that the prompt shows as seen. It skips observations that are known already: recording them
// again would undo reports of later changes.
func (c *Conversation) inPrompt(t *freshness.Tracker, known []observation) {
	for _, o := range c.a.Prompt.shown() {
		same := func(k observation) bool { return k.Path == o.Path && k.Version == o.Version && k.Time.Equal(o.Time) }
		if !slices.ContainsFunc(known, same) {
			t.Observe(o)
		}
	}
}

// forgotten returns observations after which the files are known in their current versions, but no line of them counts as
// shown.
func forgotten(files []freshness.File) []observation {
	var out []observation
	for _, f := range slices.Backward(files) { // the most recently used file comes last
		if f.Version == "" {
			continue
		}
		o := observation{Kind: freshness.Edited, Path: f.Path, Version: f.Version, Part: true, Time: f.Access}
		if f.Settled {
			o.Stamp = f.Stamp
		}
		if f.EditedAt.IsZero() {
			o.Kind, o.Part, o.Lines = freshness.Read, false, freshness.Range{First: 1, Last: 1}
		}
		out = append(out, o, observation{Kind: freshness.Forgot, Path: f.Path, Time: time.Now()})
		if f.Reported != "" {
			out = append(out, observation{Kind: freshness.Reported, Path: f.Path, Version: f.Reported, Part: true, Time: time.Now()})
		}
	}
	return out
}
