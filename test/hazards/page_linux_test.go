package hazards

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/test/webtest"
)

// serve starts "stet serve" at an address. It returns the URL, and the person's token for this process. kill ends the process
// with SIGKILL.
func (w *world) serve(address string) (url, person string, kill func()) {
	w.t.Helper()
	cmd := w.command("serve", "--root", w.dir, "--listen", address)
	out, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	w.t.Cleanup(kill)
	link := regexp.MustCompile(`(http://\S+)/#token=(\S+)`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := link.FindStringSubmatch(lines.Text()); found != nil {
			url, person = found[1], found[2]
		}
		if strings.Contains(lines.Text(), "makes tokens") {
			return url, person, kill
		}
	}
	w.t.Fatal("stet serve ended")
	return "", "", nil
}

// on starts a server with a handler at an address. end stops it.
func on(t *testing.T, address string, h http.Handler) (end func()) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l) // until it is closed
	}()
	return func() {
		_ = s.Close()
		<-ended
	}
}

// Row: stet serve is killed, and another program takes its port while a page is open. stet later refuses everything that this
// program collected. The page stays logged in, and asks the program only to prove that it is stet. (FILE-6)
func TestImpostorOfServe(t *testing.T) {
	rounds := 1
	if soak() {
		rounds = 50
	}
	w := newWorld(t)
	lasting, err := w.command("token", "create", "desk", "--scope", "admin").Output()
	if err != nil {
		t.Fatal(err)
	}
	url, _, kill := w.serve("127.0.0.1:0")
	address := strings.TrimPrefix(url, "http://")
	page, err := webtest.Enter(t.Context(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url, strings.TrimSpace(string(lasting)))
	if err != nil {
		t.Fatal(err)
	}
	asks := func(method, path string, body any) error {
		res, err := page.Do(t.Context(), method, path, body)
		if err == nil {
			_ = res.Body.Close()
		}
		if err == nil && res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
		return err
	}
	for range rounds {
		if err := asks(http.MethodGet, "/api/me", nil); err != nil {
			t.Fatalf("stet: %v", err)
		}
		kill()
		thief := new(webtest.Impostor)
		end := on(t, address, thief)
		for range 3 {
			for path, body := range map[string]any{"/api/undo": map[string]any{}, "/api/questions": nil} {
				method := http.MethodPost
				if body == nil {
					method = http.MethodGet
				}
				if err := asks(method, path, body); !errors.Is(err, webtest.ErrStranger) {
					t.Fatalf("the impostor: %v", err)
				}
			}
		}
		end()
		_, _, kill = w.serve(address)
		taken, err := thief.Replay(t.Context(), url)
		if err != nil || len(taken) > 0 || len(thief.Seen()) == 0 {
			t.Fatalf("of %d requests were taken: %q, %v", len(thief.Seen()), taken, err)
		}
		for _, s := range thief.Seen() {
			if strings.Contains(string(s.Body), strings.TrimSpace(string(lasting))) || s.Header.Get("Cookie") != "" {
				t.Fatalf("a secret went to the impostor: %+v", s)
			}
		}
	}
}
