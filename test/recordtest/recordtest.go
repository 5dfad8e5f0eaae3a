// Package recordtest has the suites that every implementation of record.Store and of record.Trail passes.
package recordtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// Start is the time of the first row that the suite writes.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// Run runs the suite. It calls open once for each test. open returns a new, empty store, which the suite closes.
func Run(t *testing.T, open func(t *testing.T) record.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, record.Store)
	}{
		{"empty", empty},
		{"every field comes back", fields},
		{"query", query},
		{"order and limit", order},
		{"arrival", arrived},
		{"appending twice", twice},
		{"turns", turns},
		{"sent edits", forms},
		{"refusals", refusals},
		{"tools", tools},
		{"notes", notes},
		{"prune", prune},
		{"concurrent", concurrent},
		{"ownership", ownership},
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

// Full returns a request in which no field is zero.
func Full(id, conversation string, at time.Time) record.Request {
	return record.Request{
		ID: id, Time: at, Conversation: conversation, Root: "c0", Holdout: record.HeldOut, Agent: "agent-7", Client: "some-agent",
		API: llm.Messages, Model: "model-a", Upstream: "api.example.com:8443",
		Status: 200, Policy: "lossless", Observe: true, Passed: "chained", Cut: true,
		BytesIn: 1 << 33, BytesOut: 1<<33 - 1, TokensOff: 9000, Tokens: 8000,
		Usage: record.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 4, Output: 5, Reasoning: 6, WebSearches: 7, Speed: "fast", Region: "us", Tier: "flex"},
		Reads: 7, Repeats: 3, Dangling: 1, Trimmed: 2, Added: 1234567 * time.Nanosecond,
		ToolSet: 1<<64 - 5, Project: "/home/me/garden",
		Cache: record.Cache{
			Gap: 301 * time.Second, Lifetime: 5 * time.Minute, Moment: "gap", Alive: true,
			Broke: record.BrokeMessage, BrokeAt: 12,
		},
	}
}

func empty(t *testing.T, s record.Store) {
	must(t, s.Append(t.Context(), record.Batch{}))
	if rows := requests(t, s, record.Query{}); len(rows) != 0 {
		t.Errorf("requests of an empty store: %v", rows)
	}
}

