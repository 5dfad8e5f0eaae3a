package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/test/gatewaytest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

// result is the result of a call that runs in the background.
type result struct {
	text string
	err  error
}

// apart runs a function in the background.
func apart(do func() (string, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		text, err := do()
		c <- result{text, err}
	}()
	return c
}

// holds checks the text of a file.
func holds(t *testing.T, file, want string) {
	t.Helper()
	if b, err := os.ReadFile(file); string(b) != want {
		t.Errorf("%s holds %q, want %q (%v)", filepath.Base(file), b, want, err)
	}
}

// With one stet serve, an agent's write over MCP becomes a question in the UI. A person approves it there, and undoes it. (FILE-4,
// FILE-6, FILE-11)
func TestServeMCPToUI(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	desk := login(t, s.base, h.token(t, "desk", "admin"))
	client, err := newClient(nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.base + "/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: bearer(s.agent)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }() // its calls have ended
	call := apart(func() (string, error) {
		return callTool(t.Context(), client, "write_file", `{"path":"b.txt","content":"new\n"}`)
	})
	q := desk.question("b.txt")
	if q.Tool != "write_file" || q.Action != "create" || plus(q) != "new\n" {
		t.Errorf("%+v", q)
	}
	desk.approve(q)
	if r := <-call; r.err != nil || !strings.Contains(r.text, `"success":true`) {
		t.Fatalf("%+v", r)
	}
	holds(t, filepath.Join(h.tree, "b.txt"), "new\n")
	if out := h.run(t, "audit"); !strings.Contains(out, "write_file b.txt: ok (approved, by person desk)") {
		t.Errorf("the trail: %s", out)
	}
	h.verified(t, 1)

	var files web.Files
	waitFor(t, func() bool { desk.get("/api/files", &files); return len(files.Writes) == 1 })
	undo := desk.undo(t.Context(), web.Undo{Writes: []uint64{files.Writes[0].Seq}})
	if q = desk.question("b.txt"); q.Tool != "undo" || q.Action != "remove" || q.Client != "undo for desk" || !strings.HasPrefix(q.Session, "undo-") {
		t.Errorf("%+v", q)
	}
	desk.approve(q)
	if r := <-undo; r.err != nil || !strings.HasPrefix(r.text, "200") {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(h.tree, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	var verdict web.Verdict
	desk.post("/api/audit/verify", web.Verify{}, &verdict)
	if verdict.Broken != 0 || verdict.Entries == 0 || len(verdict.Open) != 0 {
		t.Errorf("%+v", verdict)
	}
	h.verified(t, 2)
}

// The UI shows requests through the proxy with their price, stored sessions, and the settings without secrets. (CTX-4)
func TestServeShows(t *testing.T) {
	upstream, err := strictmodel.Start(llmtest.Config{Script: llmtest.Script{Turns: []llmtest.Turn{llmtest.Say("Hello.")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = upstream.Close() }() // there is no state to lose
	h := newHome(t)
	h.env = append(h.env, "STET_KEEP=7", "XDG_CONFIG_HOME="+filepath.Join(h.dir, "config"))
	own, project := filepath.Join(h.dir, "config", "stet", "config.toml"), filepath.Join(h.tree, config.ProjectFile)
	write(t, own, "keep-shell = 8\nkeep = 3\n[[rule]]\npaths = [\"docs/**\"]\ndo = \"allow\"\n")
	write(t, project, "[[rule]]\npaths = [\"*.key\"]\ndo = \"deny\"\n")
	h.run(t, "run", "--root", h.tree, "--model", "scripted", "--write-without-asking", "try it")
	s := h.serve(t, "--root", h.tree, "--upstream", upstream.URL, "--model", "scripted", "--lang", "en")
	page := login(t, s.base, s.person)

	body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`
	res, err := http.Post(s.base+"/p/"+s.agent+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	if _ = res.Body.Close(); err != nil || !strings.Contains(string(answer), "Hello.") {
		t.Fatalf("%s: %s, %v", res.Status, answer, err)
	}
	var all []web.Conversation
	waitFor(t, func() bool { page.get("/api/conversations", &all); return len(all) == 1 })
	var requests []web.Request
	page.get("/api/requests?conversation="+all[0].ID, &requests)
	if r := requests[0]; r.Status != 200 || r.Model != "claude-sonnet-4-5" || r.USD == nil || *r.USD <= 0 || r.Limit < 100_000 {
		t.Errorf("%+v", r)
	}

	var stored []web.Session
	page.get("/api/sessions", &stored)
	if len(stored) != 1 {
		t.Fatalf("%d sessions", len(stored))
	}
	at := "/api/sessions/" + stored[0].ID
	var one web.SessionDetail
	page.get(at, &one)
	if want := "stet chat --resume " + one.ID + " --root '" + h.tree + "'"; one.Resume != want {
		t.Errorf("resume by %q, want %q", one.Resume, want)
	}
	res = page.do(http.MethodGet, at+"/export?format=json", nil, nil)
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 || !strings.Contains(string(text), `"stet_session"`) {
		t.Errorf("%s: %s", res.Status, text)
	}
	var went web.Went
	page.post(at+"/compact", struct{}{}, &went)
	page.get("/api/sessions/"+went.Session, &one)
	if one.From != stored[0].ID || one.Relation != "compacted" {
		t.Errorf("%+v", one.Session)
	}

	var me web.Me
	page.get("/api/me", &me)
	in := map[string]web.Setting{}
	for _, s := range me.Settings {
		in[s.Name] = s
	}
	for name, want := range map[string][2]string{
		"address": {s.base, ""}, "workspace": {"tree", h.tree}, "state": {filepath.Join(h.dir, "state", "stet"), ""},
		"policy": {"adaptive", "default"}, "keep": {"7", "STET_KEEP"}, "lang": {"en", "--lang"}, "upstream": {upstream.URL, "--upstream"},
		"rate": {"100", "default"}, "keep-shell": {"8", own}, "rule": {"2", project + " and " + own}, "record": {"true", "default"}, "upstream-chat": {openai.ChatAPI.Upstream, "default"},
	} {
		if got := in[name]; got.Value != want[0] || got.Note != want[1] {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
	if shown, _ := json.Marshal(me); !me.Compact || !me.Live || strings.Contains(string(shown), s.agent) || strings.Contains(string(shown), s.person) {
		t.Errorf("%s", shown)
	}
}

// A revoked token is refused at every endpoint.
func TestServeRevoked(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	desk := login(t, s.base, h.token(t, "desk", "admin"))
	builder := h.token(t, "builder", "agent")
	asks := func(method, path, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+builder)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	requests := map[string]func() int{
		"UI":      func() int { return desk.do(http.MethodGet, "/api/me", nil, nil).StatusCode },
		"gateway": func() int { return asks(http.MethodPost, "/v1/sessions/s/tools/read_file", `{"path":"a.txt"}`) },
		"proxy":   func() int { return asks(http.MethodGet, "/p/"+builder+"/metrics", "") },
	}
	for name, ask := range requests {
		if got := ask(); got != http.StatusOK {
			t.Errorf("%s: %d", name, got)
		}
	}
	h.run(t, "token", "revoke", "desk")
	h.run(t, "token", "revoke", "builder")
	requests["MCP"] = func() int { return asks(http.MethodPost, "/mcp", "{}") }
	for name, ask := range requests {
		if got := ask(); got != http.StatusUnauthorized {
			t.Errorf("%s: %d after the token was revoked", name, got)
		}
	}
}

// Ctrl-C lets running work end, and accepts nothing new.
func TestServeDrains(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	upstream, err := strictmodel.Start(llmtest.Config{Handler: func(*llm.Request) (llm.Response, error) {
		close(asked)
		<-goOn
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "At last."}}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = upstream.Close() }() // there is no state to lose
	h := newHome(t)
	s := h.serve(t, "--root", h.tree, "--upstream", upstream.URL)
	answer := apart(func() (string, error) {
		res, err := http.Post(s.base+"/p/"+s.agent+"/v1/messages", "application/json",
			strings.NewReader(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	})
	<-asked
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	s.tells(t, "waiting up to (30s)")
	close(goOn)
	if r := <-answer; r.err != nil || !strings.Contains(r.text, "At last.") {
		t.Errorf("%+v", r)
	}
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, s.text())
	}
}

// A suspended session continues when a person resumes it in the UI. (FILE-11)
func TestServeLifts(t *testing.T) {
	h := newHome(t)
	write(t, filepath.Join(h.dir, "config", "stet", "config.toml"), "suspicion = \"suspend\"\n")
	h.env = append(h.env, "XDG_CONFIG_HOME="+filepath.Join(h.dir, "config"))
	s := h.serve(t, "--root", h.tree, "--workspace", "there")
	page, a := login(t, s.base, s.person), agentAt(t, s.base, s.agent)
	read := func(path string) string {
		r, err := a.Call(t.Context(), "read_file", `{"path":"`+path+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Result)
	}
	waitFor(t, func() bool { return strings.Contains(read("../x"), "suspended") })
	var all []web.Suspended
	page.get("/api/suspended", &all)
	if len(all) != 1 || !all[0].Lift {
		t.Fatalf("%+v", all)
	}
	page.post("/api/suspended/lift", web.Lift{Session: all[0].Session}, nil)
	if got := read("a.txt"); !strings.Contains(got, `"content":"one\n"`) {
		t.Error(got)
	}
	if res := page.do(http.MethodPost, "/api/suspended/lift", web.Lift{Session: all[0].Session}, nil); res.StatusCode != http.StatusConflict {
		t.Errorf("lifted once more: %s", res.Status)
	}
	if out := h.run(t, "audit"); !strings.Contains(out, "by person "+approval.LocalPerson()) {
		t.Errorf("the trail: %s", out)
	}
}

// A write of another process in another workspace can be undone here, and is left alone if the person rejects the undo. It is undone also if the page that began
// it is closed. (FILE-11)
func TestServeUndoesElsewhere(t *testing.T) {
	h := newHome(t)
	other := filepath.Join(h.dir, "other")
	write(t, filepath.Join(other, "kept.txt"), "kept\n")
	h.run(t, "run", "--root", other, "--model", "scripted", "--write-without-asking", "try it")
	s := h.serve(t, "--no-workspace")
	page := login(t, s.base, s.person)
	var files web.Files
	page.get("/api/files", &files)
	if len(files.Writes) != 2 || !files.Undo {
		t.Fatalf("%+v", files)
	}
	var disk []web.OnDisk
	page.get("/api/files/disk", &disk)
	if i := slices.IndexFunc(disk, func(f web.OnDisk) bool { return f.Path == demo.NotesFile }); i < 0 || disk[i].State != "same" {
		t.Errorf("on disk: %+v", disk)
	}
	var look web.UndoLook
	page.post("/api/undo/look", web.Undo{Session: files.Writes[0].Session}, &look)
	for _, f := range look.Files {
		if f.Disk != "same" || f.Stop != "" || look.Broken != 0 {
			t.Errorf("in the way of the undo: %+v", look)
		}
	}
	undo := page.undo(t.Context(), web.Undo{Session: files.Writes[0].Session})
	q := page.question(demo.NotesFile)
	page.post("/api/questions/"+q.ID+"/answer", approval.Answer{Verdict: "reject", Seal: q.Seal}, nil)
	if r := <-undo; r.err != nil || strings.HasPrefix(r.text, "200") {
		t.Errorf("rejected: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(other, demo.NotesFile)); err != nil {
		t.Error(err)
	}
	// The page that began the undo may be closed before the answer.
	open, closePage := context.WithCancel(t.Context())
	undo = page.undo(open, web.Undo{Session: files.Writes[0].Session})
	q = page.question(demo.NotesFile)
	closePage()
	if r := <-undo; r.err == nil {
		t.Errorf("closed: %+v", r)
	}
	page.approve(q)
	waitFor(t, func() bool {
		page.get("/api/files", &files)
		return len(files.Writes) == 0
	})
	if _, err := os.Stat(filepath.Join(other, demo.NotesFile)); !os.IsNotExist(err) {
		t.Error(err)
	}
	holds(t, filepath.Join(other, "kept.txt"), "kept\n")
	h.verified(t, 3)
}

// agentAt connects an agent over WebSocket, for the workspace of a stet host.
func agentAt(t *testing.T, url, token string) *gatewaytest.Agent {
	t.Helper()
	a, err := gatewaytest.Connect(t.Context(), url, token, "there", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if err := a.AwaitHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// writes lets an agent write b.txt in the background.
func writes(ctx context.Context, a *gatewaytest.Agent, content string) <-chan result {
	return apart(func() (string, error) {
		args, err := json.Marshal(map[string]string{"path": "b.txt", "content": content})
		if err != nil {
			return "", err
		}
		r, err := a.Call(ctx, "write_file", string(args))
		if err != nil {
			return "", err
		}
		return r.Error + string(r.Result), nil
	})
}

// written approves the question about b.txt, and checks the write.
func written(t *testing.T, p *page, call <-chan result, there *home, content string) {
	t.Helper()
	q := p.question("b.txt")
	if plus(q) != content || !strings.Contains(q.Client, "(workspace there)") {
		t.Errorf("%+v", q)
	}
	p.approve(q)
	if r := <-call; r.err != nil || !strings.Contains(r.text, `"success":true`) {
		t.Fatalf("%+v", r)
	}
	holds(t, filepath.Join(there.tree, "b.txt"), content)
}

// A workspace with its own process, directory and state: its questions are in the UI, and both trails say who decided. (FILE-3,
// FILE-4, FILE-11)
func TestServeHost(t *testing.T) {
	h, there := newHome(t), newHome(t)
	s := h.serve(t, "--root", h.tree)
	desk := login(t, s.base, h.token(t, "desk", "admin"))
	there.hosting(t, s.base, h.token(t, "laptop", "host"))
	written(t, desk, writes(t.Context(), agentAt(t, s.base, s.agent), "new\n"), there, "new\n")
	for _, side := range []*home{h, there} {
		waitFor(t, func() bool { return strings.Contains(side.run(t, "audit"), "by person desk") })
	}
	there.verified(t, 1)
	h.verified(t, 0)
	if _, err := os.Stat(filepath.Join(h.tree, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("it was written here too: %v", err)
	}
}

// A host is killed while a person is asked: the call waits for it to return. The new process is another host, so the call fails,
// the question is withdrawn, and nothing is written until the agent asks again. (FILE-4)
func TestServeHostKilled(t *testing.T) {
	h, there := newHome(t), newHome(t)
	s := h.serve(t, "--root", h.tree)
	desk := login(t, s.base, h.token(t, "desk", "admin"))
	laptop := h.token(t, "laptop", "host")
	host := there.hosting(t, s.base, laptop)
	a := agentAt(t, s.base, s.agent)
	call := writes(t.Context(), a, "new\n")
	q := desk.question("b.txt")
	host.kill()
	there.hosting(t, s.base, laptop)
	if r := <-call; r.err != nil || !strings.HasPrefix(r.text, string(tool.HostUnavailable)) {
		t.Fatalf("%+v", r)
	}
	waitFor(t, func() bool {
		return desk.do(http.MethodGet, "/api/questions/"+q.ID, nil, nil).StatusCode == http.StatusNotFound
	})
	res := desk.do(http.MethodPost, "/api/questions/"+q.ID+"/answer", approval.Answer{Verdict: "approve", Seal: q.Seal}, nil)
	if res.StatusCode == http.StatusOK {
		t.Error("a question of a host that is gone was answered")
	}
	if _, err := os.Stat(filepath.Join(there.tree, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("it was written: %v", err)
	}
	there.verified(t, 0)
	written(t, desk, writes(t.Context(), a, "newer\n"), there, "newer\n")
	there.verified(t, 1)
	h.verified(t, 0)
}

// A serve is killed while a person is asked: the call ends, and nothing is written. The host connects to the next serve by itself.
// (FILE-4)
func TestServeKilled(t *testing.T) {
	h, there := newHome(t), newHome(t)
	j := newStablePort(t)
	s := h.serve(t, "--root", h.tree)
	j.lead(s)
	builder, laptop := h.token(t, "builder", "agent"), h.token(t, "laptop", "host")
	desk := h.token(t, "desk", "admin")
	host := there.hosting(t, j.url, laptop)
	a := agentAt(t, j.url, builder)
	call := writes(t.Context(), a, "new\n")
	login(t, s.base, desk).question("b.txt")
	s.kill()
	if out, err := h.stet("audit", "--verify").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	s = h.serve(t, "--root", h.tree)
	j.lead(s)
	host.tells(t, `(?s)connected to .*(connected) to `)
	if r := <-call; r.err == nil && !strings.HasPrefix(r.text, string(tool.HostUnavailable)) {
		t.Fatalf("%+v", r)
	}
	a = agentAt(t, j.url, builder)
	written(t, login(t, s.base, desk), writes(t.Context(), a, "newer\n"), there, "newer\n")
	there.verified(t, 1)
	h.verified(t, 0)
}
