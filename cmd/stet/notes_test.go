package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/files/freshness"
)

// agentIn opens an agent in a directory.
func agentIn(t *testing.T, dir string, flags ...string) (h *localagent.Agent, said string) {
	t.Helper()
	var err bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &err, err: &err, env: []string{"HOME=" + t.TempDir()}, dir: dir}
	var f agentFlags
	cmd := &cobra.Command{Use: "run"}
	addAgentFlags(cmd.Flags(), &f)
	if err := cmd.Flags().Parse(append(flags, "--model", "scripted", "--write-without-asking")); err != nil {
		t.Fatal(err)
	}
	h, failed := (&command{program: p, cmd: cmd}).openAgent(t.Context(), f)
	if failed != nil {
		t.Fatal(failed)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, err.String()
}

// The notes of a project are in the prompt before the parts that change: the current AGENTS.md, or else CLAUDE.md, up to a limit.
// (CTX-5)
func TestProjectNotes(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	prompt := func(flags ...string) (string, []freshness.Observation, string) {
		t.Helper()
		h, said := agentIn(t, dir, flags...)
		var shows []freshness.Observation
		for _, v := range h.Agent.Prompt.Variables {
			shows = append(shows, v.Shows...)
		}
		return h.Agent.Prompt.Format(), shows, said
	}
	if text, shows, _ := prompt(); strings.Contains(text, "notes of this project") || len(shows) > 0 {
		t.Fatal(text)
	}
	put("CLAUDE.md", "the second\n")
	if text, _, _ := prompt(); !strings.Contains(text, "<CLAUDE.md>\nWhat the notes of this project say to agents:\n\nthe second\n</CLAUDE.md>") {
		t.Fatal(text)
	}
	put("AGENTS.md", "\xff\xfet\x00h\x00e\x00\n\x00f\x00i\x00r\x00s\x00t\x00\n\x00")
	text, shows, _ := prompt()
	if !strings.Contains(text, "the\nfirst\n</AGENTS.md>") || strings.Contains(text, "the second") || strings.Index(text, "date: ") < strings.Index(text, "first") {
		t.Fatal(text)
	}
	if len(shows) != 1 || shows[0].Path != "AGENTS.md" || shows[0].Version == "" || shows[0].Lines != (freshness.Range{}) {
		t.Fatalf("%+v", shows)
	}
	if text, shows, _ := prompt("--project-notes=false"); strings.Contains(text, "first") || len(shows) > 0 {
		t.Fatal(text)
	}

	// Too long: the prompt has the beginning, and says so. In a small window it has less.
	put("AGENTS.md", strings.Repeat("a line of fifty characters, with its line break.\n\n", 2000))
	text, shows, _ = prompt()
	if n := strings.Count(text, "a line of fifty"); n < 600 || n > 660 || !strings.Contains(text, "[AGENTS.md is long: this is its beginning, to line 1") {
		t.Fatal(n, text[len(text)-300:])
	}
	if len(shows) != 1 || shows[0].Lines.First != 1 || shows[0].Lines.Last < 1200 || shows[0].Lines.Last > 1400 {
		t.Fatalf("%+v", shows)
	}
	if text, _, _ := prompt("--window", "4096"); strings.Count(text, "a line of fifty") > 30 {
		t.Fatal(text)
	}

	// A file that is not text, or outside of the directory, is reported and not used.
	put("AGENTS.md", "\x00\x01\x02")
	if text, _, said := prompt(); strings.Contains(text, "<AGENTS.md>") || !strings.Contains(said, "the agent does not get the text of AGENTS.md: ") {
		t.Fatal(said)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("the secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if text, _, said := prompt(); strings.Contains(text, "secret") || !strings.Contains(said, "AGENTS.md") {
		t.Fatal(text, said)
	}
}

// Notes that a project's rules hide are not used.
func TestProjectNotesHidden(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"AGENTS.md": "the notes\n", ".stet.toml": "[[rule]]\npaths = [\"AGENTS.md\"]\non = \"read\"\ndo = \"deny\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, _ := agentIn(t, dir)
	if text := h.Agent.Prompt.Format(); strings.Contains(text, "the notes") {
		t.Fatal(text)
	}
}

// FILE-13: notes that are a link to a secret are not used.
func TestProjectNotesSecret(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("KEY=hunter2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Skip(err)
	}
	h, _ := agentIn(t, dir)
	if text := h.Agent.Prompt.Format(); strings.Contains(text, "hunter2") {
		t.Fatal(text)
	}
}
