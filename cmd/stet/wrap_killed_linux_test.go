package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// childrenOf returns the processes whose parent is pid.
func childrenOf(t *testing.T, pid int, named string) (found []int) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		stat, _ := os.ReadFile(name) // it may have ended
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) && bytes.Contains(command, []byte(named)) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			found = append(found, child)
		}
	}
	return found
}

// dying is a model that calls die in the middle of the answers that it says, and then waits until the client is gone.
func dying(t *testing.T, die func(request int64) bool) *httptest.Server {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		if die(asked.Add(1)) {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// SAME-2: kill -9 of the proxy in the middle of an answer: the agent's own retry succeeds, and wrap says what happened.
func TestKilledProxy(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var wrapper atomic.Int64
	model := dying(t, func(request int64) bool {
		if request%2 == 0 {
			return false
		}
		for _, pid := range childrenOf(t, int(wrapper.Load()), "wrapped") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return true
	})
	cmd := stetCommand(t, out, nil, "wrap", "--upstream", model.URL, "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; stubborn 5")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wrapper.Store(int64(cmd.Process.Pid))
	write(t, filepath.Join(cmd.Dir, "go"), "")
	err = cmd.Wait()
	said, _ := os.ReadFile(out.Name())
	if err != nil || !strings.Contains(string(said), "answers 5 retries true") || !strings.Contains(string(said), "stet: the proxy ended by itself and was started again, 5 times") {
		t.Errorf("%v: %s", err, said)
	}
}

// SAME-2: kill -9 of stet wrap itself: the proxy serves the agent to its end, and then ends too.
func TestKilledWrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var wrapper, proxy atomic.Int64
	model := dying(t, func(request int64) bool {
		if request == 1 {
			proxy.Store(int64(childrenOf(t, int(wrapper.Load()), "wrapped")[0]))
			_ = syscall.Kill(int(wrapper.Load()), syscall.SIGKILL)
		}
		return false
	})
	cmd := stetCommand(t, out, nil, "wrap", "--upstream", model.URL, "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; stubborn 5")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wrapper.Store(int64(cmd.Process.Pid))
	write(t, filepath.Join(dir, "go"), "")
	_ = cmd.Wait() // it was killed
	waitFor(t, func() bool {
		said, _ := os.ReadFile(out.Name())
		return strings.Contains(string(said), "answers 5 retries false")
	})
	waitFor(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", proxy.Load()))
		return err != nil || strings.Contains(string(stat), ") Z ") // ended, and maybe no one has asked for its exit code
	})
}
