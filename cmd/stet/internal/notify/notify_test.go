package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// rig is a queue that is followed.
type rig struct {
	queue *approval.Queue
	logs  *logs
	ended chan struct{}
	stop  context.CancelFunc
}

// logs are lines of a log, which several goroutines write.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func follow(t *testing.T, c Config) *rig {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &rig{queue: new(approval.Queue), logs: new(logs), ended: make(chan struct{}), stop: stop}
	go func() {
		defer close(r.ended)
		c.Follow(ctx, r.queue, false, []byte("secret"), slog.New(slog.NewTextHandler(r.logs, nil)))
	}()
	t.Cleanup(func() {
		stop()
		<-r.ended
	})
	return r
}

// ask asks a question, and returns the result for its call.
func (r *rig) ask(ctx context.Context, path string) <-chan error {
	asked := make(chan error, 1)
	go func() {
		_, err := r.queue.Ask(ctx, approval.Question{
			Asked: time.Now(), Root: "/home/me/project", Session: "s1", Client: "agent\x1b[31m", Tool: "write_file", Path: path, Write: true,
			Before: "h1", After: "h2", Size: 10, Seal: "seal",
			Diff: tool.Diff{Files: []tool.FileDiff{tool.CompareTexts(path, "old words\n", "new words\n")}},
		})
		asked <- err
	}()
	return asked
}

