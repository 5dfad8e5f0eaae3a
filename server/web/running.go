package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/record"
)

// Spending says what runs and what it costs, and how far limits are used.
type Spending struct {
	Running []Running      `json:"running"`
	Caps    []record.Cap   `json:"caps"`   // a person's own limits that are nearly or fully spent
	Meters  []record.Meter `json:"meters"` // limits of subscriptions
}

// Running is a conversation with its sub-agents and forks that had a request in the last quarter of an hour, or that a person has stopped.
type Running struct {
	ID        string    `json:"id"`
	Client    string    `json:"client,omitempty"`
	Project   string    `json:"project,omitempty"`
	Model     string    `json:"model"`
	First     time.Time `json:"first"` // of the day that is looked at
	Last      time.Time `json:"last"`
	Agents    int       `json:"agents"` // sub-agents
	Requests  int       `json:"requests"`
	USD       float64   `json:"usd"`
	PerMinute float64   `json:"per_minute"` // US dollars, over the last ten minutes
	Unpriced  int       `json:"unpriced"`
	Stopped   bool      `json:"stopped"`
}

// Stop stops a conversation, with its sub-agents and forks, or lets it go on.
type Stop struct {
	ID string `json:"id"`
	Go bool   `json:"go"` // it may go on
}

const (
	runs   = 15 * time.Minute // a conversation whose last request is older does not run
	recent = 10 * time.Minute
)

func (h *Handler) spending(r *http.Request) (any, error) {
	now := time.Now()
	rows, err := h.Records.Requests(r.Context(), record.Query{From: now.Add(-24 * time.Hour), Limit: maxRows})
	if err != nil {
		return nil, err
	}
	var notes [3][]record.Note
	for i, kind := range []string{record.NoteStop, record.NoteCap, record.NoteMeter} {
		if notes[i], err = h.Records.Notes(r.Context(), kind); err != nil {
			return nil, err
		}
	}
	stopped := map[string]bool{}
	for _, n := range notes[0] {
		stopped[n.Key] = true
	}
	type sum struct {
		Running
		agents map[[2]string]bool
	}
	by := map[string]*sum{}
	for i := range rows {
		row := &rows[i]
		if row.API == record.CountTokens {
			continue
		}
		s := by[row.Tree()]
		if s == nil {
			s = &sum{Running{ID: row.Tree(), First: row.Time, Stopped: stopped[row.Tree()]}, map[[2]string]bool{}}
			by[row.Tree()] = s
		}
		s.Client, s.Project = cmp.Or(s.Client, row.Client), cmp.Or(s.Project, row.Project)
		s.Model, s.Last = row.Model, row.Time
		s.Requests++
		if row.Agent != "" || row.Root != "" {
			s.agents[[2]string{row.Conversation, row.Agent}] = true
		}
		usd, _, known := h.cost(row, nil)
		if !known {
			s.Unpriced++
		}
		s.USD += usd
		if began := now.Add(-recent); row.Time.After(began) {
			s.PerMinute += usd / recent.Minutes()
		}
	}
	out := Spending{Running: []Running{}, Caps: record.Caps(notes[1], now), Meters: record.Meters(notes[2], now)}
	for _, s := range by {
		if s.Agents = len(s.agents); s.Stopped || now.Sub(s.Last) < runs {
			out.Running = append(out.Running, s.Running)
		}
	}
	slices.SortFunc(out.Running, func(a, b Running) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

func (h *Handler) stop(r *http.Request, in Stop) (any, error) {
	if in.ID == "" {
		return nil, invalid("id: want a conversation")
	}
	text := ""
	if !in.Go {
		b, err := json.Marshal(map[string]string{"by": who(r.Context())})
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	note := record.Note{Kind: record.NoteStop, Key: in.ID, Text: text, Time: time.Now()}
	if err := h.Records.Append(r.Context(), record.Batch{Notes: []record.Note{note}}); err != nil {
		return nil, err
	}
	h.log().Info("a conversation was stopped or goes on", "conversation", in.ID, "stopped", !in.Go, "by", who(r.Context()))
	return nothing{}, nil
}
