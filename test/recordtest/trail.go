package recordtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
)

// RunTrail runs the suite of record.Trail. It calls open once for each test. open returns a new, empty trail. The suite
// closes it if it is an io.Closer.
func RunTrail(t *testing.T, open func(t *testing.T) record.Trail) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, record.Trail)
	}{
		{"every field comes back", trailFields},
		{"chain", trailChain},
		{"query", trailQuery},
		{"writes", trailWrites},
		{"pages", trailPages},
		{"concurrent", trailConcurrent},
		{"ownership", trailOwnership},
		{"cancelled", trailCancelled},
		{"closed", trailClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			trail := open(t)
			if c, ok := trail.(io.Closer); ok {
				t.Cleanup(func() {
					if err := c.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			}
			test.run(t, trail)
		})
	}
}

// FullEntry returns an entry in which no field is zero that the caller sets.
func FullEntry(session, path string, at time.Time) record.Entry {
	return record.Entry{
		Time: at, Kind: record.Call, Intent: 1 << 40, Root: "/home/me/project", Session: session, Client: "some-agent 1.2",
		CallID: "call_1", Tool: "write_file", Path: path, Bytes: 1 << 33, Before: "b0", After: "a0",
		Decision: "approved", By: "person desk", Outcome: "user_rejected", Flags: []string{"unread", "control"},
		Request: "r0",
	}
}

