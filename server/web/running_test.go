package web

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// LIVE-3: the page shows what runs, who started it and what it costs a minute, and a person can stop it and let it go on.
func TestRunning(t *testing.T) {
	h, _ := newRig(t)
	now := time.Now()
	row := func(id, conversation, root, agent string, ago time.Duration) record.Request {
		return record.Request{
			ID: id, Time: now.Add(-ago), Conversation: conversation, Root: root, Agent: agent, Client: "claude-code", Project: "/home/me/garden", API: llm.Messages,
			Model: "m1", Status: 200, Usage: record.Usage{Input: 10},
		}
	}
	err := h.records.Append(t.Context(), record.Batch{
		Requests: []record.Request{
			row("1", "main", "", "", 20*time.Minute), row("2", "main", "", "sub", 5*time.Minute), row("3", "child", "main", "", 4*time.Minute), row("4", "old", "", "", time.Hour),
		},
		Notes: []record.Note{
			{Kind: record.NoteCap, Key: "day", Text: `{"scope":"day","limit":"$5.00","spent":"$4.20","share":0.84}`, Time: now},
			{Kind: record.NoteMeter, Key: "a", Text: `{"provider":"anthropic","limit":"5h","used":0.42}`, Time: now},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Cost = func(string, record.Usage, record.Usage) (float64, float64, bool) { return 2, 0, true }
	p := h.enter(t, "A")
	s := get[Spending](p, "/api/running")
	if len(s.Running) != 1 || len(s.Caps) != 1 || len(s.Meters) != 1 {
		t.Fatalf("%+v", s)
	}
	got := s.Running[0]
	if got.ID != "main" || got.Agents != 2 || got.Requests != 3 || got.USD != 6 || got.PerMinute < 0.39 || got.PerMinute > 0.41 || got.Client != "claude-code" || got.Project != "/home/me/garden" {
		t.Errorf("%+v", got)
	}
	for _, on := range []bool{false, true} {
		p.post("/api/running/stop", Stop{ID: "old", Go: on}, 200)
		notes, err := h.records.Notes(t.Context(), record.NoteStop)
		if err != nil || len(notes) != map[bool]int{false: 1, true: 0}[on] {
			t.Errorf("%v %v", notes, err)
		}
		if s := get[Spending](p, "/api/running"); on != (len(s.Running) == 1) {
			t.Errorf("%+v", s.Running)
		}
	}
}
