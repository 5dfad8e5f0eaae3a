package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/session"
)

// Sessions writes two lines for each session. all has all sessions of the store; the written ids are unique among them.
func Sessions(w io.Writer, found, all []session.Info) {
	short := shortIDs(all)
	for _, i := range found {
		note := ""
		switch {
		case i.Next != "":
			note = ", compacted"
		case i.From.Relation == session.Started:
			note = ", of a sub-agent"
		}
		fmt.Fprintf(w, "%s  %s  %s%s\n", cmp.Or(short[i.ID], i.ID), i.Updated.Local().Format(time.DateTime), Count(i.Count, "message"), note)
		fmt.Fprintf(w, "    %s", workspace.Quote(headline(i)))
		if i.Dir != "" {
			fmt.Fprintf(w, " in %s", workspace.Quote(i.Dir))
		}
		fmt.Fprintln(w)
	}
}

// shortIDs returns for each session the shortest unique prefix of its id, at least 8 characters.
func shortIDs(all []session.Info) map[string]string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	slices.Sort(ids)
	short := make(map[string]string, len(ids))
	for i, id := range ids {
		n := 8
		for _, neighbour := range [2]int{i - 1, i + 1} {
			if neighbour >= 0 && neighbour < len(ids) {
				n = max(n, common(id, ids[neighbour])+1)
			}
		}
		if n = min(n, len(id)); id[n-1] == '-' {
			n = min(n+1, len(id))
		}
		short[id] = id[:n]
	}
	return short
}

// common returns the length of the common beginning of a and b.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// SessionsJSON writes a JSON object a line.
func SessionsJSON(w io.Writer, found []session.Info) error {
	enc := json.NewEncoder(w)
	for _, i := range found {
		if err := enc.Encode(jsonInfoOf(i)); err != nil {
			return err
		}
	}
	return nil
}

// headline returns the text by which a person recognises a session.
func headline(i session.Info) string {
	const most = 100
	s := i.Title
	if s == "" {
		s = i.First
	}
	if s == "" {
		return "(nothing said)"
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// jsonInfo is a session in JSON.
type jsonInfo struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir,omitempty"`
	Title    string    `json:"title,omitempty"`
	First    string    `json:"first,omitempty"`
	Model    string    `json:"model,omitempty"`
	Source   string    `json:"source,omitempty"`
	From     string    `json:"from,omitempty"`
	FromSeq  uint64    `json:"from_event,omitempty"`
	Relation string    `json:"relation,omitempty"`
	Next     string    `json:"next,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Events   uint64    `json:"events"`
	Messages int       `json:"messages"`
}

func jsonInfoOf(i session.Info) jsonInfo {
	return jsonInfo{
		i.ID, i.Dir, i.Title, i.First, i.Model, i.Source, i.From.Session, i.From.Seq, string(i.From.Relation), i.Next,
		i.Created, i.Updated, i.Last, i.Count,
	}
}

// Hits writes the messages that hold the words, a line each.
func Hits(w io.Writer, hits []session.Hit, words []string) {
	for _, h := range hits {
		fmt.Fprintf(w, "%s  %d  %s: %s\n", h.Session, h.Event.Seq, workspace.Quote(speaker(h)), h.Snippet(words))
	}
}

// HitsJSON writes the same, a JSON object a line.
func HitsJSON(w io.Writer, hits []session.Hit, words []string) error {
	enc := json.NewEncoder(w)
	for _, h := range hits {
		err := enc.Encode(map[string]any{
			"session": h.Session, "event": h.Event.Seq, "time": h.Event.Time, "by": speaker(h), "text": h.Snippet(words),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// speaker returns who wrote the text of an event.
func speaker(h session.Hit) string {
	if m, ok := h.Event.Body.(session.Message); ok {
		return string(m.Role)
	}
	return string(h.Event.Kind())
}
