package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var shBlocks = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// TestDocs runs the blocks of README and docs that are marked sh. Each runs in a new project, after stet's own agent has written a
// file in another directory, with agents that end at once.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages := []string{"../../README.md"}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shBlocks.FindAllStringSubmatch(string(text), -1) {
			ran++
			runBlock(t, page, block[1])
		}
	}
	if ran < 6 {
		t.Errorf("only %d blocks were run", ran)
	}
}

func runBlock(t *testing.T, page, block string) {
	home := t.TempDir()
	project, bin := filepath.Join(home, "project"), filepath.Join(home, "bin")
	session, err := os.ReadFile("../../trim/transcript/testdata/golden/codex.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{project, bin, filepath.Join(home, ".codex/sessions")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, recorded, _ := strings.Cut(string(session), ".jsonl --\n")
	recorded, _, _ = strings.Cut(recorded, "\n-- ")
	write(t, filepath.Join(home, ".codex/sessions/rollout-2026-01-01T00-00-00.jsonl"), recorded)
	for _, agent := range []string{"claude", "codex", "opencode", "cn", "qwen", "gemini"} {
		write(t, filepath.Join(bin, agent), "#!/bin/sh\nexit 0\n")
		if err := os.Chmod(filepath.Join(bin, agent), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{`mkdir -p ../other; stet run --root ../other --model scripted --write-without-asking hello`, block} {
		cmd := exec.CommandContext(t.Context(), "sh", "-eu")
		cmd.Dir, cmd.Stdin = project, strings.NewReader(script)
		cmd.WaitDelay = time.Second
		cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
			"XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "CODEX_HOME=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", page, err, script, out)
		}
	}
}
