package main

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
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

var goBlocks = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// The Go of docs/library.md compiles, and its agent does what the page says.
func TestLibraryPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	programs := map[string]string{} // files of the module that are not there, and those that are in their place
	blocks := goBlocks.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of Go: this test knows three", len(blocks))
	}
	for i, block := range blocks {
		code := block[1]
		switch i {
		case 0: // lines with imports
			end := strings.Index(code, "\n)\n") + 3
			code = "package main\n" + code[:end] + "func _(conversation []llm.Message) error {\n" + code[end:] + "_, _ = messages, plan\nreturn nil\n}\n"
		case 2: // lines after those of the program
			code = "package main\nimport (\"context\"; \"github.com/stet-dev/stet/agent\")\nfunc _(ctx context.Context, a *agent.Agent, c *agent.Conversation) error {\n" +
				code + "_ = other\nreturn err\n}\n"
		}
		file := fmt.Sprintf("block%d.go", i)
		write(t, filepath.Join(dir, file), code)
		programs[filepath.Join(root, "page", file)] = filepath.Join(dir, file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": programs})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay"), string(overlay))
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay"), "-o", program, "./page")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	project, state := filepath.Join(dir, "project"), filepath.Join(dir, "state")
	write(t, filepath.Join(project, "greeting.txt"), "hello\n")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, project, state).CombinedOutput()
	if err != nil || string(out) != "The greeting is polite now.\n" {
		t.Errorf("%v: %s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(project, "greeting.txt")); err != nil || string(got) != "good morning\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// The program that "make build" makes is static, as README and docs/install.md say.
func TestStatic(t *testing.T) {
	const program = "../../bin/stet"
	info, err := buildinfo.ReadFile(program)
	if err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"}) {
		t.Skip("it was not made by make build: ", err)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("it needs %v", libraries)
	}
}
