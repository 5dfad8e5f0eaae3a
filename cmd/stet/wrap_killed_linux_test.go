package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/cmd/stet/internal/process"
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

// ways are the flags of wrap for both ways to the proxy.
var ways = []string{"--via=base-url", "--via=connect"}

// SAME-2: kill -9 of the proxy in the middle of an answer: the agent's own retry succeeds, and wrap says what happened.
func TestKilledProxy(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := &killedWrap{}
			model := dying(t, func(request int64) bool {
				if request%2 == 0 {
					return false
				}
				for _, pid := range childrenOf(t, int(w.pid.Load()), "wrapped") {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				return true
			})
			err := w.run(t, way, model.URL)
			if said := w.said(); err != nil || !strings.Contains(said, "answers 5 retries true") || !strings.Contains(said, "stet: the proxy ended by itself and was started again, ") {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

// SAME-2: kill -9 of stet wrap itself: the proxy serves the agent to its end, and then ends too.
func TestKilledWrap(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w, proxy := &killedWrap{}, atomic.Int64{}
			model := dying(t, func(request int64) bool {
				if request == 1 {
					proxy.Store(int64(childrenOf(t, int(w.pid.Load()), "wrapped")[0]))
					_ = syscall.Kill(int(w.pid.Load()), syscall.SIGKILL)
				}
				return false
			})
			_ = w.run(t, way, model.URL) // it was killed
			waitFor(t, func() bool { return strings.Contains(w.said(), "answers 5 retries") })
			waitFor(t, func() bool {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", proxy.Load()))
				return err != nil || strings.Contains(string(stat), ") Z ") // ended, and maybe no one has asked for its exit code
			})
		})
	}
}

// SAME-2: a process that the agent started and that outlives it has its way to the model until it ends, and then the proxy ends too.
func TestProcessOutlivesAgent(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			model, w, dir := dying(t, func(int64) bool { return false }), &killedWrap{}, t.TempDir()
			w.out = filepath.Join(dir, "out")
			out, err := os.Create(w.out)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd := stetCommand(t, out, nil, "wrap", way, "--upstream", model.URL, "--", "sh", "-c", "(while [ ! -e go ]; do sleep 0.01; done; stubborn 5) >answers 2>&1 & exit 3")
			cmd.Dir = dir
			_ = cmd.Run() // its exit code says more
			if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(w.said(), "stet: the proxy stays for what the agent started") {
				t.Errorf("exit code %d: %s", code, w.said())
			}
			write(t, filepath.Join(dir, "go"), "")
			waitFor(t, func() bool {
				answers, _ := os.ReadFile(filepath.Join(dir, "answers"))
				return string(answers) == "answers 5 retries false\n"
			})
			home := slices.IndexFunc(cmd.Env, func(s string) bool { return strings.HasPrefix(s, "HOME="+os.TempDir()) })
			waitFor(t, func() bool { return len(process.Users(cmd.Env[home])) == 0 })
		})
	}
}

// killedWrap is a stet wrap whose agent asks for five answers.
type killedWrap struct {
	pid atomic.Int64
	out string
}

func (w *killedWrap) run(t *testing.T, way, model string) error {
	t.Helper()
	dir := t.TempDir()
	w.out = filepath.Join(dir, "out")
	out, err := os.Create(w.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := stetCommand(t, out, nil, "wrap", way, "--upstream", model, "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; stubborn 5")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.pid.Store(int64(cmd.Process.Pid))
	write(t, filepath.Join(dir, "go"), "")
	return cmd.Wait()
}

func (w *killedWrap) said() string {
	b, _ := os.ReadFile(w.out)
	return string(b)
}
