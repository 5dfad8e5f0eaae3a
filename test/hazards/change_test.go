package hazards

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
)

// Row: the file was changed by another program after it was read, also with equal size and time.
func TestEqualSizeAndTime(t *testing.T) {
	w := newWorld(t)
	w.put("f", "one\n")
	info, err := os.Stat(w.abs("f"))
	if err != nil {
		t.Fatal(err)
	}
	a := w.agent()
	a.works("read_file", args{"path": "f"})
	w.put("f", "two\n")
	if err := os.Chtimes(w.abs("f"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	a.fails("concurrent_modification", "write_file", args{"path": "f", "content": "mine\n"})
	a.fails("concurrent_modification", "edit_file", args{"path": "f", "edits": edits("one", "mine")})
	if w.get("f") != "two\n" {
		t.Error("overwritten")
	}
}

// Row: another part of the file was changed after it was read: a clean merge.
func TestMerged(t *testing.T) {
	w := newWorld(t)
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	w.put("f", lines)
	a := w.agent()
	a.works("read_file", args{"path": "f"})
	w.put("f", strings.Replace(lines, "9", "nine", 1))
	r := a.works("edit_file", args{"path": "f", "edits": edits("1\n", "one\n")})
	if got := w.get("f"); got != "one\n2\n3\n4\n5\n6\n7\n8\nnine\n" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(r.raw, "merged") {
		t.Errorf("not said: %s", r.raw)
	}
}

// Row: the file was deleted after it was read.
func TestDeletedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.put("f", "one\n")
	a := w.agent()
	a.works("read_file", args{"path": "f"})
	if err := os.Remove(w.abs("f")); err != nil {
		t.Fatal(err)
	}
	a.fails("concurrent_modification", "write_file", args{"path": "f", "content": "mine\n"})
	w.missing("f")
}

// Row: the file is changed while the person looks at the diff: it is checked again before the write.
func TestChangedWhileLooking(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	w.put("f", "one\ntwo\n")
	a, c := w.agent(), w.person()
	a.works("read_file", args{"path": "f"})
	r := a.do("edit_file", args{"path": "f", "edits": edits("two", "2")})
	q := question(t, c)
	w.put("f", "one\nzwei\n")
	answer(t, c, q, approval.Approve)
	if r = a.await(r); r.code() != "concurrent_modification" {
		t.Errorf("%s", r.raw)
	}
	if w.get("f") != "one\nzwei\n" {
		t.Error("overwritten")
	}
	// If another part was changed, the edit is merged, and the person is asked again.
	w.put("f", "1\n2\n3\n4\n5\n6\n7\n8\n")
	a.works("read_file", args{"path": "f"})
	r = a.do("edit_file", args{"path": "f", "edits": edits("1\n", "one\n")})
	q = question(t, c)
	w.put("f", "1\n2\n3\n4\n5\n6\n7\neight\n")
	answer(t, c, q, approval.Approve)
	again := question(t, c)
	if again.Again != 1 || again.Seal == q.Seal {
		t.Errorf("asked again: %+v", again)
	}
	if err := c.Answer(context.Background(), again.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}); err == nil {
		t.Error("the approval of something else counts")
	}
	answer(t, c, again, approval.Approve)
	if r = a.await(r); !r.ok() || w.get("f") != "one\n2\n3\n4\n5\n6\n7\neight\n" {
		t.Errorf("%s: %q", r.raw, w.get("f"))
	}
}

// Row: a write of a file that was never read: stet asks and says so, or refuses.
func TestUnread(t *testing.T) {
	w := newWorld(t)
	w.put("f", "one\n")
	a := w.agent()
	a.fails("permission_denied", "write_file", args{"path": "f", "content": "mine\n"})
	w.attended = true
	b, c := w.agent(), w.person()
	r := b.do("write_file", args{"path": "f", "content": "mine\n"})
	q := question(t, c)
	if len(q.Notes) != 1 || q.Notes[0] != "unread" || q.Why == "" {
		t.Errorf("asked: %+v", q)
	}
	answer(t, c, q, approval.Reject)
	b.await(r)
	if w.get("f") != "one\n" {
		t.Error("overwritten")
	}
}

