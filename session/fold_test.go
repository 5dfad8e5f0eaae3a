package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
)

// inForce is a simple implementation of rewinds, to compare with. It returns the numbers of the messages in force after n events.
func inForce(events []session.Event, n uint64) []uint64 {
	if n == 0 {
		return nil
	}
	switch b := events[n-1].Body.(type) {
	case session.Rewind:
		return inForce(events, b.To)
	case session.Message:
		return append(inForce(events, n-1), n)
	}
	return inForce(events, n-1)
}

func anyEvents(t *rapid.T) []session.Event {
	events := []session.Event{{Seq: 1, Body: session.Opening{}}}
	for n := rapid.IntRange(0, 40).Draw(t, "events"); n > 0; n-- {
		seq := uint64(len(events)) + 1
		var b session.Body = sessiontest.Text(llm.User, fmt.Sprint(seq))
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			b = session.Rewind{To: rapid.Uint64Range(1, seq-1).Draw(t, "to")}
		case 2:
			b = session.Title(fmt.Sprint(seq))
		}
		events = append(events, session.Event{Seq: seq, Body: b})
	}
	return events
}

// A rewind can restore any earlier state, also after other rewinds. A State that was returned does not change. Adding events in
// parts gives the same state.
func TestFoldRewinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		var f session.Fold
		var states []session.State
		for n := range events {
			f.Add(events[n])
			states = append(states, f.State())
		}
		for n, st := range states {
			want := inForce(events, uint64(n)+1)
			if !slices.Equal(st.Marks, want) || len(st.Messages) != len(want) {
				t.Fatalf("after event %d: %v in force, want %v", n+1, st.Marks, want)
			}
			for i, m := range st.Messages {
				if m.Parts[0].Text != fmt.Sprint(want[i]) {
					t.Fatalf("after event %d: message %d is %q", n+1, i, m.Parts[0].Text)
				}
			}
			var seqs []uint64
			for _, e := range f.InForce(uint64(n) + 1) {
				seqs = append(seqs, e.Seq)
			}
			if !slices.Equal(seqs, want) {
				t.Fatalf("in force after event %d: %v, want %v", n+1, seqs, want)
			}
		}
		whole := session.FoldEvents("", events)
		if d := cmp.Diff(whole, f.State()); d != "" {
			t.Fatal(d)
		}
	})
}

// Missing events are reported at any position, and all other events are folded.
func TestFoldGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, kept []session.Event
		for _, e := range anyEvents(t) {
			if _, ok := e.Body.(session.Rewind); ok {
				e.Body = session.Title("x")
			}
			whole = append(whole, e)
			if rapid.Bool().Draw(t, "kept") || e.Seq == 1 {
				kept = append(kept, e)
			}
		}
		st := session.FoldEvents("", kept)
		missing := 0
		for _, d := range st.Damaged {
			missing += int(d.Last - d.First + 1)
		}
		if last := kept[len(kept)-1].Seq; uint64(len(kept)+missing) != last || st.Last != last {
			t.Fatalf("%d events and %d missing of %d", len(kept), missing, last)
		}
		for _, e := range kept {
			if _, ok := e.Body.(session.Message); ok && !slices.Contains(st.Marks, e.Seq) {
				t.Fatalf("event %d of %d is not in force", e.Seq, len(whole))
			}
		}
	})
}

// Usage is counted once, also after a rewind. The usage of copied messages is counted in their own session. Context is the usage
// of the newest answer in force.
func TestFoldUsage(t *testing.T) {
	answer := func(n int) session.Message {
		m := sessiontest.Text(llm.Assistant, "x")
		m.Usage = &llm.Usage{Input: n, Output: 1}
		return m
	}
	var h session.Fold
	for i, b := range []session.Body{
		session.Opening{Carried: 1}, answer(1000), answer(10), answer(100), session.Rewind{To: 3}, session.Usage{Used: llm.Usage{Input: 5, Reasoning: 2}},
	} {
		h.Add(session.Event{Seq: uint64(i) + 1, Body: b})
	}
	st := h.State()
	if want := (llm.Usage{Input: 115, Output: 2, Reasoning: 2}); st.Spent != want {
		t.Errorf("spent %+v, want %+v", st.Spent, want)
	}
	if st.Context.Input != 10 {
		t.Errorf("context %+v", st.Context)
	}
}

