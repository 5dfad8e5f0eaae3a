package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/session"
)

// Sessions writes two lines for each session.
func Sessions(w io.Writer, found []session.Info) {
	for _, i := range found {
		note := ""
		switch {
		case i.Next != "":
			note = ", compacted"
		case i.From.Relation == session.Started:
			note = ", of a sub-agent"
		}
		fmt.Fprintf(w, "%s  %s  %s%s\n", i.ID, i.Updated.Local().Format(time.DateTime), Count(i.Count, "message"), note)
		fmt.Fprintf(w, "    %s", workspace.Quote(headline(i)))
		if i.Dir != "" {
			fmt.Fprintf(w, " in %s", workspace.Quote(i.Dir))
		}
		fmt.Fprintln(w)
	}
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
	return Cropped(cmp.Or(i.Title, i.First, "(nothing said)"), 100)
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

// speaker returns who wrote the text of an event.
func speaker(h session.Hit) string {
	if m, ok := h.Event.Body.(session.Message); ok {
		return string(m.Role)
	}
	return string(h.Event.Kind())
}