// Row: an edit with two matches, or with an empty old text, is refused, with the lines.
func TestTwoMatches(t *testing.T) {
	w := newWorld(t)
	w.put("f", "a\nx\nb\nx\n")
	a := w.agent()
	a.works("read_file", args{"path": "f"})
	r := a.fails("invalid_argument", "edit_file", args{"path": "f", "edits": edits("x", "y")})
	if !strings.Contains(r.raw, `"lines":[2,4]`) {
		t.Errorf("%s", r.raw)
	}
	a.fails("invalid_argument", "edit_file", args{"path": "f", "edits": edits("", "y")})
	a.fails("invalid_argument", "edit_file", args{"path": "f", "edits": edits("a", "A", "x", "y")})
	a.fails("invalid_argument", "edit_file", args{"path": "f", "edits": []args{}})
	if w.get("f") != "a\nx\nb\nx\n" {
		t.Error("the first one was taken")
	}
}

// Row: an agent may answer its own approval. stet asks through the client only if the configuration allows it, and then only for
// ordinary files.
func TestOwnApproval(t *testing.T) {
	yes := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		content := map[string]any{}
		if s, ok := r.Params.RequestedSchema.(map[string]any); ok {
			props, _ := s["properties"].(map[string]any)
			for name, p := range props {
				p, _ := p.(map[string]any)
				switch {
				case p["type"] == "boolean":
					content[name] = true
				case p["enum"] != nil:
					content[name] = p["enum"].([]any)[0]
				case p["oneOf"] != nil:
					content[name] = p["oneOf"].([]any)[0].(map[string]any)["const"]
				}
			}
		}
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	}}
	for _, c := range []struct {
		name, config, path string
		written            bool
	}{
		{"by default", "", "f", false},
		{"ordinary", "elicitation = \"ordinary\"\n", "f", true},
		{"control", "elicitation = \"ordinary\"\n", ".envrc", false},
		{"none", "elicitation = \"none\"\n", "f", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.attended, w.config, w.clientOptions = true, c.config, yes
			a, p := w.agent(), w.person()
			if c.written {
				a.works("write_file", args{"path": c.path, "content": "x\n"})
				return
			}
			r := a.do("write_file", args{"path": c.path, "content": "x\n"})
			q := question(t, p)
			w.missing(c.path)
			answer(t, p, q, approval.Approve)
			if r = a.await(r); !r.ok() || w.get(c.path) != "x\n" {
				t.Errorf("%s", r.raw)
			}
		})
	}
}

// Row: an approval would block the tool call: the call is pending at once with an id, or sends progress.
func TestPendingAtOnce(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	heard := make(chan struct{}, 100)
	w.clientOptions = &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { heard <- struct{}{} }}
	a, c := w.agent(), w.person()
	r := a.do("write_file", args{"path": "f", "content": "x\n"}) // no person answers the question
	if r.Pending == "" {
		t.Errorf("%s", r.raw)
	}
	answer(t, c, question(t, c), approval.Approve)
	if r := a.await(r); !r.ok() {
		t.Errorf("%s", r.raw)
	}
	p := &mcp.CallToolParams{Meta: mcp.Meta{}, Name: "write_file", Arguments: args{"path": "g", "content": "x\n"}}
	p.SetProgressToken("p")
	ended := make(chan error, 1)
	go func() {
		_, err := a.CallTool(context.Background(), p)
		ended <- err
	}()
	q := question(t, c)
	select {
	case <-heard:
	case <-time.After(patience):
		t.Error("no progress")
	}
	answer(t, c, q, approval.Approve)
	if err := <-ended; err != nil || w.get("g") != "x\n" {
		t.Errorf("%v", err)
	}
}

// The command "stet approve" answers like a client of the socket.
func TestApproveCommand(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	a := w.agent()
	w.person() // waits until the server listens
	cmd := w.command("approve", "--root", w.dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	r := a.do("write_file", args{"path": "f", "content": "hello\n"})
	// Input that is typed before the question is ignored.
	var shown []byte
	for keys := bufio.NewReader(out); !bytes.HasSuffix(shown, []byte("[q]uit >")); {
		b, err := keys.ReadByte()
		if err != nil {
			t.Fatalf("%v: %s", err, shown)
		}
		shown = append(shown, b)
	}
	if _, err := in.Write([]byte("a\n")); err != nil {
		t.Fatal(err)
	}
	r = a.await(r)
	_ = in.Close()
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended with its input
	_ = cmd.Wait()                          // the command's own tests check how it ends
	stuck.Stop()
	if !r.ok() || w.get("f") != "hello\n" || !bytes.Contains(shown, []byte("+hello")) {
		t.Errorf("%s: %s", r.raw, shown)
	}
}
