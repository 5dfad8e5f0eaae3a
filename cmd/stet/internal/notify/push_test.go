package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/test/webtest"
)

// pushRig is a Push, a push service on the loopback, and the two queues' followers.
type pushRig struct {
	*rig
	push    *Push
	service *webtest.PushService
	server  *httptest.Server
	ids     []string // endpoints

	mu   sync.Mutex
	mays map[string]string // by login: "all", "tools" or, without a right, nothing
}

func newPushRig(t *testing.T) *pushRig {
	r := &pushRig{
		rig: &rig{queue: new(approval.Queue), logs: new(logs)}, service: webtest.NewPushService(),
		push: NewPush(filepath.Join(t.TempDir(), "push.json")), mays: map[string]string{},
	}
	r.server = httptest.NewTLSServer(r.service)
	t.Cleanup(r.server.Close)
	r.push.client = r.server.Client() // the loopback is not reached otherwise
	r.push.May = r.may
	var following sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for _, native := range []bool{true, false} {
		following.Go(func() {
			Config{Push: r.push}.Follow(ctx, r.queue, native, nil, slog.New(slog.NewTextHandler(r.logs, nil)))
		})
	}
	t.Cleanup(func() {
		stop()
		following.Wait()
	})
	return r
}

func (r *pushRig) may(login string, native bool) (may, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how, known := r.mays[login]
	return how == "all" || !native, known
}

// subscribe has a browser with a login get messages.
func (r *pushRig) subscribe(t *testing.T, login, person, mays string) {
	t.Helper()
	data, _ := json.Marshal(r.service.Subscribe(login, r.server.URL))
	var in struct {
		Endpoint string
		Keys     struct{ P256dh, Auth string }
	}
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	r.ids = append(r.ids, in.Endpoint, in.Keys.Auth)
	r.mu.Lock()
	r.mays[login] = mays
	r.mu.Unlock()
	if err := r.push.Add(login, person, in.Endpoint, in.Keys.P256dh, in.Keys.Auth); err != nil {
		t.Fatal(err)
	}
}

// asks opens a question, and returns it with a function that answers it.
func (r *pushRig) asks(t *testing.T, q approval.Question) (string, func()) {
	t.Helper()
	q.Asked, q.Root, q.Session = time.Now(), "/home/me/project", "s1"
	ended := make(chan error, 1)
	sub := r.queue.Subscribe()
	defer func() { _ = sub.Close() }()
	go func() {
		_, err := r.queue.Ask(t.Context(), q)
		ended <- err
	}()
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Opened != nil {
			return e.Opened.ID, func() {
				if err := r.queue.Answer(e.Opened.ID, approval.Answer{Verdict: approval.Reject, By: "desk"}); err != nil {
					t.Fatal(err)
				}
				<-ended
			}
		}
	}
}

// gets waits for messages, and returns them by browser.
func (r *pushRig) gets(t *testing.T, n int) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for range n {
		select {
		case m := <-r.service.Messages:
			said := map[string]string{}
			if err := json.Unmarshal([]byte(m.Text), &said); m.Err != nil || err != nil || len(m.Topic) != 32 {
				t.Fatalf("%+v: %v", m, err)
			}
			if key, err := r.push.Key(); err != nil || m.Key != key {
				t.Errorf("signed with %s: %v", m.Key, err)
			}
			all[m.Browser] = said
		case <-time.After(time.Minute):
			t.Fatalf("only %d messages came: %s", len(all), r.logs)
		}
	}
	return all
}

// logins returns the logins whose browsers are in the file.
func (r *pushRig) logins(t *testing.T) (all []string) {
	t.Helper()
	data, err := os.ReadFile(r.push.file)
	if err != nil {
		t.Fatal(err)
	}
	var kept pushFile
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	for _, b := range kept.Browsers {
		all = append(all, b.Login)
	}
	return all
}

