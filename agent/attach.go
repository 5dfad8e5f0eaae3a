package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/freshness"
	"github.com/stet-dev/stet/llm"
)

type observation = freshness.Observation

// How much is attached after a compaction: so many files, and a part of the
// window for all of them.
const (
	mostAttached  = 5
	attachedShare = 10
)

// attached are the files that the conversation works with, as they are on disk
// now, and what is known of all files once only these are in view. What was
// written and read before is still the base of a later merge, but was not shown
// any more; what is attached was, and can be edited without being read. (CTX-4,
// CTX-9)
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
		share := left / (len(chosen) - i) // what the first ones leave is the others'
		text, seen, err := r.a.Files.Show(ctx, r.clientSession(), files[at], share*3)
		size := r.a.counter.Count(text)
		if err != nil || text == "" || size > left || strings.Contains(text, reminderEnd) {
			continue // what ends the reminder would stand in a person's place, and changed it would not be the file
		}
		left -= size
		parts = append(parts, llm.Part{Kind: llm.Text, Text: reminderOpen + "The file as it is on disk now: " + text + reminderClose})
		shown = append(shown, seen)
	}
	for _, seen := range slices.Backward(shown) { // as they were accessed
		known = append(known, seen...)
	}
	return parts, known
}

// important are the files that the conversation works with. What the prompt shows
// is among them only if it is not what the conversation knows any more.
func (r *run) important(t *freshness.Tracker) []string {
	out := t.Important(freshness.Selection{Max: mostAttached, Ignored: func(path string) bool {
		return r.a.Prompt.shows(path) || r.a.Files.Ignored(path)
	}})
	for _, o := range r.a.Prompt.shown() {
		if f, ok := t.File(o.Path, o.Stamp); ok && f.Version != o.Version {
			out = append(out, f.Path)
		}
	}
	return out
}

// inPrompt takes what the prompt shows for seen, unless it is among what is known
// already, and so may be what later changes were told of.
func (c *Conversation) inPrompt(t *freshness.Tracker, known []observation) {
	for _, o := range c.a.Prompt.shown() {
		same := func(k observation) bool { return k.Path == o.Path && k.Version == o.Version && k.Time.Equal(o.Time) }
		if !slices.ContainsFunc(known, same) {
			t.Observe(o)
		}
	}
}

// forgotten are the observations that lead to what is known of the files, with
// nothing of them in view.
func forgotten(files []freshness.File) []observation {
	var out []observation
	for _, f := range slices.Backward(files) { // the one accessed last comes last
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
		if f.Told != "" {
			out = append(out, observation{Kind: freshness.Told, Path: f.Path, Version: f.Told, Part: true, Time: time.Now()})
		}
	}
	return out
}
