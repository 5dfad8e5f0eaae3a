package toolset

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/files/workspace"
)

// FILE-13: the agents' own configuration runs programs, so a person is always asked about a write to it, in any letter case.
func TestAgentFilesAreControl(t *testing.T) {
	root, err := OpenWorkspace(t.TempDir(), t.TempDir(), Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]workspace.Class{
		".claude/settings.json": workspace.Control, ".Claude/agents/a.md": workspace.Control, "sub/.mcp.json": workspace.Control,
		".codex/config.toml": workspace.Control, "opencode.json": workspace.Control, ".opencode/plugin/x.ts": workspace.Control,
		".gemini/settings.json": workspace.Control, ".continue/config.yaml": workspace.Control, ".cursor/mcp.json": workspace.Control,
		".vscode/mcp.json": workspace.Control, ".zed/settings.json": workspace.Control, ".config/stet/config.toml": workspace.Control,
		"crush.json": workspace.Control, ".crush.json": workspace.Control, ".claude-plugin/plugin.json": workspace.Control,
		".pi/extensions/x.ts": workspace.Control, ".amp/settings.json": workspace.Control, ".opencode.json": workspace.Control, ".continuerc.json": workspace.Control,
		".vibe/config.toml": workspace.Control, ".rovodev/config.yml": workspace.Control, "sub/.codebuddy/x": workspace.Control, ".warp/x.yaml": workspace.Control,
		".tabnine/agent/settings.json": workspace.Control, ".newagent/hooks.json": workspace.Control, ".newagentrc": workspace.Control,
		".stet.toml": workspace.Control, "b/HEAD": workspace.Control,
		"main.go": workspace.Ordinary, "AGENTS.md": workspace.Ordinary, "config/app.yaml": workspace.Ordinary, "docs/claude.txt": workspace.Ordinary,
	} {
		p, err := root.Path(name)
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := root.Inspect(p); info.Class != want {
			t.Errorf("%s is %v, want %v", name, info.Class, want)
		}
	}
}

// FILE-8, FILE-9, FILE-15: the configured limits act in the workspace.
func TestLimits(t *testing.T) {
	l := LimitsOf(&config.Config{ReadLimit: 2, WriteLimit: 1, PartsLimit: 3, KeptMegabytes: 1, KeptDays: 2})
	if l.KeepAge != 48*time.Hour || l.KeepBytes != 1<<20 {
		t.Errorf("%+v", l)
	}
	dir := t.TempDir()
	root, err := OpenWorkspace(dir, t.TempDir(), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if root.WriteLimit() != 1<<20 || root.PartsLimit() != 3<<20 {
		t.Error(root.WriteLimit(), root.PartsLimit())
	}
	for name, size := range map[string]int64{"large": 2<<20 + 1, "small": 2 << 20} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
		p, err := root.Path(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := root.ReadAll(t.Context(), p); errors.Is(err, workspace.ErrTooLarge) != (name == "large") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