// A browser gets a question and its end, encrypted, and no content of a command or a file. Who may not read a question gets nothing. (GRD-1)
func TestPush(t *testing.T) {
	r := newPushRig(t)
	if _, err := r.push.Key(); err != nil {
		t.Fatal(err)
	}
	r.subscribe(t, "desk-1", "desk", "all")
	r.subscribe(t, "lab-1", "lab", "tools")
	r.subscribe(t, "gone-1", "gone", "all")
	r.mu.Lock()
	delete(r.mays, "gone-1") // a revoked token, or a login that has ended
	r.mu.Unlock()

	id, answer := r.asks(t, approval.Question{Client: "claude", Tool: "Bash", Native: true, Command: "curl -H 'X-Key: hunter2' example.org"})
	got := r.gets(t, 1)["desk-1"]
	if got["question"] != id || len(got) != 2 || !strings.Contains(got["text"], "claude wants to run a command: curl …") {
		t.Errorf("%v", got)
	}
	answer()
	if got := r.gets(t, 1)["desk-1"]; got["question"] != id || !strings.Contains(got["text"], "Answered") {
		t.Errorf("%v", got)
	}
	_, answer = r.asks(t, approval.Question{Client: "agent\x1b[31m", Tool: "write_file", Path: "a.go", Write: true, After: "hunter2"})
	both := r.gets(t, 2)
	for _, name := range []string{"desk-1", "lab-1"} {
		if text := both[name]["text"]; !strings.Contains(text, "a.go") || strings.Contains(text, "hunter2") || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %q", name, text)
		}
	}
	answer()
	r.gets(t, 2)
	if have := r.logins(t); !slices.Equal(have, []string{"lab-1", "desk-1"}) {
		t.Errorf("kept: %v", have)
	}
	if len(r.service.Messages) > 0 {
		t.Errorf("one more: %+v", <-r.service.Messages)
	}
	if info, err := os.Stat(r.push.file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A long message is cut, so that every push service takes it.
func TestPushLongText(t *testing.T) {
	r := newPushRig(t)
	if _, err := r.push.Key(); err != nil {
		t.Fatal(err)
	}
	r.subscribe(t, "desk-1", "desk", "all")
	_, answer := r.asks(t, approval.Question{Client: "agent", Tool: "write_file", Path: strings.Repeat("<ä\x01", 1300), Write: true})
	if text := r.gets(t, 1)["desk-1"]["text"]; len(text) < longestPush-4 || len(text) > longestPush {
		t.Errorf("%d bytes", len(text))
	}
	answer()
	r.gets(t, 1)
}

// A browser that its service does not know any more is forgotten; another error is in the log, without the address. No secret is in a log.
func TestPushGone(t *testing.T) {
	r := newPushRig(t)
	key, err := r.push.Key()
	if err != nil {
		t.Fatal(err)
	}
	r.subscribe(t, "desk-1", "desk", "all")
	r.subscribe(t, "desk-2", "desk", "all")
	r.service.Forget("desk-1")
	_, answer := r.asks(t, approval.Question{Client: "agent", Tool: "write_file", Path: "a.go", Write: true})
	r.gets(t, 1)
	answer()
	r.gets(t, 1)
	if have := r.logins(t); !slices.Equal(have, []string{"desk-2"}) {
		t.Errorf("kept: %v", have)
	}

	for range cap(r.service.Messages) { // the service takes no more
		r.service.Messages <- webtest.Pushed{}
	}
	_, answer = r.asks(t, approval.Question{Client: "agent", Tool: "write_file", Path: "b.go", Write: true})
	waitFor(t, r.logs, "429")
	r.server.Close() // and then it is not there
	answer()
	waitFor(t, r.logs, "refused")
	data, _ := os.ReadFile(r.push.file)
	var kept pushFile
	if err := json.Unmarshal(data, &kept); err != nil || kept.Public != key || len(kept.Browsers) != 1 {
		t.Errorf("%v: %s", err, data)
	}
	for _, secret := range append(r.ids, kept.Private, kept.Browsers[0].Endpoint) {
		if secret == "" || strings.Contains(r.logs.String(), strings.TrimPrefix(secret, r.server.URL)) {
			t.Errorf("in the log: %s", secret)
		}
	}
}

// waitFor waits until a text is in a log.
func waitFor(t *testing.T, l *logs, text string) {
	t.Helper()
	for begun := time.Now(); !strings.Contains(l.String(), text); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("no %q in the log: %s", text, l)
		}
	}
}

// The number of browsers is limited, for a person and for all; the oldest goes. What is kept is there after a restart, with the same key.
func TestPushLimits(t *testing.T) {
	r := newPushRig(t)
	key, err := r.push.Key()
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostOfPerson + 2 {
		r.subscribe(t, fmt.Sprint("desk-", i), "desk", "all")
	}
	if have := r.logins(t); len(have) != mostOfPerson || have[len(have)-1] != "desk-2" {
		t.Errorf("kept of one person: %v", have)
	}
	r.subscribe(t, "desk-5", "desk", "all") // again
	if have := r.logins(t); len(have) != mostOfPerson || have[0] != "desk-5" {
		t.Errorf("a login has two browsers: %v", have)
	}
	for i := range mostBrowsers {
		r.subscribe(t, fmt.Sprint("one-", i), fmt.Sprint("one-", i), "all")
	}
	have := r.logins(t)
	if len(have) != mostBrowsers || slices.Contains(have, "desk-5") {
		t.Errorf("kept: %d", len(have))
	}
	again := NewPush(r.push.file)
	if k, err := again.Key(); err != nil || k != key {
		t.Errorf("%s, %v", k, err)
	}
	if err := again.Remove("one-3"); err != nil || slices.Contains(r.logins(t), "one-3") {
		t.Errorf("not removed: %v", err)
	}
	if err := os.WriteFile(r.push.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewPush(r.push.file).Key(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v", err)
	}
}

// A subscription does not lead to this machine or to a private network, also not by a name.
func TestPushPublicOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"93.184.216.34:443": true, "[2606:4700::1111]:443": true, "127.0.0.1:443": false, "[::ffff:10.0.0.1]:443": false, "[64:ff9b::10.0.0.1]:443": false,
	} {
		if err := onlyPublic(t.Context(), "tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	reached := make(chan string, 1)
	l := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Listener.Addr().String())
	service := webtest.NewPushService()
	p := NewPush(filepath.Join(t.TempDir(), "push.json"))
	p.May = func(string, bool) (bool, bool) { return true, true }
	if _, err := p.Key(); err != nil {
		t.Fatal(err)
	}
	keys := service.Subscribe("a", "")["keys"].(map[string]string)
	if err := p.Add("a", "a", "https://localhost:"+port+"/x", keys["p256dh"], keys["auth"]); err != nil {
		t.Fatal(err)
	}
	err := p.send(t.Context(), message{Event: "opened", Question: "q"})
	if err == nil || !strings.Contains(err.Error(), "no public address") || len(reached) > 0 {
		t.Errorf("%v", err)
	}
}

// The file is not made before a browser is subscribed.
func TestPushUnused(t *testing.T) {
	r := newPushRig(t)
	_, answer := r.asks(t, approval.Question{Client: "agent", Tool: "write_file", Path: "a.go", Write: true})
	answer()
	if err := r.push.Remove("desk-1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.push.file); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v", err)
	}
}