// answer answers the question about a path, once it is open.
func (r *rig) answer(t *testing.T, path string, v approval.Verdict) {
	t.Helper()
	sub := r.queue.Subscribe()
	defer func() { _ = sub.Close() }()
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Opened != nil && e.Opened.Path == path {
			if err := r.queue.Answer(e.Opened.ID, approval.Answer{Verdict: v, Seal: "seal", By: "desk"}); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// posted is a request that a server got.
type posted struct{ path, title, kind, click, body, actions string }

// server is a real HTTP server that receives posts and answers with a status.
func server(t *testing.T, status int) (base string, got <-chan posted) {
	all := make(chan posted, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		all <- posted{r.URL.Path, r.Header.Get("Title"), r.Header.Get("Content-Type"), r.Header.Get("Click"), string(b), r.Header.Get("Actions")}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, all
}

const asked = `agent\x1b[31m wants to write a.txt (10 bytes), +1 −1 lines`

// A topic and a webhook receive a question without the content of the write, and its later answer.
func TestHTTP(t *testing.T) {
	base, got := server(t, http.StatusOK)
	for _, c := range []Config{{Ntfy: base + "/topic"}, {Webhook: base + "/hook"}} {
		r := follow(t, c)
		call := r.ask(t.Context(), "a.txt")
		opened := <-got
		r.answer(t, "a.txt", approval.Approve)
		closed := <-got
		if err := <-call; err != nil {
			t.Error(err)
		}
		if c.Ntfy != "" {
			want := []posted{{"/topic", "stet", "text/plain; charset=utf-8", "", asked, ""}, {"/topic", "stet", "text/plain; charset=utf-8", "", `Answered, approved by desk: agent\x1b[31m, a.txt`, ""}}
			if diff := cmp.Diff(want, []posted{opened, closed}, cmp.AllowUnexported(posted{})); diff != "" {
				t.Error(diff)
			}
			continue
		}
		var first, last message
		if err := errors.Join(json.Unmarshal([]byte(opened.body), &first), json.Unmarshal([]byte(closed.body), &last)); err != nil {
			t.Fatal(err)
		}
		want := message{
			Event: "opened", Question: first.Question, Text: asked, Workspace: "/home/me/project", Session: "s1", Client: "agent\x1b[31m",
			Tool: "write_file", Path: "a.txt",
		}
		if diff := cmp.Diff(want, first, cmp.AllowUnexported(message{})); diff != "" || first.Question == "" {
			t.Error(diff)
		}
		if last.Event != "closed" || last.How != "approve" || last.By != "desk" || last.Question != first.Question {
			t.Errorf("closed: %+v", last)
		}
	}
}

// A link names the question on the page, with no token in it. Of a flood of 500 questions five are reported, and what decides is elsewhere. (GRD-1)
func TestLink(t *testing.T) {
	base, got := server(t, http.StatusOK)
	r := follow(t, Config{Ntfy: base + "/topic", Link: "https://stet.example/"})
	for i := range 500 {
		r.ask(t.Context(), fmt.Sprint(i))
	}
	for range most {
		click := (<-got).click
		id, ok := strings.CutPrefix(click, "https://stet.example/#/queue/")
		if _, err := r.queue.Find(id); !ok || err != nil {
			t.Errorf("%q: %v", click, err)
		}
	}
	for len(r.queue.Open()) < 500 {
		runtime.Gosched()
	}
	r.stop()
	<-r.ended
	select {
	case m := <-got:
		t.Errorf("%+v", m)
	default:
	}
}

// The content of the write is sent if the person configured that, and cut for ntfy.
func TestContent(t *testing.T) {
	base, got := server(t, http.StatusOK)
	r := follow(t, Config{Ntfy: base + "/topic", Content: true})
	r.ask(t.Context(), "a.txt")
	if body := (<-got).body; !strings.Contains(body, "-old words\n+new words\n") {
		t.Errorf("%q", body)
	}
}

// With actions a message has buttons. The one that approves is there only if the message shows all that it approves, and nothing needs care. (GRD-1)
func TestButtons(t *testing.T) {
	base, got := server(t, http.StatusOK)
	c := Config{Ntfy: base + "/topic", Link: "https://stet.example/", Actions: true, Content: true}
	for _, q := range []struct {
		config  Config
		command string
		notes   []tool.Note
		want    string
	}{
		{c, "touch one", nil, "Approve Reject"},
		{c, "touch one", []tool.Note{tool.Deletes}, "Reject"},
		{c, strings.Repeat("long ", 1000), nil, "Reject"},
		{Config{Ntfy: c.Ntfy, Link: c.Link, Actions: true}, "touch one", nil, "Reject"},
		{Config{Ntfy: c.Ntfy, Link: c.Link, Content: true}, "touch one", nil, ""},
	} {
		r := follow(t, q.config)
		answered := make(chan approval.Answer, 1)
		go func() {
			a, _ := r.queue.Ask(t.Context(), approval.Question{Command: q.command, Dir: "/home/me/prod", Diff: tool.Diff{Other: q.command + "\u202e"}, Notes: q.notes, Grantable: true})
			answered <- a
		}()
		m := <-got
		var buttons []button
		if m.actions != "" {
			if err := json.Unmarshal([]byte(m.actions), &buttons); err != nil {
				t.Fatal(err)
			}
		}
		var labels []string
		for _, b := range buttons {
			labels = append(labels, b.Label)
			if at := "https://stet.example/api/questions/" + r.queue.Open()[0].ID + "/press"; b.URL != at || b.Method != http.MethodPost || b.Action != "http" {
				t.Errorf("%+v", b)
			}
		}
		if all := strings.Join(labels, " "); all != q.want || strings.ContainsRune(m.body, '\u202e') {
			t.Errorf("%s %v: %q, %q", q.command, q.notes, all, m.body)
		}
		if cut := strings.HasPrefix(q.command, "long"); !cut && strings.Contains(m.body, "in /home/me/prod\n") != q.config.Content {
			t.Errorf("where: %q", m.body)
		}
		if len(buttons) == 0 {
			continue
		}
		var p approval.Press
		if err := json.Unmarshal([]byte(buttons[0].Body), &p); err != nil {
			t.Fatal(err)
		}
		if err := r.queue.Press([]byte("secret"), r.queue.Open()[0].ID, p); err != nil {
			t.Error(err)
		}
		if a, last := <-answered, <-got; a.Verdict != p.Verdict || last.actions != "" || !strings.Contains(last.body, "by a button in a message") {
			t.Errorf("%+v, %+v", a, last)
		}
	}
}

// A program gets the text as its last argument, which cannot be an option, and the message on standard input.
func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	base, got := server(t, http.StatusOK)
	file := filepath.Join(t.TempDir(), "told")
	r := follow(t, Config{
		Command: []string{"sh", "-c", `printf '%s|%s\n' "$1" "$2" >>"$0"; cat >>"$0"`, file, "first"},
		Webhook: base + "/hook", // it shows when sending is done: messages are sent one after another
	})
	call := r.ask(t.Context(), "a.txt")
	<-got
	r.answer(t, "a.txt", approval.Reject)
	<-got
	<-call
	r.ask(t.Context(), "b.txt")
	<-got // so the program has ended for the message before
	r.stop()
	<-r.ended
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), "first|stet: "+asked+"\n{") || !strings.Contains(string(b), `"how":"reject","by":"desk"}`) || strings.Contains(string(b), "words") {
		t.Errorf("%q", b)
	}
}

