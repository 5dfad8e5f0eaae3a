package approval_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// serve serves the queue over a unix socket, and returns a function that connects to it.
func serve(t *testing.T, q *approval.Queue) func() net.Conn {
	t.Helper()
	const path = "s" // the address of a socket must be short
	t.Chdir(t.TempDir())
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- (&approval.Server{Queue: q, Root: "/home/me/project"}).Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

func client(t *testing.T, conn net.Conn) *approval.Client {
	t.Helper()
	c, err := approval.NewClient(t.Context(), conn)
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
func TestSocket(t *testing.T) {
	h := newRig(t)
	h.file("a.txt", "one\n", 0o644)
	dial := serve(t, h.queue)
	early := h.start(t.Context(), call("s", "put", "a.txt", "two\n"))
	desk, lab := client(t, dial()), client(t, dial())
	if desk.Root != "/home/me/project" {
		t.Errorf("root %q", desk.Root)
	}
	next := func(c *approval.Client) approval.Event {
		t.Helper()
		e, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	q := next(desk).Opened
	if q == nil || q.Path != "a.txt" || !strings.Contains(q.Diff.Text(), "+two") || q.Content != nil || !q.Editable || !q.Grantable || q.Expires.IsZero() {
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
	code(t, h.wait(early), "")
	h.has("a.txt", "three\xff\n")
	for _, c := range []*approval.Client{desk, lab} {
		if e := next(c).Closed; e == nil || e.ID != q.ID || e.How != "edit" || !strings.HasPrefix(e.By, "uid ") {
			t.Errorf("closed: %+v", e)
		}
	}
	err = lab.Answer(t.Context(), q.ID, approval.Answer{Verdict: approval.Reject})
	if !errors.Is(err, approval.ErrAnswered) || !strings.Contains(err.Error(), "edited and approved by uid") {
		t.Errorf("lab is late: %v", err)
	}
	if err := lab.Answer(t.Context(), "nonsense", approval.Answer{Verdict: approval.Reject}); !errors.Is(err, approval.ErrUnknown) {
		t.Error(err)
	}

	// If a client disconnects, other clients can still answer the question.
	late := h.start(t.Context(), call("s", "put", "b.txt", "x"))
	q = next(desk).Opened
	if err := desk.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Next(t.Context()); !errors.Is(err, approval.ErrClosed) {
		t.Error(err)
	}
	if err := desk.Answer(t.Context(), q.ID, approval.Answer{Verdict: approval.Reject}); !errors.Is(err, approval.ErrClosed) {
		t.Error(err)
	}
	next(lab)
	if err := lab.Answer(t.Context(), q.ID, approval.Answer{Verdict: approval.Reject, Words: "not now"}); err != nil {
		t.Fatal(err)
	}
	res := h.wait(late)
	if code(t, res, tool.UserRejected); !strings.Contains(res.Text, "not now") {
		t.Error(res.Text)
	}
}

// Input that our clients do not send.
func TestSocketNonsense(t *testing.T) {
	var queue approval.Queue
	dial := serve(t, &queue)
	for _, test := range []struct{ send, want string }{
		{"hello\n", `"type":"error"`},
		{"[]\n", `"type":"error"`},
		{`{"type":"dance","n":7}` + "\n", `{"type":"reply","n":7,"code":"invalid","error":"unknown message \"dance\""}`},
		{`{"type":"dance"}` + "\n" + `{"type":"answer","n":1}` + "\n", `"n":1,"code":"invalid"`},
		{`{"type":"answer","n":1,"id":"x","answer":{"verdict":"approve"},"more":{}}` + "\n", `"code":"unknown"`},
		{`{"type":"content","n":1,"id":"x"}` + "\n", `"code":"unknown"`},
		{`{"type":"answer","n":"1"}` + "\n", `"type":"error"`},
	} {
		conn := dial()
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(test.send)); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		hello, err := in.ReadString('\n')
		if err != nil || !strings.HasPrefix(hello, `{"type":"hello","version":1,`) {
			t.Fatal(hello, err)
		}
		if got, err := in.ReadString('\n'); err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s %v", test.send, got, err)
		}
		conn.Close()
	}
	mute := dial() // a client that sends nothing; it must not block other clients
	defer mute.Close()
	c := client(t, dial())
	asked := ask(t.Context(), &queue, approval.Question{Path: "a"})
	e, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Answer(t.Context(), e.Opened.ID, approval.Answer{Verdict: approval.Reject}); err != nil {
		t.Error(err)
	}
	<-asked.done
}

// Servers that send a wrong greeting, or none.
func TestClientRefuses(t *testing.T) {
	for _, hello := range []string{
		"", "220 mail.example.com\n", `{"type":"hello","version":2}` + "\n", `{"type":"error","error":"user 5 may not"}` + "\n",
	} {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Write([]byte(hello))
			there.Close()
		}()
		if c, err := approval.NewClient(t.Context(), here); err == nil {
			t.Errorf("%q is taken for a server", hello)
			c.Close()
		}
	}
	here, there := net.Pipe()
	defer there.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := approval.NewClient(ctx, here); err == nil {
		t.Error("it waits for a greeting under a cancelled context")
	}
}

// FuzzAnswer: for any input over the socket, only asked questions are approved.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"verdict":"approve","seal":"x"}`))
	f.Add([]byte(`{"verdict":"pattern","pattern":"**","seal":"x"}`))
	f.Add([]byte(`{"verdict":"reject","words":"no"}`))
	q := approval.Question{Path: "a/b", Seal: "the seal", Why: "control file"}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a approval.Answer
		if json.Unmarshal(data, &a) != nil {
			return
		}
		if err := q.Check(a); err == nil && a.Approves() && (a.Seal != q.Seal || a.Verdict != approval.Approve || a.Relayed) {
			t.Errorf("accepted: %+v", a)
		}
	})
}
