package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
)

// maxChecked is the number of most recently used files that are checked for changes, in addition to the files that the
// prompt shows.
const maxChecked = 200

// fullWindow is the beginning of the reminder that the window is filling up.
const fullWindow = "The context window is filling up: "

// reminders returns what the model should know and has not seen before: changes to files by other programs, and that the
// window is filling up. They are stored with the message that contains them.
func (r *run) reminders(ctx context.Context) []llm.Part {
	var out []llm.Part
	if text, paths := r.changes(ctx); text != "" {
		out = append(out, reminder(text))
		r.tell(Event{Kind: Changed, Text: text, Paths: paths})
	}
	if text := r.filling(); text != "" {
		out = append(out, reminder(text))
		r.tell(Event{Kind: Warned, Text: text, Fill: r.Fill()})
	}
	return out
}

// afterCalls returns the reminders that follow the results of an answer's calls.
func (r *run) afterCalls(ctx context.Context, all []done) []llm.Part {
	if ctx.Err() != nil {
		return nil
	}
	out := r.reminders(ctx)
	if r.loops.see(all) {
		const text = "The same call had the same result several times, and nothing has changed. Try another way, or say what stops you."
		out = append(out, reminder(text))
		r.tell(Event{Kind: Reminded, Text: text})
	}
	return out
}

// changes describes what other programs changed in the files that the conversation knows. Each change is reported once: the
// report is an observation, and is stored. A file with another time but the same content has not changed.
func (r *run) changes(ctx context.Context) (text string, paths []string) {
	t := r.tracker()
	if t == nil {
		return "", nil
	}
	var all strings.Builder
	files := t.Files()
	for i, f := range files {
		if i >= maxChecked && !r.a.Prompt.shows(f.Path) {
			continue
		}
		if note := r.change(ctx, t, f); note != "" {
			all.WriteString(note + "\n")
			paths = append(paths, f.Path)
		}
	}
	return all.String(), paths
}

// change describes the change of one file by another program. It returns "" if there is none.
func (r *run) change(ctx context.Context, t *freshness.Tracker, f freshness.File) string {
	if f.Version == "" {
		return ""
	}
	o := observation{Path: f.Path, Time: time.Now()}
	now, err := r.a.Files.Look(ctx, f.Path, f)
	if err != nil || now.Version == "" && !now.Gone {
		return ""
	}
	o.Version, o.Stamp, o.Gone = now.Version, now.Stamp, now.Gone
	switch {
	case now.Gone:
		o.Kind = freshness.Reported
		t.Observe(o)
		return f.Path + " was removed by somebody else."
	case now.Version == f.Version:
		if !f.Settled || now.Stamp != f.Stamp {
			o.Kind = freshness.Seen // later, an equal stamp means that the file is unchanged, and it need not be read
			t.Observe(o)
		}
		return ""
	case now.Version == f.Reported:
		return ""
	}
	text, whole, err := r.a.Files.Changed(ctx, r.clientSession(), f, now)
	if err != nil {
		return "" // the file is being changed; the next check reports it
	}
	o.Kind, o.Part = freshness.Reported, !whole
	t.Observe(o)
	return fmt.Sprintf("%s was changed by somebody else since you saw it:\n%s", f.Path, strings.TrimRight(text, "\n"))
}

// filling returns the reminder that the window is filling up, once for each session.
func (r *run) filling() string {
	st := r.State()
	used := st.Context.Total()
	if used < r.a.warned() {
		return ""
	}
	for _, m := range st.Messages {
		for _, p := range m.Parts {
			if m.Role == llm.User && IsReminder(p) && strings.HasPrefix(p.Text[len(reminderOpen):], fullWindow) {
				return ""
			}
		}
	}
	return fmt.Sprintf("%s%d of %d tokens are used. Finish what you are doing, and read only what you need.", fullWindow, used, r.a.window())
}