// A recording is imported once. Where its context was restarted, a session is compacted into the next one.
func TestImport(t *testing.T) {
	store := &session.Memory{}
	at := sessiontest.Start
	var messages []llm.Message
	for i := range 6 {
		m := llm.Message(sessiontest.Text(llm.User, fmt.Sprint(i)))
		if i%2 == 1 {
			m.Time = at.Add(time.Duration(i) * time.Minute)
		}
		messages = append(messages, m)
	}
	r := session.Recording{Dir: "/p", Source: "some-agent:1", Messages: messages, Starts: []int{2, 5}}
	last, err := session.Import(t.Context(), store, r)
	if err != nil {
		t.Fatal(err)
	}
	var all []llm.Message
	id := last
	for n := 0; id != ""; n++ {
		s, err := session.Resume(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		st := s.State()
		all = slices.Concat(st.Messages, all)
		if next := st.Next; (next == "") != (n == 0) || st.Source != r.Source {
			t.Errorf("session %d: next %q, source %q", n, next, st.Source)
		}
		if st.Updated.After(at.Add(time.Hour)) {
			t.Errorf("session %d is of %v", n, st.Updated)
		}
		id = st.From.Session
	}
	if d := cmp.Diff(messages, all); d != "" {
		t.Error(d)
	}
	if found, err := session.Latest(t.Context(), store, "/p"); err != nil || found.ID != last {
		t.Errorf("latest %v, %v", found, err)
	}
	if _, err := session.Import(t.Context(), store, r); !errors.Is(err, session.ErrImported) {
		t.Errorf("again: %v", err)
	}
}

// Next waits without using the processor, and returns new events.
func TestSubscriptionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &session.Hub{Store: &session.Memory{}}
		s, err := session.Create(t.Context(), h, session.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		sub, err := h.Subscribe(t.Context(), s.ID(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		got := make(chan error, 1)
		next := func(ctx context.Context) {
			e, err := sub.Next(ctx)
			if err == nil && e.Body != session.Body(session.Title("now")) {
				err = fmt.Errorf("got %+v", e)
			}
			got <- err
		}
		go next(t.Context())
		synctest.Wait()
		if len(got) > 0 {
			t.Fatal("did not wait", <-got)
		}
		if err := s.Append(t.Context(), session.Title("now")); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go next(ctx)
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// Rewound says that there is no message after the last rewind or fork.
func TestRewound(t *testing.T) {
	said := session.Message{Role: llm.User, Parts: []llm.Part{{Text: "words"}}}
	for name, c := range map[string]struct {
		opening session.Opening
		more    []session.Body
		want    bool
	}{
		"begun":            {session.Opening{}, []session.Body{said}, false},
		"rewound":          {session.Opening{}, []session.Body{said, said, session.Rewind{To: 2}}, true},
		"and titled":       {session.Opening{}, []session.Body{said, said, session.Rewind{To: 2}, session.Title("t")}, true},
		"and gone on with": {session.Opening{}, []session.Body{said, said, session.Rewind{To: 2}, said}, false},
		"forked":           {session.Opening{From: session.Link{Relation: session.Forked}, Carried: 2}, []session.Body{said, said}, true},
		"fork gone on":     {session.Opening{From: session.Link{Relation: session.Forked}, Carried: 2}, []session.Body{said, said, said}, false},
		"compacted":        {session.Opening{From: session.Link{Relation: session.Compacted}, Carried: 2}, []session.Body{said, said}, false},
	} {
		var events []session.Event
		for i, b := range append([]session.Body{c.opening}, c.more...) {
			events = append(events, session.Event{Seq: uint64(i) + 1, Body: b})
		}
		if got := session.FoldEvents("s", events).Rewound; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
