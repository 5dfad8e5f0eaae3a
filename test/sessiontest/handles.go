package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// Each writer has its own session.
func concurrent(t *testing.T, s session.Store) {
	const writers, each = 16, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			h, err := session.Create(t.Context(), s, session.Opening{Dir: fmt.Sprint(w)})
			for n := 0; n < each && err == nil; n++ {
				err = h.Append(t.Context(), Text(llm.User, fmt.Sprintf("%d of %d", n, w)))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for w := range writers {
		found := sessions(t, s, session.Query{Dir: fmt.Sprint(w)})
		if len(found) != 1 || found[0].Last != each+1 {
			t.Fatalf("writer %d: %+v", w, found)
		}
		for n, e := range events(t, s, found[0].ID, 1) {
			same(t, e.Body, session.Body(Text(llm.User, fmt.Sprintf("%d of %d", n, w))))
		}
	}
}

// Several handles write to one session, like several processes. A handle that is too late gets ErrStale. No event is lost or
// written twice.
func together(t *testing.T, s session.Store) {
	must(t, s.Append(t.Context(), batch("s", 0, session.Opening{})))
	const writers, each = 4, 10
	var wg sync.WaitGroup
	var late atomic.Int64
	for w := range writers {
		wg.Go(func() {
			h, err := session.Resume(t.Context(), s, "s")
			for n := 0; n < each && err == nil; {
				err = h.Append(t.Context(), Text(llm.User, fmt.Sprintf("%d of %d", n, w)))
				switch {
				case errors.Is(err, session.ErrStale):
					late.Add(1)
					err = h.Refresh(t.Context())
				case err == nil:
					n++
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	next := map[string]int{}
	got := events(t, s, "s", 1)
	for _, e := range got {
		var n, w int
		_, err := fmt.Sscanf(e.Body.(session.Message).Parts[0].Text, "%d of %d", &n, &w)
		key := fmt.Sprint(w)
		if err != nil || next[key] != n {
			t.Errorf("event %d: %d of %d, %v", e.Seq, n, w, err)
		}
		next[key]++
	}
	if len(got) != writers*each {
		t.Errorf("%d events, %d times late", len(got), late.Load())
	}
}

// The state of a handle is always the fold of the stored events.
func handles(t *testing.T, s session.Store) {
	h, err := session.Create(t.Context(), s, session.Opening{Dir: "/p"}, session.Title("t"))
	must(t, err)
	m := Text(llm.User, "hello")
	m.Parts[0].Span = llm.Span{Start: 1, End: 2}
	m.Usage = &llm.Usage{Input: 3}
	must(t, h.Append(t.Context(), m))
	m.Parts[0].Text = "spoiled"
	for _, b := range Bodies()[1:6] {
		must(t, h.Append(t.Context(), b))
	}
	again, err := session.Resume(t.Context(), s, h.ID())
	must(t, err)
	same(t, h.State(), again.State())
	same(t, h.State(), session.FoldEvents(h.ID(), events(t, s, h.ID(), 0)))
	st := h.State()
	if len(st.Messages) != 2 || st.Messages[0].Parts[0].Text != "hello" || st.Messages[0].Parts[0].Span.Valid() {
		t.Errorf("messages: %+v", st.Messages)
	}
	must(t, again.Append(t.Context(), Text(llm.User, "elsewhere")))
	if err := h.Append(t.Context(), Text(llm.User, "late")); !errors.Is(err, session.ErrStale) {
		t.Errorf("a handle that is behind: %v", err)
	}
	must(t, h.Refresh(t.Context()))
	must(t, h.Refresh(t.Context()))
	same(t, h.State(), again.State())
	if len(st.Messages) != 2 {
		t.Error("an older state changed")
	}
}

// A rewind is an event. It can go back to any earlier state, also to one that was rewound.
func rewinds(t *testing.T, s session.Store) {
	h, err := session.Create(t.Context(), s, session.Opening{})
	must(t, err)
	say := func(text string) { t.Helper(); must(t, h.Append(t.Context(), Text(llm.User, text))) }
	said := func() (out string) {
		for _, m := range h.State().Messages {
			out += m.Parts[0].Text
		}
		return out
	}
	for _, text := range []string{"a", "b", "c"} { // these events have the numbers 2 to 4
		say(text)
	}
	for i, step := range []struct {
		to   uint64
		say  string
		want string
	}{
		{2, "d", "ad"},   // events 5 and 6
		{4, "e", "abce"}, // events 7 and 8: to a state that was rewound
		{6, "f", "adf"},  // events 9 and 10
		{1, "", ""},      // event 11: to the beginning
		{10, "g", "adfg"},
		{12, "", "adf"}, // to the state after that rewind
	} {
		must(t, h.Rewind(t.Context(), step.to))
		if step.say != "" {
			say(step.say)
		}
		if got := said(); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	if got := events(t, s, h.ID(), 0); len(got) != 14 {
		t.Errorf("%d events are stored", len(got))
	}
	same(t, h.State(), session.FoldEvents(h.ID(), events(t, s, h.ID(), 0)))
	if err := h.Rewind(t.Context(), 99); err == nil {
		t.Error("a rewind to what is not there")
	}
}

func forks(t *testing.T, s session.Store) {
	h, err := session.Create(t.Context(), s, session.Opening{Dir: "/p"}, session.Title("t"))
	must(t, err)
	spent := Text(llm.Assistant, "b")
	spent.Usage = &llm.Usage{Input: 10, Output: 1}
	must(t, h.Append(t.Context(), Text(llm.User, "a"), spent, Text(llm.User, "c"))) // events 3, 4 and 5
	must(t, h.Rewind(t.Context(), 4))
	f, err := h.Fork(t.Context(), 0)
	must(t, err)
	old, st := h.State(), f.State()
	same(t, st.Messages, old.Messages)
	same(t, st.Context, old.Context)
	if st.Title != "t" || st.Dir != "/p" || !st.Spent.IsZero() || st.From != (session.Link{Session: h.ID(), Seq: 6, Relation: session.Forked}) {
		t.Errorf("fork: %+v", st)
	}
	must(t, f.Append(t.Context(), spent))
	if f.State().Spent != *spent.Usage || len(h.State().Messages) != 2 {
		t.Errorf("spent %+v", f.State().Spent)
	}
	early, err := h.Fork(t.Context(), 5)
	must(t, err)
	if n := len(early.State().Messages); n != 3 {
		t.Errorf("fork of what was rewound: %d messages", n)
	}
	if _, err := h.Fork(t.Context(), 99); err == nil {
		t.Error("a fork of what is not there")
	}
	if n := len(events(t, s, h.ID(), 0)); n != 6 {
		t.Errorf("%d events in the session that was forked", n)
	}
}

func compacts(t *testing.T, s session.Store) {
	h, err := session.Create(t.Context(), s, session.Opening{Dir: "/p"})
	must(t, err)
	must(t, h.Append(t.Context(), Text(llm.User, "long"), Text(llm.Assistant, "story"))) // events 2 and 3
	next, err := h.Compact(t.Context(), Text(llm.User, "summary"))
	must(t, err)
	st := next.State()
	if len(st.Messages) != 1 || st.Carried != 2 || st.Title != "long" || st.Dir != "/p" || st.From != (session.Link{Session: h.ID(), Seq: 3, Relation: session.Compacted}) {
		t.Errorf("the new one: %+v", st)
	}
	if old := h.State(); old.Next != next.ID() || len(old.Messages) != 2 {
		t.Errorf("the old one: %+v", old)
	}
	if err := h.Append(t.Context(), Text(llm.User, "late")); !errors.Is(err, session.ErrCompacted) {
		t.Errorf("append to a closed one: %v", err)
	}
	if _, err := h.Compact(t.Context()); !errors.Is(err, session.ErrCompacted) {
		t.Errorf("compact a closed one: %v", err)
	}
	for _, id := range []string{h.ID(), next.ID()} {
		if found, err := session.Follow(t.Context(), s, id); err != nil || found.ID != next.ID() {
			t.Errorf("follow %s: %v, %v", id, found, err)
		}
	}
	if found, err := session.Latest(t.Context(), s, "/p"); err != nil || found.ID != next.ID() {
		t.Errorf("latest: %v, %v", found, err)
	}
	must(t, h.Rewind(t.Context(), 3)) // the rewind opens the session again
	must(t, h.Append(t.Context(), Text(llm.User, "another end")))
	if st := h.State(); st.Next != "" || len(st.Messages) != 3 {
		t.Errorf("rewound: %+v", st)
	}
	again, err := session.Resume(t.Context(), s, h.ID())
	must(t, err)
	same(t, again.State(), h.State())
}

// Subscribers resume by event number. The subscription of a slow subscriber ends with ErrSlow.
func hub(t *testing.T, store session.Store) {
	h := &session.Hub{Store: store, Limit: 3}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := session.Create(ctx, h, session.Opening{})
	must(t, err)
	say := func(text string) { t.Helper(); must(t, s.Append(ctx, Text(llm.User, text))) }
	say("2")
	say("3")
	sub, err := h.Subscribe(ctx, s.ID(), 1)
	must(t, err)
	defer sub.Close()
	expect := func(sub *session.Subscription, seqs ...uint64) {
		t.Helper()
		for _, want := range seqs {
			e, err := sub.Next(ctx)
			if err != nil || e.Seq != want {
				t.Fatalf("event %d, %v, want %d", e.Seq, err, want)
			}
			if m := e.Body.(session.Message); m.Parts[0].Text != fmt.Sprint(want) {
				t.Errorf("event %d says %s", e.Seq, m.Parts[0].Text)
			}
		}
	}
	expect(sub, 2)
	say("4")
	expect(sub, 3, 4)
	must(t, store.Append(ctx, batch(s.ID(), 4, Text(llm.User, "5")))) // appended without the hub, like by another process
	must(t, s.Refresh(ctx))
	say("6")
	expect(sub, 5, 6)
	for n := range 4 {
		say(fmt.Sprint(7 + n))
	}
	if _, err := sub.Next(ctx); !errors.Is(err, session.ErrSlow) {
		t.Errorf("slow: %v", err)
	}
	sub.Close()
	again, err := h.Subscribe(ctx, s.ID(), 6)
	must(t, err)
	defer again.Close()
	expect(again, 7, 8, 9, 10)
	cancel()
	if _, err := again.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := h.Subscribe(t.Context(), "none", 0); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
}
