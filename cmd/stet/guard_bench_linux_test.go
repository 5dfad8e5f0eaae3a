package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/freeport"
)

// BenchmarkGuard is the service alone, in a process of its own, and "stet hook" as Codex runs it, twice for each command: before it and after it. The command
// changes one file of a project of 1,000 files, or of the directory STET_TREE, in which it makes the file. It reports the time on the clock and the processor's for
// one hook, the processor's time of the service for one command, and the most memory that the service has had. (GRD-5)
func BenchmarkGuard(b *testing.B) {
	home, dir := b.TempDir(), os.Getenv("STET_TREE")
	if dir == "" {
		dir = b.TempDir()
		for i := range 1000 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), []byte("text"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	stet := filepath.Join(home, "bin", "stet")
	if out, err := exec.Command("go", "build", "-o", stet, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	listen := freeport.Addresses(b, 1)[0]
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config")}
	if err := os.MkdirAll(filepath.Join(home, "config/stet"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config/stet/config.toml"), fmt.Appendf(nil, "listen = %q\n", listen), 0o600); err != nil {
		b.Fatal(err)
	}
	service := exec.Command(stet, "proxy")
	service.Env, service.Dir = env, home
	if err := service.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = service.Process.Kill(); _ = service.Wait() }()
	var clock, processor time.Duration
	hooks := 0
	hook := func(event, call string) {
		b.Helper()
		cmd := exec.Command(stet, "hook", "codex", event)
		cmd.Env, cmd.Dir = env, dir
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":%q,"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":%q}`, dir, call))
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			b.Fatalf("%v: %s", err, out)
		}
		clock, processor, hooks = clock+time.Since(began), processor+cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), hooks+1
	}
	for {
		if c, err := net.Dial("tcp", listen); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	hook("SessionStart", "")
	file := filepath.Join(dir, "stet-bench-changed")
	defer os.Remove(file)
	for n := 0; ; n++ { // the first snapshot is done when a command is recorded as a whole
		hook("PreToolUse", fmt.Sprint("first", n))
		if err := os.WriteFile(file, fmt.Appendln(nil, "first", n), 0o600); err != nil {
			b.Fatal(err)
		}
		hook("PostToolUse", fmt.Sprint("first", n))
		audit := exec.Command(stet, "audit", "--last", "1")
		audit.Env = env
		if out, err := audit.CombinedOutput(); err == nil && strings.Contains(string(out), filepath.Base(file)) {
			break
		}
	}
	first := used(b, service.Process.Pid)
	clock, processor, hooks = 0, 0, 0
	i := 0
	for b.Loop() {
		i++
		hook("PreToolUse", fmt.Sprint(i))
		if err := os.WriteFile(file, fmt.Appendln(nil, i), 0o600); err != nil {
			b.Fatal(err)
		}
		hook("PostToolUse", fmt.Sprint(i))
	}
	b.ReportMetric(float64(clock.Microseconds())/1000/float64(hooks), "ms/hook")
	b.ReportMetric(float64(processor.Microseconds())/1000/float64(hooks), "cpu-ms/hook")
	b.ReportMetric(float64((used(b, service.Process.Pid)-first).Microseconds())/1000/float64(i), "cpu-ms/command")
	b.ReportMetric(first.Seconds(), "cpu-s/first")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", service.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if n, err := strconv.ParseFloat(f[min(1, len(f)-1)], 64); err == nil && (f[0] == "VmHWM:" || f[0] == "VmRSS:") {
			b.ReportMetric(n/1000, "MB-"+map[string]string{"VmHWM:": "most", "VmRSS:": "now"}[f[0]])
		}
	}
}

// used returns the processor's time that a process has had.
func used(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // the kernel counts in hundredths
}
