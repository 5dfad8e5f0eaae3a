// Package sessiontest has the test suite that every implementation of session.Store passes.
package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// Start is the time of the first event that the suite writes.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// Run runs the suite. open returns a new, empty store. It is called once for each test. The suite closes the stores.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, session.Store)
	}{
		{"empty", empty},
		{"every kind comes back", kinds},
		{"any bytes come back", anyBytes},
		{"large", large},
		{"numbers and times", numbers},
		{"refused", refused},
		{"stale", stale},
		{"all or none", allOrNone},
		{"list", list},
		{"search", search},
		{"concurrent", concurrent},
		{"concurrent in one session", together},
		{"ownership", ownership},
		{"handle", handles},
		{"rewind", rewinds},
		{"fork", forks},
		{"compaction", compacts},
		{"hub", hub},
		{"closed", closed},
		{"cancelled", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test.run(t, s)
		})
	}
}

// Text returns a message with one part of text.
func Text(role llm.Role, text string) session.Message {
	return session.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// Bodies returns one body of every kind, the opening first. No field is zero.
func Bodies() []session.Body {
	all := llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 4, Output: 5, Reasoning: 6, WebSearches: 7, Speed: "fast", Region: "us", Tier: "flex"}
	return []session.Body{
		session.Opening{
			Dir: "/home/me/project", Source: "elsewhere:7", Carried: 3,
			From: session.Link{Session: "other", Seq: 9, Relation: session.Forked},
		},
		session.Message{
			Role: llm.Assistant, ID: "msg_1", Time: Start.Add(789 * time.Nanosecond), Model: "model-a", Local: true, Usage: &all,
			Parts: []llm.Part{
				{Kind: llm.Thinking, Text: "hm", Raw: `{"type": "thinking","signature":"x=="}`},
				{Text: "Ich sehe <b>nach</b>: 说明\u2028\r\n"},
				{Kind: llm.ToolCall, CallID: "call_1", Name: "read_file", Args: `{"path":  "a.go"}`},
				{Kind: llm.ToolResult, CallID: "call_0", Text: "Error: no", IsError: true},
				{Kind: llm.Opaque, Raw: `{"type":"image"}`},
			},
		},
		session.Usage{Model: "model-b", Used: all},
		session.Title("a title"),
		session.File{
			Kind: freshness.Read, Path: "src/a.go", Version: workspace.VersionOf([]byte("x")),
			Stamp: workspace.Stamp{Dev: 1, Ino: 2, Size: 3, Mtime: 4, Ctime: 5}, Gone: true,
			Lines: freshness.Range{First: 2, Last: 8}, Part: true, Time: Start.Add(time.Nanosecond),
		},
		session.Approval{CallID: "call_1", Tool: "write_file", Path: "a.go", Decision: "approved", By: "person", Grant: "*.go", Words: "go on"},
		session.Rewind{To: 2},
		session.Compaction{To: "next"},
	}
}

func empty(t *testing.T, s session.Store) {
	must(t, s.Append(t.Context()))
	if found := sessions(t, s, session.Query{}); len(found) != 0 {
		t.Errorf("sessions of an empty store: %v", found)
	}
	if _, _, err := s.Events(t.Context(), "none", 0); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("events of no session: %v", err)
	}
	if hits, err := s.Search(t.Context(), []string{"word"}, 0); err != nil || len(hits) != 0 {
		t.Errorf("search: %v, %v", hits, err)
	}
	if _, err := session.Latest(t.Context(), s, ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("latest: %v", err)
	}
}

func kinds(t *testing.T, s session.Store) {
	var in, want []session.Event
	for i, b := range Bodies() {
		at := Start.Add(time.Duration(i) * time.Second)
		in = append(in, session.Event{Time: at.In(time.FixedZone("elsewhere", 3600)), Body: b})
		want = append(want, session.Event{Seq: uint64(i) + 1, Time: at, Version: session.Format, Body: b})
	}
	must(t, s.Append(t.Context(), session.Batch{Session: "s", Events: in}))
	same(t, events(t, s, "s", 0), want)
	same(t, events(t, s, "s", 3), want[3:])
	same(t, events(t, s, "s", 99), []session.Event(nil))
}

func numbers(t *testing.T, s session.Store) {
	before := time.Now().UTC().Truncate(time.Microsecond)
	must(t, s.Append(t.Context(), batch("s", 0, session.Opening{})))
	must(t, s.Append(t.Context(), batch("s", 1, Text(llm.User, "one"), Text(llm.User, "two"))))
	must(t, s.Append(t.Context(), session.Batch{Session: "s", After: 3, Events: []session.Event{
		{Seq: 77, Version: 9, Time: Start.Add(999 * time.Nanosecond), Body: session.Title("t")},
	}}))
	got := events(t, s, "s", 0)
	after := time.Now()
	for i, e := range got {
		if e.Seq != uint64(i)+1 || e.Version != session.Format {
			t.Errorf("event %d: number %d, version %d", i, e.Seq, e.Version)
		}
		if i < 3 && (e.Time.Before(before) || e.Time.After(after)) {
			t.Errorf("event %d: %v is not between %v and %v", i, e.Time, before, after)
		}
	}
	if len(got) != 4 || !got[3].Time.Equal(Start) {
		t.Errorf("%d events, the last of %v", len(got), got[len(got)-1].Time)
	}
}

