package web

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/test/webtest"
)

// on serves a handler at an address until end is called.
func on(t *testing.T, address string, h http.Handler) (url string, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	return s.URL, func() {
		s.CloseClientConnections()
		s.Close()
	}
}

// A server ends, and another program takes its port. The requests that the page sends there are useless at the server when it is
// restarted: the page continues with it, and all collected requests are refused. (FILE-6)
func TestImpostor(t *testing.T) {
	known := &people{by: map[string]string{"A": "desk"}}
	server := func() *Handler { // the same server, restarted
		return &Handler{Queue: new(approval.Queue), Authenticate: known.who, Holds: known.holds, Secret: bytes.Repeat([]byte{7}, 32)}
	}
	url, end := on(t, "127.0.0.1:0", server())
	address := strings.TrimPrefix(url, "http://")
	p, err := webtest.Enter(t.Context(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url, "A")
	if err != nil {
		t.Fatal(err)
	}
	asks := func(method, path string, body any) error {
		res, err := p.Do(t.Context(), method, path, body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
		return err
	}
	if err := asks(http.MethodGet, "/api/me", nil); err != nil {
		t.Fatal(err)
	}
	end()

	thief := new(webtest.Impostor)
	_, end = on(t, address, thief)
	for range 3 { // the first request is sent before the page notices; then only hellos
		if err := asks(http.MethodGet, "/api/questions", nil); !errors.Is(err, webtest.ErrStranger) {
			t.Errorf("at the impostor: %v", err)
		}
	}
	end()
	var paths []string
	for _, s := range thief.Seen() {
		paths = append(paths, s.URI)
		for _, secret := range []string{encode(p.Key), `"A"`} {
			if strings.Contains(string(s.Body), secret) || strings.Contains(s.URI, secret) {
				t.Errorf("%s has a secret in it: %s", s.URI, s.Body)
			}
		}
		if s.Header.Get("Cookie") != "" || s.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v", s.URI, s.Header)
		}
	}
	if want := []string{"/api/questions", "/api/hello", "/api/hello"}; !slices.Equal(paths, want) {
		t.Errorf("the impostor saw %q, want %q", paths, want)
	}

	_, end = on(t, address, server())
	defer end()
	if taken, err := thief.Replay(t.Context(), url); err != nil || len(taken) > 0 {
		t.Errorf("of the replay was taken: %q, %v", taken, err)
	}
	if err := asks(http.MethodGet, "/api/me", nil); err != nil { // a restart keeps the login
		t.Errorf("at the server again: %v", err)
	}
}

// A login is valid for the port of its server. A program at that port can forward a hello to the server at its new port, but does
// not get a valid proof.
func TestMovedServer(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	moved, end := on(t, "127.0.0.1:0", h.Handler)
	defer end()
	p.Base = moved
	if err := p.Hello(t.Context()); !errors.Is(err, webtest.ErrStranger) {
		t.Errorf("%v", err)
	}
}

// changing forwards requests, and changes the answers.
type changing struct {
	change func(r *http.Response, body []byte) []byte
}

func (c changing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.URL.Path == "/api/hello" {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(c.change(res, body)))
	return res, err
}

// A program that had the port keeps a connection of the page, and forwards its bytes when the server is back. An answer that it
// changes has no valid proof.
func TestChangedAnswer(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	for what, c := range map[string]struct {
		path   string
		change func(r *http.Response, body []byte) []byte
		ok     bool
	}{
		"nothing": {"/api/me", func(_ *http.Response, body []byte) []byte { return body }, true},
		"the body": {"/api/me", func(_ *http.Response, body []byte) []byte {
			return bytes.Replace(body, []byte("person"), []byte("PERSON"), 1)
		}, false},
		"its end":     {"/api/me", func(_ *http.Response, body []byte) []byte { return body[:len(body)-1] }, false},
		"the status":  {"/api/questions/none", func(r *http.Response, body []byte) []byte { r.StatusCode = http.StatusOK; return body }, false},
		"an error":    {"/api/questions/none", func(_ *http.Response, _ []byte) []byte { return []byte(`{"error":"log in"}`) }, false},
		"a stream's":  {"/api/me", func(r *http.Response, body []byte) []byte { r.Header.Set(proofHeader, "x"); return body }, false},
		"of an error": {"/api/questions/none", func(_ *http.Response, body []byte) []byte { return body }, true},
	} {
		p.Client = &http.Client{Transport: changing{c.change}}
		res, err := p.Do(t.Context(), http.MethodGet, c.path, nil)
		if err == nil {
			_ = res.Body.Close()
		}
		if ok := err == nil; ok != c.ok || err != nil && !errors.Is(err, webtest.ErrStranger) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A request is accepted once, also if others overtook it.
func TestOnce(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	var all []*http.Request
	for range 3 {
		all = append(all, p.request(t.Context(), http.MethodGet, "/api/me", nil, nil))
	}
	slices.Reverse(all)
	for _, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		for _, r := range all {
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s, want %d", res.Status, want)
			}
		}
	}
	var c channel
	for _, step := range []struct {
		n    uint64
		want bool
	}{{0, false}, {1, true}, {1, false}, {window + 1, true}, {1, false}, {2, true}, {5 * window, true}, {4 * window, false}} {
		if got := c.useOnce(step.n); got != step.want {
			t.Errorf("%d: %v", step.n, got)
		}
	}
}

// The body must be the one in the proof.
func TestBody(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	other := func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"client":"x"}`)), -1
	}
	if r := p.do(http.MethodPost, "/api/suspended/lift", Lift{}, other); r.StatusCode != http.StatusBadRequest {
		t.Errorf("another body: %s", r.Status)
	}
}

// The number of channels is limited. First a channel without a proving page is dropped, such as those of replayed hellos, then the
// least recently used one.
func TestManyChannels(t *testing.T) {
	var cs channels
	first := cs.find(cs.open("login", nil))
	second := cs.find(cs.open("login", nil))
	for _, c := range []*channel{first, second} {
		if !cs.use(c) {
			t.Fatal("it is forgotten at once")
		}
	}
	for range 2 * maxChannels {
		cs.open("login", nil)
	}
	if !cs.use(second) || !cs.use(first) || len(cs.by) != maxChannels {
		t.Errorf("%d channels", len(cs.by))
	}
	for range maxChannels - 1 {
		cs.use(cs.find(cs.open("login", nil)))
	}
	if cs.use(second) || !cs.use(first) || len(cs.by) != maxChannels {
		t.Errorf("%d channels, all in use", len(cs.by))
	}
}
