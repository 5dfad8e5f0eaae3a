package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/files/approval"
)

// The connection is killed. The next one reports what happened meanwhile: the open questions and how others ended, each once.
func TestKilledConnection(t *testing.T) {
	h, _ := newRig(t)
	p, lab := h.enter(t, "A"), h.enter(t, "B")
	next := listen[QueueEvent](p, "/api/events")
	if e := next(); e.Open == nil || len(e.Open) != 0 || len(e.Ended) != 0 {
		t.Fatalf("first event %+v", e)
	}
	first, _ := h.ask(t, "s", "first.txt", "", "a\n")
	if e := next(); e.Opened == nil || e.Opened.ID != first {
		t.Fatalf("event %+v", e)
	}
	h.server.CloseClientConnections()
	second, _ := h.ask(t, "s", "second.txt", "", "b\n")
	third, _ := h.ask(t, "s", "third.txt", "", "c\n")
	for _, id := range []string{first, second} {
		lab.post("/api/questions/"+id+"/answer", approval.Answer{Verdict: "reject"}, http.StatusOK)
	}
	next = listen[QueueEvent](p, "/api/events")
	e := next()
	if len(e.Open) != 1 || e.Open[0].ID != third {
		t.Errorf("open: %+v", e.Open)
	}
	var ended []string
	for _, c := range e.Ended {
		ended = append(ended, c.Path+" "+c.Text)
	}
	if want := []string{"first.txt rejected by lab", "second.txt rejected by lab"}; !slices.Equal(ended, want) {
		t.Errorf("ended: %q, want %q", ended, want)
	}
	lab.post("/api/questions/"+third+"/answer", approval.Answer{Verdict: "reject"}, http.StatusOK)
	if e := next(); e.Closed == nil || e.Closed.ID != third {
		t.Errorf("event %+v", e)
	}
	if e := get[QueueEvent](p, "/api/questions"); len(e.Open) != 0 || len(e.Ended) != 3 {
		t.Errorf("snapshot %+v", e)
	}
}

// A page is told once that data was stored.
func TestStored(t *testing.T) {
	h, _ := newRig(t)
	var number atomic.Int64
	asked := make(chan struct{}, 100)
	h.Changes = func(context.Context) (int64, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		return number.Load(), nil
	}
	next := listen[QueueEvent](h.enter(t, "A"), "/api/events")
	next()
	<-asked
	number.Store(7)
	if e := next(); !e.Stored {
		t.Errorf("event %+v", e)
	}
	for len(asked) > 0 {
		<-asked
	}
	<-asked // it has checked again, and found no change
	h.ask(t, "s", "a.txt", "", "a\n")
	if e := next(); e.Opened == nil {
		t.Errorf("event %+v", e)
	}
}

// An unreadable store does not affect the queue.
func TestStoreBroken(t *testing.T) {
	h, _ := newRig(t)
	asked := make(chan struct{}, 100)
	h.Changes = func(context.Context) (int64, error) {
		asked <- struct{}{}
		return 0, errors.New("damaged")
	}
	next := listen[QueueEvent](h.enter(t, "A"), "/api/events")
	next()
	<-asked
	h.ask(t, "s", "a.txt", "", "a\n")
	if e := next(); e.Opened == nil {
		t.Errorf("event %+v", e)
	}
}
