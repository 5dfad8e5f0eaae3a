package guard

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/trim/dialect"
)

// This file has what sessions have read and edited with their agents' own tools. stet's own tools ask for it, so that they do not call a file unread
// that the agent's own tool has read.

// Limits of what is remembered of a session: files, observations of one, and the size of a file whose reading is noticed, in bytes.
const (
	maxSeenFiles = 2000
	maxSeenOf    = 50
	maxSeenSize  = 8 << 20
)

// saw remembers an observation. Its file is named by the sub-agent and the absolute path, and not in Path.
func (g *Guard) saw(s *session, subAgent, path string, o freshness.Observation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.files == nil {
		s.files = map[string][]freshness.Observation{}
	}
	o.Time = time.Now()
	key := subAgent + "\x00" + path
	all := append(s.files[key], o)
	s.files[key] = all[max(0, len(all)-maxSeenOf):]
	oldest(s.files, maxSeenFiles, func(all []freshness.Observation) time.Time { return all[len(all)-1].Time })
}

// read remembers what a call has shown of files. The agent may have cut its output, so only lines that are in it count.
func (g *Guard) read(s *session, e Event, a *dialect.Action) {
	for _, t := range a.Targets {
		path := snapshot.Resolve(absolute(e.Dir, t.Path))
		text, ok := snapshot.Text(path, maxSeenSize)
		if !ok || e.Output == "" {
			continue
		}
		if l, ok := shownLines(text, e.Output, t.First, t.Last); ok {
			g.saw(s, e.SubAgent, path, freshness.Observation{Kind: freshness.Read, Version: workspace.VersionOf([]byte(text)), Lines: l})
		}
	}
}

// shownLines returns which lines of a text an output has, in their order, of those from first to last (0: from the first, to the last one).
func shownLines(text, output string, first, last int) (l freshness.Range, ok bool) {
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	l.First, l.Last = max(first, 1), max(first, 1)-1
	if last == 0 || last > len(all) {
		last = len(all)
	}
	for _, line := range all[min(l.First-1, len(all)):max(last, min(l.First-1, len(all)))] {
		line = strings.TrimSuffix(line, "\r")
		at := strings.Index(output, line)
		if at < 0 {
			break
		}
		output = output[at+len(line):]
		l.Last++
	}
	if l == (freshness.Range{First: 1, Last: len(all)}) {
		return freshness.Range{}, true
	}
	return l, l.Last >= l.First
}

// edited remembers what a call of an editing tool has changed.
func (g *Guard) edited(s *session, c *call, cs snapshot.Changes) {
	if c.action.Op != dialect.Edit && c.action.Op != dialect.Write {
		return // what a command has changed, the session has not seen
	}
	var whole workspace.Version
	if c.action.Op == dialect.Write {
		whole = workspace.VersionOf([]byte(c.action.Content))
	}
	for _, t := range c.action.Targets {
		path := snapshot.Resolve(absolute(c.event.Dir, t.Path))
		rel, inside := relative(c.tree.Dir, c.tree.Dir, path)
		ch, changed := cs[rel]
		if !inside || !changed {
			continue
		}
		o := freshness.Observation{Kind: freshness.Edited, Gone: ch.After == nil}
		if ch.After != nil {
			o.Version = workspace.Version(ch.After.Sum)
			o.Part = ch.Before != nil && o.Version != whole
		}
		if ch.Before != nil {
			o.From = workspace.Version(ch.Before.Sum)
		}
		g.saw(s, c.event.SubAgent, path, o)
	}
}

// Texts returns the texts in JSON, one below the other: what a tool has shown, in the form of its answer that a hook is given.
func Texts(answer json.RawMessage) string { return strings.Join(allTexts(answer), "\n") }

func allTexts(answer json.RawMessage) (all []string) {
	var v any
	if json.Unmarshal(answer, &v) != nil {
		return nil
	}
	var add func(any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, one := range v {
				add(one)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				add(v[key])
			}
		}
	}
	add(v)
	return all
}

// SeenQuery asks what the session of a call of stet's own tools, which runs now, did to a file.
type SeenQuery struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	File      string          `json:"file"` // absolute
}

// Seen answers a SeenQuery. The call is found by its tool and arguments; where several sessions run the same call now, nothing is known.
func (g *Guard) Seen(q SeenQuery) []freshness.Observation {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []freshness.Observation
	found := map[string]bool{}
	for id, s := range g.sessions {
		for _, c := range s.calls {
			if c.own != q.Tool || !sameJSON(c.event.Input, q.Arguments) {
				continue
			}
			found[id+"\x00"+c.event.SubAgent] = true
			all = slices.Clone(s.files[c.event.SubAgent+"\x00"+snapshot.Resolve(filepath.Clean(q.File))])
		}
	}
	if len(found) != 1 {
		return nil
	}
	return all
}

// serveSeen answers POST /guard/seen.
func (g *Guard) serveSeen(w http.ResponseWriter, r *http.Request) {
	var q SeenQuery
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(g.Seen(q))
}