func fields(t *testing.T, s record.Store) {
	zone := time.FixedZone("elsewhere", 3600)
	want := Full("r1", "c1", Start)
	for _, v := range []reflect.Value{reflect.ValueOf(want), reflect.ValueOf(want.Cache)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("the suite leaves %s zero", v.Type().Field(i).Name)
			}
		}
	}
	trim := record.Trim{
		Request: "r1", Time: Start.Add(time.Second), Conversation: "c1", CallID: "call_1",
		Paths: []string{"src/a b.go", "docs/说明.md", `odd"name\`}, Reason: "older", Before: 4096, After: 90, Observe: true,
	}
	in, inTrim := want, trim
	in.Time, inTrim.Time = want.Time.In(zone), trim.Time.In(zone)
	zero := record.Request{ID: "r2", Time: Start.Add(time.Minute), Conversation: "c2"}
	bare := record.Trim{Request: "r2", Time: Start.Add(time.Minute), Conversation: "c2", CallID: "call_1"}
	must(t, s.Append(t.Context(), record.Batch{
		Requests: []record.Request{in, zero}, Trims: []record.Trim{inTrim, bare},
	}))
	same(t, requests(t, s, record.Query{}), []record.Request{want, zero})
	same(t, trims(t, s, record.Query{}), []record.Trim{trim, bare})
}

func query(t *testing.T, s record.Store) {
	var b record.Batch
	for i := range 6 {
		r := Full(fmt.Sprint("r", i), fmt.Sprint("c", i%2), Start.Add(time.Duration(i)*time.Minute))
		r.Observe = i >= 4
		b.Requests = append(b.Requests, r)
		b.Trims = append(b.Trims, record.Trim{
			Request: r.ID, Time: r.Time, Conversation: r.Conversation, CallID: "x", Observe: r.Observe,
		})
	}
	must(t, s.Append(t.Context(), b))
	for _, test := range []struct {
		q    record.Query
		want []string
	}{
		{record.Query{}, []string{"r0", "r1", "r2", "r3", "r4", "r5"}},
		{record.Query{From: Start.Add(time.Minute)}, []string{"r1", "r2", "r3", "r4", "r5"}},
		{record.Query{To: Start.Add(time.Minute)}, []string{"r0"}},
		{record.Query{From: Start.Add(time.Minute), To: Start.Add(3 * time.Minute)}, []string{"r1", "r2"}},
		{record.Query{Conversation: "c1"}, []string{"r1", "r3", "r5"}},
		{record.Query{Conversation: "' OR 1=1 --"}, nil},
		{record.Query{Limit: 2}, []string{"r4", "r5"}},
		{record.Query{Limit: 2, Oldest: true, From: Start.Add(time.Minute)}, []string{"r1", "r2"}},
		{record.Query{Oldest: true}, []string{"r0", "r1", "r2", "r3", "r4", "r5"}},
		{record.Query{Limit: 100}, []string{"r0", "r1", "r2", "r3", "r4", "r5"}},
	} {
		var got, gotTrims []string
		for _, r := range requests(t, s, test.q) {
			got = append(got, r.ID)
		}
		for _, r := range trims(t, s, test.q) {
			gotTrims = append(gotTrims, r.Request)
		}
		if !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(gotTrims, test.want) {
			t.Errorf("%+v: requests %v, trims %v, want %v", test.q, got, gotTrims, test.want)
		}
	}
	if all, c1 := requests(t, s, record.Query{Tree: "c0"}), requests(t, s, record.Query{Tree: "c1", Limit: 2}); len(all) != 6 || len(c1) != 2 || c1[0].ID != "r3" {
		t.Errorf("trees: %v, %v", all, c1)
	}
}

// arrived: a request arrives when it is stored, also if it began long ago. None is missed, and in time none is returned again.
func arrived(t *testing.T, s record.Store) {
	next := func(c record.Cursor, want ...string) record.Cursor {
		t.Helper()
		rows, c, err := s.Arrived(t.Context(), c)
		must(t, err)
		for _, id := range want {
			if !slices.ContainsFunc(rows, func(r record.Request) bool { return r.ID == id }) {
				t.Errorf("%s is not among the %d that arrived", id, len(rows))
			}
		}
		if len(want) == 0 && len(rows) > 0 {
			t.Errorf("%d arrived", len(rows))
		}
		return c
	}
	older := func(c record.Cursor) record.Cursor {
		c.At = c.At.Add(-time.Hour)
		return c
	}
	put := func(id string, d time.Duration) {
		must(t, s.Append(t.Context(), record.Batch{Requests: []record.Request{Full(id, "c", Start.Add(d))}}))
	}
	empty := next(record.Cursor{})
	put("a", 0)
	put("old", -time.Hour)
	_, c, err := s.Arrived(t.Context(), older(next(empty, "a", "old")))
	must(t, err)
	_, c, err = s.Arrived(t.Context(), older(c))
	must(t, err)
	next(c)
	put("older", -2*time.Hour)
	put("b", time.Minute)
	next(c, "older", "b")
	next(empty, "a", "old", "older", "b")
	next(record.Cursor{})
	_, err = s.Prune(t.Context(), record.Limits{Since: Start.Add(time.Hour)})
	must(t, err)
	put("anew", 2*time.Hour)
	next(c, "anew")
}

func order(t *testing.T, s record.Store) {
	at := func(id string, d time.Duration) record.Request { return Full(id, "c", Start.Add(d)) }
	must(t, s.Append(t.Context(), record.Batch{Requests: []record.Request{at("late", time.Hour), at("a", 0)}}))
	must(t, s.Append(t.Context(), record.Batch{Requests: []record.Request{at("b", 0), at("early", -time.Hour)}}))
	same(t, requests(t, s, record.Query{}), []record.Request{
		at("early", -time.Hour), at("a", 0), at("b", 0), at("late", time.Hour),
	})
	same(t, requests(t, s, record.Query{Limit: 2}), []record.Request{at("b", 0), at("late", time.Hour)})
	same(t, requests(t, s, record.Query{Limit: 3, Oldest: true}), []record.Request{at("early", -time.Hour), at("a", 0), at("b", 0)})
}

func twice(t *testing.T, s record.Store) {
	first := Full("r1", "c", Start)
	trim := record.Trim{Request: "r1", Time: Start, Conversation: "c", CallID: "k", Reason: "repeat"}
	must(t, s.Append(t.Context(), record.Batch{Requests: []record.Request{first}, Trims: []record.Trim{trim}}))
	again, other := first, trim
	arguments := trim
	again.Status, other.CallID, arguments.Reason = 500, "l", "arguments"
	must(t, s.Append(t.Context(), record.Batch{
		Requests: []record.Request{again, Full("r2", "c", Start)}, Trims: []record.Trim{trim, other, arguments},
	}))
	same(t, requests(t, s, record.Query{}), []record.Request{first, Full("r2", "c", Start)})
	same(t, trims(t, s, record.Query{}), []record.Trim{trim, other, arguments})
}

func concurrent(t *testing.T, s record.Store) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				err := s.Append(t.Context(), record.Batch{
					Requests: []record.Request{Full(id, fmt.Sprint(w), Start.Add(time.Duration(i)*time.Second))},
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := s.Requests(t.Context(), record.Query{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if rows := requests(t, s, record.Query{}); len(rows) != writers*each {
		t.Errorf("after %d appends: %d rows", writers*each, len(rows))
	}
}

func ownership(t *testing.T, s record.Store) {
	paths := []string{"a.go"}
	must(t, s.Append(t.Context(), record.Batch{Trims: []record.Trim{
		{Request: "r", CallID: "k", Conversation: "c", Time: Start, Paths: paths},
	}}))
	paths[0] = "changed by the writer"
	trims(t, s, record.Query{})[0].Paths[0] = "changed by a reader"
	if got := trims(t, s, record.Query{}); got[0].Paths[0] != "a.go" {
		t.Errorf("the store shares memory with its callers: %q", got[0].Paths)
	}

	turn := FullTurn(1, Start)
	must(t, s.Append(t.Context(), record.Batch{Turns: []record.Turn{turn}}))
	for range 2 {
		same(t, turnsAt(t, s, 1), []record.Turn{FullTurn(1, Start)})
	}
}

func closed(t *testing.T, s record.Store) {
	must(t, s.Close())
	must(t, s.Close())
	_, errRequests := s.Requests(t.Context(), record.Query{})
	_, errTrims := s.Trims(t.Context(), record.Query{})
	_, errTurns := s.Turns(t.Context(), []uint64{1})
	_, _, errTools := s.Tools(t.Context(), time.Time{})
	_, errPrune := s.Prune(t.Context(), record.Limits{})
	errAppend := s.Append(t.Context(), record.Batch{Requests: []record.Request{Full("r", "c", Start)}})
	for i, err := range []error{errRequests, errTrims, errTurns, errTools, errPrune, errAppend} {
		if !errors.Is(err, record.ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
}

func cancelled(t *testing.T, s record.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Append(ctx, record.Batch{Requests: []record.Request{Full("r", "c", Start)}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("append under a cancelled context: %v", err)
	}
	if rows := requests(t, s, record.Query{}); len(rows) != 0 {
		t.Errorf("and yet: %v", rows)
	}
}

func requests(t *testing.T, s record.Store, q record.Query) []record.Request {
	t.Helper()
	rows, err := s.Requests(t.Context(), q)
	must(t, err)
	return rows
}

func trims(t *testing.T, s record.Store, q record.Query) []record.Trim {
	t.Helper()
	rows, err := s.Trims(t.Context(), q)
	must(t, err)
	return rows
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
