package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// commandJob is work that stet and another program do, each as a new process or with a running server.
type commandJob struct {
	name  string
	goal  string
	times int
	other string // the other program
	need  string // the program that must be installed
	stet  func() error
	peer  func() *exec.Cmd
}

// commands compares whole commands with the usual programs for the same work.
func commands(stet, dir string) error {
	tree := filepath.Join(dir, "sources")
	fmt.Fprintln(os.Stderr, "bench: copying the sources of Go nine times")
	if err := copySources(tree, 9); err != nil {
		return err
	}
	env := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	cmd := exec.Command(stet, "mcp", "--root", tree, "--rate", "0")
	cmd.Env = env
	server, err := start(cmd)
	if err != nil {
		return err
	}
	defer server.stop()
	in := func(program string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.Command(program, args...)
			cmd.Dir = tree
			return cmd
		}
	}
	search := func(pattern string) func() error {
		return func() error {
			_, err := server.call(call{"search_text", map[string]any{"pattern": pattern, "regexp": true}})
			return err
		}
	}
	run := func(args ...string) func() error {
		return func() error {
			cmd := exec.Command(stet, args...)
			cmd.Env = env
			return cmd.Run()
		}
	}
	const word, pattern = "NewReplacerContext", `[A-Z]\w+_SUSPEND_[0-9]+\(`
	jobs := []commandJob{
		{"search_text for a word, 100,000 files", "≤ 1.5", 5, "ripgrep, one thread", "rg", search(word), in("rg", "-j1", "--hidden", word, ".")},
		{"search_text for a pattern, 100,000 files", "≤ 1.5", 5, "ripgrep, one thread", "rg", search(pattern), in("rg", "-j1", "--hidden", pattern, ".")},
		{"find_files, 100,000 files", "≤ 1", 7, "fd", "fdfind", func() error {
			_, err := server.call(call{"find_files", map[string]any{"pattern": "**/*context*.go"}})
			return err
		}, in("fdfind", "--hidden", "--glob", "*context*.go")},
		{"stet --version", "≤ 15 ms", 15, "rg --version", "rg", run("--version"), in("rg", "--version")},
	}
	if *sessionsPath != "" {
		home, size, err := claudeSessions(*sessionsPath, filepath.Join(dir, "claude"))
		if err != nil {
			return err
		}
		jobs = append(jobs, commandJob{
			fmt.Sprintf("stet savings, %d MB of Claude Code's sessions", size>>20), fmt.Sprintf("≤ %d ms", size/20_000), 3, "ccusage, which sums and replays nothing", filepath.Join(*peersDir, "npm/node_modules/.bin/ccusage"),
			run("savings", home), func() *exec.Cmd {
				cmd := exec.Command(filepath.Join(*peersDir, "npm/node_modules/.bin/ccusage"), "session", "--offline")
				cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+home)
				return cmd
			},
		})
	}
	for _, j := range jobs {
		if !measured(j.name) {
			continue
		}
		if err := j.measure(); err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
	}
	_, own, most := server.memory()
	line{"most memory of stet mcp after these", fmt.Sprintf("%.0f MB", most), "", fmt.Sprintf("%.0f MB of it are its own, the rest pages of its file", own), "", "≤ 40 MB"}.print()
	return nil
}

// measure measures both programs in turn, after one round that only fills the caches of the system.
func (j commandJob) measure() error {
	if _, err := exec.LookPath(j.need); err != nil {
		line{j.name, "", "not installed", j.other, "", j.goal}.print()
		return nil
	}
	var took [2][]time.Duration
	for n := range 1 + j.times**rounds {
		for i, work := range []func() error{j.stet, func() error {
			err := j.peer().Run()
			if e, ok := err.(*exec.ExitError); ok && e.ExitCode() == 1 && j.need == "rg" {
				return nil // the search found nothing
			}
			return err
		}} {
			began := time.Now()
			if err := work(); err != nil {
				return err
			}
			if n > 0 {
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	line{j.name, shown(took[0]), shown(took[1]), j.other, ratio(took), j.goal}.print()
	return nil
}

// copySources copies the sources of the standard library so many times, about 11,000 files each time.
func copySources(tree string, times int) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	for i := range times {
		if err := os.CopyFS(filepath.Join(tree, fmt.Sprint("copy", i)), os.DirFS(filepath.Join(strings.TrimSpace(string(root)), "src"))); err != nil {
			return err
		}
	}
	return nil
}

// claudeSessions copies sessions of Claude Code into the directories that Claude Code uses, and returns their bytes.
func claudeSessions(from, home string) (string, int64, error) {
	var size int64
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") || !strings.Contains(path, "claude-code") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		size += int64(len(data))
		project := filepath.Join(home, "projects", strings.TrimSuffix(filepath.Base(path), ".jsonl"))
		if err := os.MkdirAll(project, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(project, filepath.Base(path)), data, 0o600)
	})
	return home, size, err
}