func refused(t *testing.T, s session.Store) {
	must(t, s.Append(t.Context(), batch("s", 0, session.Opening{})))
	for name, b := range map[string]session.Batch{
		"no session":       batch("", 0, session.Opening{}),
		"no events":        batch("t", 0),
		"no body":          {Session: "t", Events: []session.Event{{}}},
		"no opening":       batch("t", 0, session.Title("x")),
		"second opening":   batch("s", 1, session.Opening{}),
		"rewind to 0":      batch("s", 1, session.Rewind{}),
		"rewind to itself": batch("s", 1, session.Rewind{To: 2}),
		"unknown kind":     batch("s", 1, session.Unknown{Kind: "future", JSON: "{}"}),
		"unknown part":     batch("s", 1, session.Message{Parts: []llm.Part{{Kind: 77}}}),
		"time":             batch("s", 1, session.Message{Time: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"no such session":  batch("t", 4, session.Title("x")),
	} {
		if err := s.Append(t.Context(), b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := sessions(t, s, session.Query{}); len(got) != 1 || got[0].Last != 1 {
		t.Errorf("sessions: %+v", got)
	}
}

func stale(t *testing.T, s session.Store) {
	must(t, s.Append(t.Context(), batch("s", 0, session.Opening{})))
	must(t, s.Append(t.Context(), batch("s", 1, Text(llm.User, "first"))))
	for _, after := range []uint64{0, 1, 3} {
		b := batch("s", after, Text(llm.User, "late"))
		if after == 0 {
			b = batch("s", 0, session.Opening{})
		}
		if err := s.Append(t.Context(), b); !errors.Is(err, session.ErrStale) {
			t.Errorf("after %d: %v", after, err)
		}
	}
	must(t, s.Append(t.Context(), batch("s", 2, Text(llm.User, "second"))))
	if got := events(t, s, "s", 0); len(got) != 3 {
		t.Errorf("%d events", len(got))
	}
}

func allOrNone(t *testing.T, s session.Store) {
	must(t, s.Append(t.Context(), batch("a", 0, session.Opening{})))
	err := s.Append(t.Context(), batch("b", 0, session.Opening{}), batch("a", 7, session.Title("x")))
	if !errors.Is(err, session.ErrStale) {
		t.Error(err)
	}
	if got := sessions(t, s, session.Query{}); len(got) != 1 || got[0].Last != 1 {
		t.Errorf("sessions: %+v", got)
	}
	must(t, s.Append(t.Context(), batch("b", 0, session.Opening{}), batch("a", 1, session.Title("x")), batch("b", 1, session.Title("y"))))
	if a, b := events(t, s, "a", 0), events(t, s, "b", 0); len(a) != 2 || len(b) != 2 {
		t.Errorf("%d and %d events", len(a), len(b))
	}
}

func closed(t *testing.T, s session.Store) {
	must(t, s.Append(t.Context(), batch("s", 0, session.Opening{})))
	must(t, s.Close())
	must(t, s.Close())
	_, err := s.List(t.Context(), session.Query{})
	_, _, err2 := s.Events(t.Context(), "s", 0)
	_, err3 := s.Search(t.Context(), []string{"x"}, 0)
	for i, err := range []error{s.Append(t.Context(), batch("s", 1, session.Title("x"))), err, err2, err3} {
		if !errors.Is(err, session.ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func cancelled(t *testing.T, s session.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, batch("s", 0, session.Opening{})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := sessions(t, s, session.Query{}); len(got) != 0 {
		t.Errorf("sessions: %+v", got)
	}
}

func batch(id string, after uint64, bodies ...session.Body) session.Batch {
	b := session.Batch{Session: id, After: after}
	for _, body := range bodies {
		b.Events = append(b.Events, session.Event{Body: body})
	}
	return b
}

func events(t *testing.T, s session.Store, id string, after uint64) []session.Event {
	t.Helper()
	got, damaged, err := s.Events(t.Context(), id, after)
	if err != nil || len(damaged) > 0 {
		t.Fatalf("events of %s: %v, damaged %v", id, err, damaged)
	}
	return got
}

func sessions(t *testing.T, s session.Store, q session.Query) []session.Info {
	t.Helper()
	got, err := s.List(t.Context(), q)
	must(t, err)
	return got
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", clip(d))
	}
}

func clip(s string) string {
	const most = 4000
	if len(s) > most {
		return s[:most] + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return s
}
