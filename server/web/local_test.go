package web

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
)

// local serves a queue over a unix socket, and returns a function that connects to it.
func local(t *testing.T, q *approval.Queue) (dial func(context.Context) (net.Conn, error)) {
	t.Helper()
	const path = "s" // the address of a socket must be short
	t.Chdir(t.TempDir())
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	h := &Handler{Queue: q, Root: "/home/me/project"}
	go func() { done <- h.ServeLocal(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
}

func client(t *testing.T, dial func(context.Context) (net.Conn, error)) *Client {
	t.Helper()
	c, err := NewClient(t.Context(), dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A person in another process answers, with every kind of answer.
func TestLocal(t *testing.T) {
	h := &rig{Handler: &Handler{Queue: new(approval.Queue)}}
	dial := local(t, h.Queue)
	_, early := h.ask(t, "s", "a.txt", "one\n", "two\n")
	desk, lab := client(t, dial), client(t, dial)
	if desk.Root != "/home/me/project" {
		t.Errorf("root %q", desk.Root)
	}
	next := func(c *Client) approval.Event {
		t.Helper()
		e, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	q := next(desk).Opened
	if q == nil || q.Path != "a.txt" || !strings.Contains(q.Diff.Text(), "+two") || q.Content != nil || !q.Editable || !q.Grantable {
		t.Fatalf("question %+v", q)
	}
	if other := next(lab).Opened; other == nil || other.ID != q.ID {
		t.Fatalf("lab sees %+v", other)
	}
	content, err := desk.Content(t.Context(), q.ID)
	if err != nil || string(content) != "two\n" {
		t.Errorf("content %q, %v", content, err)
	}
	if err := desk.Answer(t.Context(), q.ID, approval.Answer{Verdict: approval.ForPattern, Seal: q.Seal, Pattern: "*.go"}); err == nil ||
		!strings.Contains(err.Error(), "does not match") {
		t.Errorf("a pattern of other files: %v", err)
	}
	err = desk.Answer(t.Context(), q.ID, approval.Answer{
		Verdict: approval.Edit, Seal: q.Seal, Content: []byte("three\xff\n"), By: "the king", Relayed: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := <-early; string(a.Content) != "three\xff\n" || a.By != approval.LocalPerson()+": the king" || a.Relayed {
		t.Errorf("answer %+v", a)
	}
	for _, c := range []*Client{desk, lab} {
		if e := next(c).Closed; e == nil || e.ID != q.ID || e.How != "edit" || e.By != approval.LocalPerson()+": the king" {
			t.Errorf("closed: %+v", e)
		}
	}
	err = lab.Answer(t.Context(), q.ID, approval.Answer{Verdict: approval.Reject})
	if !errors.Is(err, approval.ErrAnswered) || !strings.Contains(err.Error(), "edited and approved by "+approval.LocalPerson()+": the king") {
		t.Errorf("lab is late: %v", err)
	}
	if err := lab.Answer(t.Context(), "nonsense", approval.Answer{Verdict: approval.Reject}); !errors.Is(err, approval.ErrUnknown) {
		t.Error(err)
	}

	// If a client disconnects, other clients can still answer the question.
	id, late := h.ask(t, "s", "b.txt", "", "x")
	if q := next(desk).Opened; q == nil || q.ID != id {
		t.Errorf("%+v", q)
	}
	if err := desk.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Next(t.Context()); !errors.Is(err, approval.ErrClosed) {
		t.Error(err)
	}
	next(lab)
	if err := lab.Answer(t.Context(), id, approval.Answer{Verdict: approval.Reject, Words: "not now"}); err != nil {
		t.Fatal(err)
	}
	if a := <-late; a.Words != "not now" {
		t.Errorf("answer %+v", a)
	}
}

// Over the socket there is no login, and nothing that is for admins. Requests that our client does not make get an error.
func TestLocalRefuses(t *testing.T) {
	dial := local(t, new(approval.Queue))
	for _, c := range []struct {
		request, status string
	}{
		{"GET /api/questions HTTP/1.1\r\nHost: localhost\r\n\r\n", "200"},
		{"GET /api/questions HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
		{"GET /api/questions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n", "403"},
		{"GET /api/audit HTTP/1.1\r\nHost: localhost\r\n\r\n", "403"},
		{"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "501"},
		{"POST /api/hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "501"},
		{"POST /api/logout HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "501"},
		{"POST /api/questions/x/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", "400"},
		{"POST /api/questions/x/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "404"},
		{"GET /api/questions/x/content HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"{\"type\":\"hello\"}\r\n\r\n", "400"},
	} {
		conn, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(c.request)); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(got, "HTTP/1.1 "+c.status) {
			t.Errorf("%q: %s %v", c.request, got, err)
		}
		_ = conn.Close()
	}
}

// Servers that do not answer as stet does, or not at all.
func TestClientRefuses(t *testing.T) {
	for _, greeting := range []string{"", "220 mail.example.com\n", "HTTP/1.1 403 Forbidden\r\nContent-Length: 24\r\n\r\n{\"error\":\"user 5 may not\"}"} {
		c, err := NewClient(t.Context(), func(context.Context) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				_, _ = http.ReadRequest(bufio.NewReader(there))
				_, _ = there.Write([]byte(greeting))
				there.Close()
			}()
			return here, nil
		})
		if err == nil {
			t.Errorf("%q is taken for a server", greeting)
			c.Close()
		}
	}
	here, there := net.Pipe()
	defer there.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewClient(ctx, func(context.Context) (net.Conn, error) { return here, nil }); err == nil {
		t.Error("it waits for a greeting under a cancelled context")
	}
}
