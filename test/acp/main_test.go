package acp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/npm"
	"github.com/stet-dev/stet/test/strictmodel"
)

var built string // the directory of the binary; empty: none was built

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// stet builds the binary, once.
var stet = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stet-acp-")
	if err != nil {
		return "", err
	}
	built = dir
	name := filepath.Join(dir, "stet")
	out, err := exec.Command("go", "build", "-o", name, "github.com/stet-dev/stet/cmd/stet").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build stet: %w: %s", err, out)
	}
	return name, nil
})

// place is a workspace with a home of its own.
type place struct {
	t         *testing.T
	dir, home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	if _, err := stet(); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return place{t, dir, t.TempDir()}
}

// env returns the environment that an editor gives to the agent.
func (p place) env(more ...string) []string {
	return append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}, more...)
}

func (p place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// command runs another stet command with the same home.
func (p place) command(args ...string) string {
	p.t.Helper()
	name, err := stet()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Env, cmd.Dir = p.env(), p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("stet %v: %v: %s", args, err, out)
	}
	return string(out)
}

// model starts a scripted model that reads a.txt, changes it twice, and then answers.
func model(t *testing.T, wrap func(llmtest.Config) llmtest.Config) *llmtest.Server {
	t.Helper()
	c := llmtest.Config{Script: llmtest.Script{Turns: []llmtest.Turn{
		{Thinking: "A look first.", Text: "I read it. ", Do: []llmtest.Action{llmtest.Read("a.txt")}},
		{Text: "I change it. ", Do: []llmtest.Action{llmtest.Call("edit_file", `{"path":"a.txt","edits":[{"old_text":"two","new_text":"TWO"}]}`)}},
		{Text: "And again. ", Do: []llmtest.Action{llmtest.Call("edit_file", `{"path":"a.txt","edits":[{"old_text":"three","new_text":"THREE"}]}`)}},
		{Text: "That is all."},
		{Text: "Once more. ", Do: []llmtest.Action{llmtest.Read("a.txt")}},
		{Text: "Still the same."},
	}}}
	if wrap != nil {
		c = wrap(c)
	}
	s, err := strictmodel.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// packages are the SDKs and programs from npm.
var packages = &npm.Set{From: "npm", Name: "acp"}
