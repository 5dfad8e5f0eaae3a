package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// ask opens a question about a file, and returns its id and the channel of its answer.
func (h *rig) ask(t *testing.T, session, path, before, after string) (string, <-chan approval.Answer) {
	t.Helper()
	sub := h.Queue.Subscribe()
	defer func() { _ = sub.Close() }()
	q := approval.Question{
		Asked: time.Now(), Session: session, Client: "agent", Tool: "write_file", Path: path, Write: true, Before: "h1", After: "h2",
		Size: int64(len(after)), Diff: tool.ParseDiff(diff.Lines(before, after, diff.Options{}).Unified("a/"+path, "b/"+path)),
		Content: []byte(after), Editable: true, Grantable: true, Why: "default", Seal: "seal of " + after[:min(len(after), 20)],
	}
	answers := make(chan approval.Answer, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(answers)
		if a, err := h.Queue.Ask(ctx, q); err == nil {
			answers <- a
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Opened != nil && e.Opened.Path == path {
			return e.Opened.ID, answers
		}
	}
}

func numbered(n int, change func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(change(i) + "\n")
	}
	return b.String()
}

// The decision is recorded for the person who is logged in, whatever the page claims. (FILE-6, FILE-11)
func TestAnswer(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	id, answers := h.ask(t, "s", "docs/a.md", "one\n", "one\ntwo\n")
	d := get[approval.Question](p, "/api/questions/"+id)
	if d.Action != "change" || d.Added != 1 || d.Removed != 0 || len(d.Diff.Files) != 1 || d.Diff.Files[0].Path != "docs/a.md" || d.Content != nil {
		t.Errorf("question %+v", d)
	}
	path := "/api/questions/" + id + "/answer"
	for _, c := range []struct {
		body any
		want string
	}{
		{approval.Answer{Verdict: "approve", Seal: "another"}, "another question"},
		{approval.Answer{Verdict: "approve"}, "another question"},
		{approval.Answer{Verdict: "yes", Seal: d.Seal}, "unknown verdict"},
		{"x", "not what is wanted"},
	} {
		if said := p.post(path, c.body, http.StatusBadRequest); !strings.Contains(said, c.want) {
			t.Errorf("%v: %q", c.body, said)
		}
	}
	if said := p.post(path, approval.Answer{Verdict: "pattern", Seal: d.Seal, Pattern: "src/*"}, http.StatusBadRequest); !strings.Contains(said, "does not match") {
		t.Errorf("a pattern that does not fit: %q", said)
	}
	p.post(path, map[string]any{"verdict": "pattern", "pattern": "docs/**", "seal": d.Seal, "by": "lab", "relayed": true}, http.StatusOK)
	if a := <-answers; a.Verdict != approval.ForPattern || a.Pattern != "docs/**" || a.By != "desk" || a.Relayed {
		t.Errorf("answer %+v", a)
	}
	if said := p.post(path, approval.Answer{Verdict: "reject"}, http.StatusConflict); !strings.Contains(said, "approved by pattern by desk") {
		t.Errorf("a second answer: %q", said)
	}
	p.post("/api/questions/nothing/answer", approval.Answer{Verdict: "reject"}, http.StatusNotFound)
}

// Some of the changes are approved: exactly these are written.
func TestAnswerInParts(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	before := numbered(60, func(i int) string { return "line" + strings.Repeat("x", i) })
	after := numbered(60, func(i int) string {
		if i%20 == 5 {
			return "changed\r"
		}
		return "line" + strings.Repeat("x", i)
	})
	id, answers := h.ask(t, "s", "a.txt", before, after)
	d := get[approval.Question](p, "/api/questions/"+id)
	if n := len(d.Diff.Files[0].Hunks); n != 3 {
		t.Fatalf("%d changes", n)
	}
	if c := get[Content](p, "/api/questions/"+id+"/content"); c.Before != before || c.After != after {
		t.Errorf("content %q", c)
	}
	path := "/api/questions/" + id + "/answer"
	p.post(path, approval.Answer{Verdict: "edit", Seal: d.Seal}, http.StatusBadRequest)
	p.post(path, approval.Answer{Verdict: "edit", Seal: d.Seal, Keep: []int{3}}, http.StatusBadRequest)
	p.post(path, approval.Answer{Verdict: "edit", Seal: d.Seal, Keep: []int{0, 2}}, http.StatusOK)
	want := strings.Split(before, "\n")
	want[5], want[45] = "changed\r", "changed\r"
	if a := <-answers; string(a.Content) != strings.Join(want, "\n") {
		t.Errorf("content %q", a.Content)
	}
}

