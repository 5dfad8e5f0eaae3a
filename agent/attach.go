package agent

import (
	"context"
	"slices"
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
	chosen := t.Important(freshness.Selection{Max: mostAttached, Ignored: r.a.Files.Ignored})
	left := r.a.window() / attachedShare
	for i, path := range chosen {
		at := slices.IndexFunc(files, func(f freshness.File) bool { return f.Path == path })
		if at < 0 {
			continue
		}
		share := left / (len(chosen) - i) // what the first ones leave is the others'
		text, seen, err := r.a.Files.Show(ctx, files[at], share*3)
		size := r.a.counter.Count(text)
		if err != nil || text == "" || size > left {
			continue
		}
		left -= size
		parts = append(parts, llm.Part{Kind: llm.Text, Text: reminderOpen + "The file as it is on disk now: " + text + reminderClose})
		known = append(known, seen...)
	}
	return parts, known
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