func trailFields(t *testing.T, trail record.Trail) {
	if entries := entries(t, trail, record.TrailQuery{}); len(entries) != 0 {
		t.Errorf("entries of an empty trail: %v", entries)
	}
	logged := log(t, trail)
	if len(logged) != 0 {
		t.Errorf("nothing was logged: %v", logged)
	}
	in := FullEntry("s", "src/a b.go", Start.In(time.FixedZone("elsewhere", 3600)))
	if v := reflect.ValueOf(in); true {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Seq" && name != "Prev" && name != "Hash" {
				t.Fatalf("the suite leaves %s zero", name)
			}
		}
	}
	odd := FullEntry("", "a\x00b\xff\u202e\n说明.md", Start)
	odd.Flags = []string{`"`, `\`, "", "\x00"}
	bare := record.Entry{Kind: record.Alarm}
	fine := FullEntry("s", "p", Start.Add(789*time.Nanosecond))
	logged = log(t, trail, in, odd, bare, fine)
	want := []record.Entry{FullEntry("s", "src/a b.go", Start), odd, bare, FullEntry("s", "p", Start)}
	for i := range want {
		want[i].Time = want[i].Time.UTC()
		want[i].Seq, want[i].Prev, want[i].Hash = logged[i].Seq, logged[i].Prev, logged[i].Hash
	}
	same(t, logged, want)
	same(t, entries(t, trail, record.TrailQuery{}), want)
	sound(t, trail, 4)
}

// FILE-11
func trailChain(t *testing.T, trail record.Trail) {
	var prev string
	for i := range 5 {
		for j, e := range log(t, trail, FullEntry("s", fmt.Sprint(i), Start), FullEntry("s", "b", Start)) {
			if e.Seq != uint64(2*i+j+1) || e.Prev != prev || len(e.Hash) != 64 {
				t.Errorf("entry %d of batch %d: %+v after %q", j, i, e, prev)
			}
			prev = e.Hash
		}
	}
	v := sound(t, trail, 10)
	if v.Head != (record.Link{Seq: 10, Hash: prev}) {
		t.Errorf("head %v, want %s", v.Head, prev)
	}
}

func trailQuery(t *testing.T, trail record.Trail) {
	kinds := []record.Kind{record.Call, record.Intent, record.Outcome}
	for i := range 6 {
		e := FullEntry(fmt.Sprint("s", i%2), "p", Start.Add(time.Duration(i)*time.Minute))
		e.Kind, e.Root, e.Intent = kinds[i%3], fmt.Sprint("/r", i/3), 0
		if e.Kind == record.Outcome {
			e.Intent = uint64(i)
		}
		if e.CallID = fmt.Sprint("c", i/2); i == 2 {
			e.Request = ""
		}
		log(t, trail, e)
	}
	minute := func(n int) time.Time { return Start.Add(time.Duration(n) * time.Minute) }
	for _, test := range []struct {
		q    record.TrailQuery
		want []uint64
	}{
		{record.TrailQuery{}, []uint64{1, 2, 3, 4, 5, 6}},
		{record.TrailQuery{After: 4}, []uint64{5, 6}},
		{record.TrailQuery{After: 6}, nil},
		{record.TrailQuery{From: minute(1), To: minute(3)}, []uint64{2, 3}},
		{record.TrailQuery{Session: "s1"}, []uint64{2, 4, 6}},
		{record.TrailQuery{Session: "' OR 1=1 --"}, nil},
		{record.TrailQuery{Root: "/r1"}, []uint64{4, 5, 6}},
		{record.TrailQuery{Kinds: []record.Kind{record.Intent, record.Outcome}}, []uint64{2, 3, 5, 6}},
		{record.TrailQuery{CallID: "c0"}, []uint64{1, 2}},
		{record.TrailQuery{CallID: "c1"}, []uint64{4}}, // the other entry has no Request
		{record.TrailQuery{CallID: "c2", Session: "s1", Root: "/r1"}, []uint64{6}},
		{record.TrailQuery{Limit: 2}, []uint64{1, 2}},
		{record.TrailQuery{Limit: 2, Last: true}, []uint64{5, 6}},
		{record.TrailQuery{Session: "s0", Kinds: []record.Kind{record.Call, record.Outcome}, Limit: 1, Last: true}, []uint64{3}},
		{record.TrailQuery{Last: true}, []uint64{1, 2, 3, 4, 5, 6}},
	} {
		var got []uint64
		for _, e := range entries(t, trail, test.q) {
			got = append(got, e.Seq)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.q, got, test.want)
		}
	}
}

// FILE-12
func trailWrites(t *testing.T, trail record.Trail) {
	intent := func(session, path, before, after string) uint64 {
		e := FullEntry(session, path, Start)
		e.Kind, e.Intent, e.Before, e.After, e.Outcome = record.Intent, 0, before, after, ""
		return log(t, trail, e)[0].Seq
	}
	outcome := func(session string, of uint64, what string) {
		log(t, trail, record.Entry{Kind: record.Outcome, Session: session, Time: Start, Intent: of, Outcome: what})
	}
	first, other := intent("s", "a", "", "1"), intent("other", "a", "", "9")
	outcome("s", first, record.OK)
	failed := intent("s", "b", "x", "y")
	outcome("other", other, record.OK)
	outcome("s", failed, "concurrent_modification")
	log(t, trail, FullEntry("s", "a", Start))
	second := intent("s", "a", "1", "2")
	outcome("s", second, record.OK)
	open := intent("s", "c", "3", "4")
	broke := intent("other", "d", "5", "6")
	outcome("other", broke, record.Broke)

	list := func(session string, since uint64) (out []string) {
		t.Helper()
		writes, err := record.Writes(t.Context(), trail, session, since)
		must(t, err)
		for _, w := range writes {
			out = append(out, fmt.Sprintf("%d %s %s>%s %v", w.Seq, w.Path, w.Before, w.After, w.Open))
		}
		return out
	}
	one := fmt.Sprintf("%d a >1 false", first)
	two := fmt.Sprintf("%d a 1>2 false", second)
	three := fmt.Sprintf("%d c 3>4 true", open)
	same(t, list("s", 0), []string{one, two, three})
	same(t, list("s", first), []string{one, two, three})
	same(t, list("s", first+1), []string{two, three})
	same(t, list("other", 0), []string{fmt.Sprintf("%d a >9 false", other), fmt.Sprintf("%d d 5>6 true", broke)})
	same(t, list("no session", 0), nil)
	if all := list("", 0); len(all) != 5 {
		t.Errorf("of all sessions: %q", all)
	}
	v, err := record.Verify(t.Context(), trail)
	must(t, err)
	if v.Broken != nil || len(v.Open) != 1 || v.Open[0].Seq != open {
		t.Errorf("verdict %+v, want %d open", v, open)
	}
}

// trailPages uses more entries than are read at once.
func trailPages(t *testing.T, trail record.Trail) {
	var batch []record.Entry
	for i := range 2500 {
		e := FullEntry("s", fmt.Sprint(i), Start)
		e.Kind, e.Intent = record.Intent, 0
		if i%2 == 1 {
			e.Kind, e.Intent, e.Outcome = record.Outcome, uint64(i), record.OK
		}
		batch = append(batch, e)
	}
	log(t, trail, batch...)
	sound(t, trail, 2500)
	writes, err := record.Writes(t.Context(), trail, "s", 0)
	must(t, err)
	if len(writes) != 1250 || writes[1249].Open {
		t.Errorf("%d writes", len(writes))
	}
}

func trailConcurrent(t *testing.T, trail record.Trail) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				e := FullEntry(fmt.Sprint(w), fmt.Sprint(i), Start)
				e.Kind, e.Intent = []record.Kind{record.Call, record.Intent}[i%2], 0
				logged, err := trail.Log(t.Context(), e)
				if err != nil || len(logged) != 1 {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	v, err := record.Verify(t.Context(), trail)
	must(t, err)
	if v.Broken != nil || v.Entries != writers*each || len(v.Open) != writers*each/2 {
		t.Errorf("after %d: %d, broken %+v", writers*each, v.Entries, v.Broken)
	}
}

func trailOwnership(t *testing.T, trail record.Trail) {
	e := FullEntry("s", "p", Start)
	flags := []string{"unread"}
	e.Flags = flags
	logged := log(t, trail, e)
	flags[0] = "changed by the writer"
	logged[0].Flags[0] = "changed by the writer later"
	entries(t, trail, record.TrailQuery{})[0].Flags[0] = "changed by a reader"
	if got := entries(t, trail, record.TrailQuery{}); got[0].Flags[0] != "unread" {
		t.Errorf("the trail shares memory with its callers: %q", got[0].Flags)
	}
}

func trailCancelled(t *testing.T, trail record.Trail) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range []record.Kind{record.Call, record.Intent} {
		if _, err := trail.Log(ctx, record.Entry{Kind: kind}); !errors.Is(err, context.Canceled) {
			t.Errorf("log under a cancelled context: %v", err)
		}
	}
	sound(t, trail, 0)
}

func trailClosed(t *testing.T, trail record.Trail) {
	c, ok := trail.(io.Closer)
	if !ok {
		t.Skip("it cannot be closed")
	}
	must(t, c.Close())
	_, errCall := trail.Log(t.Context(), record.Entry{Kind: record.Call})
	_, errIntent := trail.Log(t.Context(), record.Entry{Kind: record.Intent})
	_, errEntries := trail.Entries(t.Context(), record.TrailQuery{})
	for i, err := range []error{errCall, errIntent, errEntries} {
		if !errors.Is(err, record.ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
}

func log(t *testing.T, trail record.Trail, e ...record.Entry) []record.Entry {
	t.Helper()
	logged, err := trail.Log(t.Context(), e...)
	must(t, err)
	return logged
}

func entries(t *testing.T, trail record.Trail, q record.TrailQuery) []record.Entry {
	t.Helper()
	list, err := trail.Entries(t.Context(), q)
	must(t, err)
	return list
}

// sound checks that the chain is valid and has that length. The suite's entries of other kinds than Outcome may name any
// intent.
func sound(t *testing.T, trail record.Trail, length int) record.Verdict {
	t.Helper()
	v, err := record.Verify(t.Context(), trail)
	must(t, err)
	if v.Broken != nil || v.Entries != length {
		t.Errorf("%d entries hold, of %d; broken %+v", v.Entries, length, v.Broken)
	}
	return v
}