// An expired question is reported as not done.
func TestExpired(t *testing.T) {
	base, got := server(t, http.StatusOK)
	r := follow(t, Config{Webhook: base + "/hook"})
	ctx, expire := context.WithCancelCause(t.Context())
	call := r.ask(ctx, "a.txt")
	<-got
	expire(context.DeadlineExceeded)
	if err := <-call; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if body := (<-got).body; !strings.Contains(body, "No answer in time, so it is not done") {
		t.Errorf("%q", body)
	}
}

// A server that does not answer blocks no question and no answer, and its address is not logged.
func TestSlowAndSecret(t *testing.T) {
	held := make(chan struct{})
	came := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		select {
		case <-held:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	address := strings.Replace(s.URL, "http://", "http://user:hunter2@", 1) + "/hunter3?token=hunter4"
	r := follow(t, Config{Ntfy: address, Webhook: address})
	call := r.ask(t.Context(), "a.txt")
	<-came
	<-came
	r.answer(t, "a.txt", approval.Approve)
	if err := <-call; err != nil {
		t.Error(err)
	}
	other := r.ask(t.Context(), "b.txt")
	r.answer(t, "b.txt", approval.Approve)
	if err := <-other; err != nil {
		t.Error(err)
	}
	close(held) // now both sends fail
	<-came      // and the next ones begin
	r.stop()
	<-r.ended
	refused, _ := server(t, http.StatusForbidden)
	r = follow(t, Config{Ntfy: refused + "/hunter3", Command: []string{"no-such-program", "hunter4"}})
	r.ask(t.Context(), "a.txt")
	r.answer(t, "a.txt", approval.Approve)
	r.ask(t.Context(), "c.txt")
	r.answer(t, "c.txt", approval.Approve)
	r.stop()
	<-r.ended
	if said := r.logs.String(); strings.Contains(said, "hunter") {
		t.Error(said)
	}
}

// A person is told about five open questions, and about another one when one has ended.
func TestMany(t *testing.T) {
	base, got := server(t, http.StatusOK)
	r := follow(t, Config{Ntfy: base + "/topic"})
	for _, path := range []string{"1", "2", "3", "4", "5"} {
		r.ask(t.Context(), path)
		if body := (<-got).body; !strings.Contains(body, "wants to write "+path+" ") {
			t.Errorf("%q", body)
		}
	}
	r.ask(t.Context(), "6")
	for len(r.queue.Open()) < 6 {
		runtime.Gosched()
	}
	r.answer(t, "2", approval.Reject)
	if body := (<-got).body; !strings.HasPrefix(body, "Answered, rejected by desk") {
		t.Errorf("%q", body)
	}
	if body := (<-got).body; !strings.Contains(body, "wants to write 6 ") {
		t.Errorf("%q", body)
	}
}

// Errors about a configuration do not contain the address.
func TestCheck(t *testing.T) {
	for _, c := range []Config{
		{Ntfy: "ftp://secret/x"}, {Ntfy: "https://secret"}, {Ntfy: "https://ho st/secret"}, {Webhook: "secret"}, {Command: []string{""}},
		{Actions: true, Link: "https://secret"}, {Actions: true, Ntfy: "https://ntfy.example/secret"}, {Actions: true, Ntfy: "https://ntfy.example/secret", Link: "http://secret"},
	} {
		err := c.Check()
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
