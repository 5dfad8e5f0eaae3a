package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// fill records some requests: two conversations on three days.
func (h *rig) fill(t *testing.T) {
	t.Helper()
	now := time.Now()
	row := func(id, conversation, client, model string, hours int) record.Request {
		return record.Request{
			ID: id, Conversation: conversation, Client: client, Model: model, API: llm.Chat, Policy: "lossless", Status: 200,
			Time: now.Add(-time.Duration(hours) * time.Hour), TokensOff: 100, Tokens: 60, Usage: record.Usage{Input: 10, CacheRead: 40, CacheWrite: 10, Output: 5},
		}
	}
	counted := row("r0", "c1", "one", "m1", 60)
	counted.API = record.CountTokens
	failed := row("r4", "c2", "", "m2", 1)
	failed.Status, failed.Observe = 500, true
	err := h.records.Append(t.Context(), record.Batch{
		Requests: []record.Request{counted, row("r1", "c1", "one", "m1", 50), row("r2", "c1", "one", "m1", 49), row("r3", "c2", "", "m1", 2), failed},
		Trims:    []record.Trim{{Request: "r2", Conversation: "c1", CallID: "x", Paths: []string{"a.go"}, Reason: "repeat", Before: 900, After: 9, Time: now.Add(-49 * time.Hour)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Cost = func(model string, u, whole record.Usage) (float64, float64, bool) {
		return float64(2*u.Input + u.CacheRead + u.CacheWrite), float64(whole.Prompt() - u.Prompt()), model == "m1"
	}
}

// The sums of the page equal the sums of the rows: in all, over time, and by agent, model and policy.
func TestSavings(t *testing.T) {
	h, _ := newRig(t)
	h.fill(t)
	p := h.enter(t, "A")
	s := get[Savings](p, "/api/savings?days=30&zone=Europe/Berlin")
	want := Sums{Requests: 4, Failed: 1, TokensOff: 400, Tokens: 240, Used: Tokens{Input: 40, CacheRead: 160, CacheWrite: 40, Output: 20}, USD: 210, Saved: 120, Unpriced: 1}
	if s.Total != want {
		t.Errorf("total %+v, want %+v", s.Total, want)
	}
	over := 0
	for i, x := range s.Times {
		over += x.Requests
		if i > 0 && !x.Start.After(s.Times[i-1].Start) {
			t.Errorf("times are not in order: %v", s.Times)
		}
	}
	if over != 4 || len(s.Times) < 3 {
		t.Errorf("%d requests in %d points", over, len(s.Times))
	}
	if len(s.Client) != 2 || s.Client[0].Name == s.Client[1].Name || len(s.Model) != 2 || s.Model[0].Name != "m1" || s.Model[0].Requests != 3 {
		t.Errorf("groups %+v, %+v", s.Client, s.Model)
	}
	if len(s.Policy) != 2 || s.Policy[1].Name != "lossless, observed" {
		t.Errorf("policies %+v", s.Policy)
	}
	if s := get[Savings](p, "/api/savings?days=1"); s.Total.Requests != 2 || len(s.Times) < 1 || len(s.Times) > 3 {
		t.Errorf("a day: %+v", s)
	}
	for _, wrong := range []string{"days=x"} {
		if r := p.do(http.MethodGet, "/api/savings?"+wrong, nil, nil); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", wrong, r.Status)
		}
	}
}

// A day goes from midnight to midnight, also where the clock is changed, or where a day has no midnight.
func TestDaysWhereTheClockChanges(t *testing.T) {
	for zone, days := range map[string][]string{
		"Europe/Berlin": {"2026-10-23T22:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "2026-10-26T23:00:00Z"},
		"Africa/Cairo":  {"2026-04-22T22:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z", "2026-04-25T21:00:00Z"},
	} {
		in, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		var starts []time.Time
		for _, day := range days {
			at, err := time.Parse(time.RFC3339, day)
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, at.In(in))
		}
		all := points(starts[0].Add(3*time.Hour), starts[3].Add(time.Minute), false)
		if len(all) != len(starts) {
			t.Fatalf("%s: %v", zone, all)
		}
		for i := range starts {
			// The second day in Cairo has no midnight: Go may take an hour before or after.
			if d := all[i].Start.Sub(starts[i]); d != 0 && (zone != "Africa/Cairo" || i != 1 || d.Abs() > time.Hour) {
				t.Errorf("%s: day %d begins at %v, want %v", zone, i, all[i].Start, starts[i])
			}
		}
		if hours := points(starts[1].Add(30*time.Minute), starts[2], true); len(hours) != 1+int(starts[2].Sub(starts[1])/time.Hour) || !hours[0].Start.Equal(starts[1]) {
			t.Errorf("%s: hours %v", zone, hours)
		}
	}
}

// The requests of a conversation say what was left out of each, and why.
func TestRequests(t *testing.T) {
	h, _ := newRig(t)
	h.fill(t)
	p := h.enter(t, "A")
	all := get[[]Conversation](p, "/api/conversations")
	if len(all) != 2 || all[0].ID != "c2" || all[0].Requests != 2 || all[1].Client != "one" || all[1].TokensOff != 200 {
		t.Errorf("conversations %+v", all)
	}
	rows := get[[]Request](p, "/api/requests?conversation=c1")
	if len(rows) != 3 || len(rows[1].Trims) != 0 || len(rows[2].Trims) != 1 || rows[2].Trims[0].Reason != "repeat" || rows[2].USD == nil {
		t.Errorf("requests %+v", rows)
	}
	if rows := get[[]Request](p, "/api/requests?conversation=c2"); rows[1].USD != nil || !rows[1].Observe {
		t.Errorf("a request of unknown price: %+v", rows[1])
	}
}

// log adds entries to the trail.
func (h *rig) log(t *testing.T, entries ...record.Entry) {
	t.Helper()
	for i := range entries {
		entries[i].Time, entries[i].Root = time.Now(), "/home/me/project"
	}
	if _, err := h.records.Log(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
}

// Reads, edits and refusals are listed by file. Writes that can be undone are undone for the person who asks. (FILE-12)
func TestFilesAndUndo(t *testing.T) {
	h, _ := newRig(t)
	h.log(t,
		record.Entry{Kind: record.Call, Session: "s", Path: "a.txt", Outcome: record.OK},
		record.Entry{Kind: record.Intent, Session: "s", Path: "a.txt", Tool: "write_file", Before: "h1", After: "h2"},
		record.Entry{Kind: record.Outcome, Intent: 2, Session: "s", Path: "a.txt", Outcome: record.OK},
		record.Entry{Kind: record.Call, Session: "t", Path: "a.txt", Outcome: "concurrent_modification"},
		record.Entry{Kind: record.Intent, Session: "t", Path: "b.txt", Tool: "write_file", After: "h3"},
		record.Entry{Kind: record.Outcome, Intent: 5, Session: "t", Path: "b.txt", Outcome: record.OK},
		record.Entry{Kind: record.Intent, Session: "t", Path: "c.txt", Tool: "write_file", After: "h4"},
		record.Entry{Kind: record.Call, Session: "t", Path: "../x", Outcome: "invalid_path"},
	)
	p := h.enter(t, "A")
	p.post("/api/undo", Undo{Writes: []uint64{2}}, http.StatusNotImplemented)
	var undone []record.Write
	var by, session string
	h.Undo = func(_ context.Context, writes []record.Write, person, of string) error {
		undone, by, session = writes, person, of
		if writes[0].Path == "a.txt" && len(writes) > 1 {
			return errors.New("a.txt was changed since")
		}
		return nil
	}
	f := get[Files](p, "/api/files")
	files := map[string]TouchedFile{}
	for _, x := range f.Files {
		files[x.Path] = x
	}
	if a := files["a.txt"]; a.Reads != 1 || a.Writes != 1 || a.Conflicts != 1 || len(a.Sessions) != 2 {
		t.Errorf("a.txt: %+v", a)
	}
	if len(files) != 3 || files["../x"].Refused != 1 {
		t.Errorf("files %+v", f.Files)
	}
	if !f.Undo || len(f.Writes) != 3 || f.Writes[0].Path != "c.txt" || !f.Writes[0].Open || f.Writes[1].Action != "create" {
		t.Errorf("writes %+v", f.Writes)
	}
	p.post("/api/undo", Undo{Writes: []uint64{2}}, http.StatusOK)
	if len(undone) != 1 || undone[0].Path != "a.txt" || by != "desk" {
		t.Errorf("undone %+v by %s", undone, by)
	}
	p.post("/api/undo", Undo{Session: "t", Name: "n_1"}, http.StatusOK)
	if session != "undo-n_1" {
		t.Errorf("the questions are of session %q", session)
	}
	p.post("/api/undo", Undo{Session: "t", Name: "no name"}, http.StatusBadRequest)
	if len(undone) != 2 || undone[0].Path != "b.txt" || !undone[1].Open { // Undo looks whether the last one was done
		t.Errorf("undone %+v", undone)
	}
	for _, u := range []Undo{{}, {Writes: []uint64{99}}, {Writes: []uint64{2, 99}}, {Session: "nobody"}} {
		p.post("/api/undo", u, http.StatusConflict)
	}
	if said := p.post("/api/undo", Undo{Writes: []uint64{2, 5}}, http.StatusConflict); !strings.Contains(said, "changed since") {
		t.Errorf("what cannot be undone: %q", said)
	}
}

// The trail is listed with the newest entry first, and its chain is verified. A person resumes a suspended session. (FILE-11)
func TestAudit(t *testing.T) {
	h, _ := newRig(t)
	h.log(t,
		record.Entry{Kind: record.Call, Session: "s", Path: "a", Outcome: record.OK, By: "person desk", Decision: "approved"},
		record.Entry{Kind: record.Suspend, Session: "bad", Outcome: record.OK, Flags: []string{"suspicious"}},
		record.Entry{Kind: record.Intent, Session: "s", Path: "a"},
	)
	p := h.enter(t, "A")
	all := get[[]record.Entry](p, "/api/audit")
	if len(all) != 3 || all[0].Seq != 3 || all[2].By != "person desk" {
		t.Errorf("entries %+v", all)
	}
	if all := get[[]record.Entry](p, "/api/audit?kind=suspend&kind=alarm&last=1"); len(all) != 1 || all[0].Session != "bad" {
		t.Errorf("of a kind: %+v", all)
	}
	r := p.do(http.MethodPost, "/api/audit/verify", Verify{}, nil)
	var v Verdict
	decode(t, r, &v)
	if v.Entries != 3 || v.Broken != 0 || len(v.Open) != 1 || v.Open[0] != 3 || !strings.HasPrefix(v.Head, "3:") {
		t.Errorf("verdict %+v", v)
	}
	decode(t, p.do(http.MethodPost, "/api/audit/verify", Verify{Known: " 4:" + strings.Repeat("0", 64) + "\n"}, nil), &v)
	if v.Broken != 4 || !strings.Contains(v.Why, "the end is missing") {
		t.Errorf("verdict %+v", v)
	}
	p.post("/api/audit/verify", Verify{Known: "x"}, http.StatusBadRequest)

	if s := get[[]Suspended](p, "/api/suspended"); len(s) != 1 || s[0].Session != "bad" || s[0].Lift {
		t.Errorf("suspended %+v", s)
	}
	p.post("/api/suspended/lift", Lift{"bad"}, http.StatusNotImplemented)
	h.Lift = func(ctx context.Context, session, person string) error {
		h.log(t, record.Entry{Kind: record.Resume, Session: session, By: "person " + person})
		return ctx.Err()
	}
	p.post("/api/suspended/lift", Lift{"bad"}, http.StatusOK)
	if s := get[[]Suspended](p, "/api/suspended"); len(s) != 0 {
		t.Errorf("suspended %+v", s)
	}
}

// A server without stores says that they are missing, and shows the rest.
func TestWithoutStores(t *testing.T) {
	h, _ := newRig(t)
	h.Sessions, h.Records, h.Trail = nil, nil, nil
	p := h.enter(t, "A")
	if me := get[Me](p, "/api/me"); me.Sessions || me.Records || me.Trail || me.Live || me.Compact {
		t.Errorf("me %+v", me)
	}
	for _, path := range []string{
		"/api/sessions", "/api/search?words=x", "/api/sessions/x", "/api/sessions/x/events?after=0", "/api/conversations",
		"/api/requests?conversation=x", "/api/savings", "/api/files", "/api/audit",
	} {
		if r := p.do(http.MethodGet, path, nil, nil); r.StatusCode != http.StatusNotImplemented {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	if r := p.do(http.MethodGet, "/api/nothing", nil, nil); r.StatusCode != http.StatusNotFound {
		t.Errorf("/api/nothing: %s", r.Status)
	}
}