// An edited text is written exactly, also if it is empty.
func TestAnswerEdited(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "B")
	for _, text := range []string{"", "a\r\nb", "\ufeffx\n"} {
		id, answers := h.ask(t, "s", "a.txt", "", "x\n")
		p.post("/api/questions/"+id+"/answer", approval.Answer{Verdict: "edit", Seal: "seal of x\n", Content: []byte(text)}, http.StatusOK)
		if a := <-answers; a.Verdict != approval.Edit || string(a.Content) != text || a.By != "lab" {
			t.Errorf("answer %+v, want %q", a, text)
		}
	}
}

// Two people follow one queue: both see new questions and who closed them. A person who connects later first gets the open ones.
func TestEvents(t *testing.T) {
	h, _ := newRig(t)
	desk, lab := h.enter(t, "A"), h.enter(t, "B")
	next := listen[QueueEvent](desk, "/api/events")
	if e := next(); e.Open == nil || len(e.Open) != 0 {
		t.Fatalf("first event %+v", e)
	}
	id, _ := h.ask(t, "s", "a.txt", "", "a\n")
	if e := next(); e.Opened == nil || e.Opened.ID != id || e.Opened.Action != "change" {
		t.Fatalf("event %+v", e)
	}
	late := listen[QueueEvent](lab, "/api/events")
	if e := late(); len(e.Open) != 1 || e.Open[0].ID != id {
		t.Fatalf("first event %+v", e)
	}
	lab.post("/api/questions/"+id+"/answer", approval.Answer{Verdict: "reject", Words: "no"}, http.StatusOK)
	for name, next := range map[string]func() QueueEvent{"desk": next, "lab": late} {
		if e := next(); e.Closed == nil || e.Closed.ID != id || e.Closed.By != "lab" || e.Closed.Text != "rejected by lab" {
			t.Errorf("%s: event %+v", name, e)
		}
	}
}

// A stream without events sends heartbeats, and ends with its page.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		s, err := newStream(w)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*heartbeat+time.Second)
		defer cancel()
		follow(ctx, s, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, func(int) error { return nil })
		if n := strings.Count(w.Body.String(), ": alive"); n != 3 {
			t.Errorf("%d signs of life", n)
		}
	})
}

// A button in a message answers without a login, by POST alone, and only where messages have buttons. A page of another site cannot press it. (GRD-1)
func TestPress(t *testing.T) {
	h, _ := newRig(t)
	h.Secret = []byte("0123456789abcdef0123456789abcdef")
	id, given := h.ask(t, "s", "a.txt", "", "a\n")
	q, err := h.Queue.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	yes, at := q.Button(h.Secret, approval.Approve), "/api/questions/"+id+"/press"
	press := func(method, at string, p approval.Press, change func(*http.Request)) int {
		t.Helper()
		body, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, h.server.URL+at, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(r)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := press(http.MethodPost, at, yes, nil); got != http.StatusNotImplemented {
		t.Errorf("without buttons: %d", got)
	}
	h.Buttons = true
	forged := q.Button([]byte("other"), approval.Approve)
	for _, c := range []struct {
		method, at string
		p          approval.Press
		change     func(*http.Request)
		want       int
	}{
		{http.MethodGet, at, yes, nil, http.StatusNotFound},
		{http.MethodGet, at + "?verdict=approve&key=" + yes.Key, yes, nil, http.StatusNotFound},
		{http.MethodHead, at, yes, nil, http.StatusNotFound},
		{http.MethodPost, at, forged, nil, http.StatusForbidden},
		{http.MethodPost, "/api/questions/wrong/press", yes, nil, http.StatusForbidden},
		{http.MethodPost, at, yes, func(r *http.Request) { r.Header.Set("Origin", "https://other.example") }, http.StatusForbidden},
		{http.MethodPost, at, yes, nil, http.StatusOK},
		{http.MethodPost, at, yes, nil, http.StatusConflict},
	} {
		if got := press(c.method, c.at, c.p, c.change); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.at, got, c.want)
		}
	}
	if a := <-given; a.Verdict != approval.Approve || a.By != "a button in a message" {
		t.Errorf("%+v", a)
	}
}
