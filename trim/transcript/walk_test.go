package transcript

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"testing"
)

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b/rollout.jsonl"), codexHead+"\n"+codexUser)
	write(t, filepath.Join(dir, "a/empty.jsonl"), codexHead)
	write(t, filepath.Join(dir, "a/README.md"), "# Sessions")
	write(t, filepath.Join(dir, "a/.hidden.json"), codexUser)
	write(t, filepath.Join(dir, "a/LICENSE"), "As is.")
	write(t, filepath.Join(dir, "a/main.py"), "print()")
	write(t, filepath.Join(dir, "a/settings.json"), `{"theme":"dark"}`)
	write(t, filepath.Join(dir, ".git/rollout.jsonl"), codexHead+"\n"+codexUser)
	write(t, filepath.Join(dir, "oc/storage/session/p/ses_1.json"), `{"id":"ses_1","directory":"/p"}`)
	write(t, filepath.Join(dir, "oc/storage/session/p/ses_2.json"), `{"id":"ses_2","directory":"/p"}`)
	write(t, filepath.Join(dir, "oc/storage/message/ses_1/msg_1.json"), `{"id":"msg_1","role":"user"}`)
	write(t, filepath.Join(dir, "oc/storage/message/ses_2/msg_2.json"), `{"id":"msg_2","role":"user"}`)
	write(t, filepath.Join(dir, "oc/storage/part/msg_1/prt_1.json"), `{"type":"text","text":"one"}`)
	write(t, filepath.Join(dir, "oc/storage/part/msg_2/prt_2.json"), `{"type":"text","text":"two"}`)

	var got []string
	visit := func(path string, sessions []*Session, err error) error {
		rel, _ := filepath.Rel(dir, path)
		line := filepath.ToSlash(rel)
		switch {
		case errors.Is(err, ErrFormat):
			line += ": skipped"
		case errors.Is(err, ErrEmpty):
			line += ": empty"
		case err != nil:
			line += ": error"
		}
		for _, s := range sessions {
			line += " " + s.ID
		}
		got = append(got, line)
		return nil
	}
	// A file with two names is read once.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	paths := []string{dir, filepath.Join(dir, "gone"), filepath.Join(link, "b/rollout.jsonl"), filepath.Join(dir, "oc"), link}
	if err := (Opener{}).Walk(paths, visit); err != nil {
		t.Fatal(err)
	}
	sort.Strings(got)
	want := []string{
		"a/empty.jsonl: empty",
		"a/settings.json: skipped",
		"b/rollout.jsonl s",
		"gone: error",
		"oc/storage/session/p/ses_1.json ses_1",
		"oc/storage/session/p/ses_2.json ses_2",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	// An error of fn ends the walk.
	stop := errors.New("stop")
	n := 0
	err := Opener{}.Walk([]string{dir}, func(string, []*Session, error) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
	err = Opener{}.Walk([]string{filepath.Join(dir, "oc")}, func(string, []*Session, error) error { return fs.SkipAll })
	if err != nil && !errors.Is(err, fs.SkipAll) {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	none := func(string) string { return "" }
	if got := Find(home, none); len(got) != 0 {
		t.Errorf("in an empty home: %v", got)
	}
	for _, p := range []string{
		".claude/projects/-home-me/s.jsonl",
		".codex/sessions/2026/01/02/rollout.jsonl",
		".local/share/opencode/opencode.db",
		".local/share/opencode/storage/session/p/ses_1.json",
		".pi/agent/sessions/x/s.jsonl",
		".copilot/session-state/x/events.jsonl",
		".gemini/tmp/abc/chats/session.json",
		".gemini/tmp/abc/logs.json",
		".qwen/projects/x/chats/s.jsonl",
		".cline/data/sessions/x/x.messages.json",
		".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
	} {
		write(t, filepath.Join(home, p), "")
	}
	want := map[string]string{
		".claude/projects":                  "claude-code",
		".codex/sessions":                   "codex",
		".local/share/opencode/opencode.db": "opencode",
		".local/share/opencode/storage":     "opencode",
		".pi/agent/sessions":                "pi",
		".copilot/session-state":            "copilot-cli",
		".gemini/tmp/abc/chats":             "gemini-cli",
		".qwen/projects":                    "qwen",
		".cline/data/sessions":              "cline",
		".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks": "cline",
	}
	if got := found(t, home, Find(home, none)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	// Without a home directory, only directories in environment variables are searched. Nothing is searched below the
	// working directory.
	t.Chdir(home)
	if got := Find("", none); len(got) != 0 {
		t.Errorf("without a home: %v", got)
	}

	// Environment variables name other directories.
	other := t.TempDir()
	write(t, filepath.Join(other, "c/projects/x/s.jsonl"), "")
	write(t, filepath.Join(other, "x/sessions/s.jsonl"), "")
	write(t, filepath.Join(other, "d/opencode/storage/session/p/ses_1.json"), "")
	env := map[string]string{
		"CLAUDE_CONFIG_DIR": filepath.Join(other, "c"),
		"CODEX_HOME":        filepath.Join(other, "x"),
		"XDG_DATA_HOME":     filepath.Join(other, "d"),
	}
	got := found(t, other, Find(t.TempDir(), func(k string) string { return env[k] }))
	want = map[string]string{"c/projects": "claude-code", "x/sessions": "codex", "d/opencode/storage": "opencode"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func found(t *testing.T, dir string, sources []Source) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, s := range sources {
		rel, err := filepath.Rel(dir, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		m[filepath.ToSlash(rel)] = s.Agent
	}
	return m
}
