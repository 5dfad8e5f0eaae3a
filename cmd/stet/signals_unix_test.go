//go:build unix

package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/process"
)

// endless is a model whose answer does not end. started is closed at its first request, gone when the request ends.
func endless(t *testing.T) (url string, started, gone chan struct{}) {
	started, gone = make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(started)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(s.Close)
	return s.URL, started, gone
}

// stetCommand returns a stet with an empty home that writes to out.
func stetCommand(t *testing.T, out *os.File, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("stet", args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = out, out
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil { // the test failed early
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// A signal while wrap closes cuts off the requests that the agent left behind. The exit code and the summary are correct, and the
// copy of the configuration with its key was already removed.
func TestSignalWhileClosing(t *testing.T) {
	t.Parallel()
	model, started, gone := endless(t)
	place := t.TempDir()
	tmp := filepath.Join(place, "tmp")
	write(t, filepath.Join(tmp, "x"), "")
	write(t, filepath.Join(place, "config.yaml"), "models:\n  - provider: openai\n    apiBase: "+model+"/v1\n    apiKey: secret\n")
	write(t, filepath.Join(place, "cn"), "#!/bin/sh\nls \"$TMPDIR\" > seen\nenv -i \"$(command -v ask)\" \"$OPENAI_BASE_URL\" &\nwhile [ ! -e go ]; do sleep 0.01; done\nexit 5\n")
	if err := os.Chmod(filepath.Join(place, "cn"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(place, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := stetCommand(t, out, []string{"TMPDIR=" + tmp}, "wrap", "--", "./cn", "--config", "config.yaml")
	cmd.Dir = place
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-started
	write(t, filepath.Join(place, "go"), "")
	waitFor(t, func() bool { // the agent has ended, its request has not
		copies, _ := filepath.Glob(filepath.Join(tmp, "stet-wrap-*"))
		return len(copies) == 0
	})
	select {
	case <-gone:
		t.Error("the copy was there as long as the requests")
	default:
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	said, err := os.ReadFile(out.Name())
	if code := cmd.ProcessState.ExitCode(); err != nil || code != 5 || !strings.Contains(string(said), "stet: nothing to save: 1 request") {
		t.Errorf("code %d, %v: %s", code, err, said)
	}
	if seen, err := os.ReadFile(filepath.Join(place, "seen")); err != nil || !strings.Contains(string(seen), "stet-wrap-") {
		t.Errorf("there was no copy: %v: %s", err, seen)
	}
}

// The second signal cuts off running requests, and they are reported.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	model, started, _ := endless(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := stetCommand(t, out, nil, "proxy", "--listen", "127.0.0.1:0", "--upstream", model)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		b, _ := os.ReadFile(out.Name())
		return string(b)
	}
	waitFor(t, func() bool { return strings.Contains(said(), "responses to") })
	_, rest, _ := strings.Cut(said(), "listening on http://")
	address, _, _ := strings.Cut(rest, " ")
	client := exec.Command("ask", "http://"+address+"/v1")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { // after the first signal it no longer accepts connections
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said(), "stet: nothing to save: 1 request") {
		t.Errorf("%v: %s", err, said())
	}
	_ = client.Wait()
}

// Signals that were ignored when stet started stay ignored: nohup.
func TestIgnoredSignals(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer func() {
		signal.Reset(syscall.SIGHUP)
		hear()
	}()
	for _, signals := range [][]os.Signal{process.EndSignals, process.Forwarded} {
		c := process.Notify(signals)
		for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
		}
		if s := <-c; s != syscall.SIGTERM {
			t.Errorf("%v came through", s)
		}
		signal.Stop(c)
	}
	defer signal.Stop(process.Notify([]os.Signal{syscall.SIGHUP}))
	if !signal.Ignored(syscall.SIGHUP) {
		t.Error("without signals to relay, all signals are relayed")
	}
}

// Work that a signal ends has the exit code that a shell uses.
func TestInterrupted(t *testing.T) {
	c := make(chan os.Signal, 2)
	ctx, stop := process.UntilSignal(context.Background(), c)
	defer stop()
	c <- syscall.SIGWINCH
	c <- syscall.SIGINT
	<-ctx.Done()
	if code := exitCode(context.Cause(ctx)); code != 130 {
		t.Errorf("code %d", code)
	}
	c <- syscall.SIGTERM
	c <- syscall.SIGHUP // both came before the child began
	if _, err := process.Run(context.Background(), exec.Command("/bin/sh", "-c", "exit 9"), c, nil); exitCode(err) != 143 {
		t.Error(err)
	}
}

// waitFor waits until so returns true.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for range 12_000 { // a minute
		if so() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the condition did not become true")
}
