package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/recordtest"
)

// Doctor reports the schema of the database, and does not change it.
func TestDoctorDatabase(t *testing.T) {
	p := place(t, "STET_UPSTREAM=http://127.0.0.1:9", "PATH=")
	s, err := sqlite.Open(t.Context(), p.trailFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), record.Batch{Requests: []record.Request{recordtest.Full("r", "c", recordtest.Start)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change, says string
		code         int
	}{
		{"", "1 requests, 0 sessions, 0 entries in the audit trail", 0},
		{"PRAGMA user_version = 99", "has schema 99, of another version of stet; this one knows ", 1},
	} {
		db, err := sql.Open("sqlite", p.trailFile())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(test.change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(p.trailFile())
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p.out, p.err = &out, &out
		if code := p.run(t.Context(), []string{"doctor"}); code != test.code || !strings.Contains(out.String(), test.says) {
			t.Errorf("code %d, want %d and %q: %s", code, test.code, test.says, &out)
		}
		if after, err := os.ReadFile(p.trailFile()); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%q: the database was changed (%v)", test.change, err)
		}
	}
}

// Doctor names the tools whose reads have a form that stet does not know, in the newest sessions of agents.
func TestDoctorReads(t *testing.T) {
	p := place(t, "STET_UPSTREAM=http://127.0.0.1:9", "PATH=")
	dir := filepath.Join(p.home(), ".claude", "projects", "garden")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for form, says := range map[string]string{"%6d\tline %d\n": "the form of all reads is known", "line %[2]d as nobody shows it\n": "does not know: Read of Claude Code (1)"} {
		text := ""
		for i := range 40 {
			text += fmt.Sprintf(form, i+1, i)
		}
		session := `{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"look"}}` + "\n" +
			`{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"/garden/a.txt"}}]}}` + "\n" +
			fmt.Sprintf(`{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":%q}]}}`, text) + "\n"
		if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(session), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p.out, p.err = &out, &out
		if p.run(t.Context(), []string{"doctor"}); !strings.Contains(out.String(), says) {
			t.Errorf("%q is missing: %s", says, &out)
		}
	}
}

// Doctor lists rules that match no file, and rules that the file tools refuse.
func TestDoctorRules(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	p := &program{env: []string{"HOME=" + home, "STET_UPSTREAM=http://127.0.0.1:9", "PATH="}, dir: dir}
	for _, name := range []string{"secrets/a.txt", "app/[slug]/page.tsx", "docs/x.md"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for rules, want := range map[string]string{
		"": "", "[[rule]]\npaths = [\"secrets\", \"app/[slug]/**\"]\ndo = \"deny\"\n": "each path in the rules matches a file",
		"[[rule]]\npaths = [\"secrets\", \"secrts\"]\ndo = \"deny\"\n": `matches "secrts" of the project's rule 1 (deny)`,
		"[[rule]]\npaths = [\"/etc\"]\ndo = \"deny\"\n":                "is not below the workspace",
		"[[rule]]\ntools = [\"raed_file\"]\ndo = \"deny\"\n":           "no tool has the name",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".stet.toml"), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p.out, p.err = &out, &out
		code := p.run(t.Context(), []string{"doctor"})
		if found := strings.Contains(out.String(), " rules "); found != (want != "") || !strings.Contains(out.String(), want) || (code == 1) != (strings.Contains(want, "below") || strings.Contains(want, "tool")) {
			t.Errorf("%s: %d: %s", rules, code, &out)
		}
	}
}

// npm's launcher does not count as another stet, in either of npm's layouts. A launcher of another installation does.
func TestNPMLauncher(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	launcher := file("lib/@stet-dev/stet/bin/stet.js")
	link := filepath.Join(dir, "stet")
	if err := os.Symlink(launcher, link); err != nil {
		t.Skip(err)
	}
	for program, want := range map[string]bool{
		file("lib/@stet-dev/stet-linux-x64/bin/stet"):                             true,
		file("lib/@stet-dev/stet/node_modules/@stet-dev/stet-linux-x64/bin/stet"): true,
		file("other/@stet-dev/stet-linux-x64/bin/stet"):                           false,
		file("bin/stet"): false,
	} {
		if got := npmLauncher(link, program); got != want {
			t.Errorf("%s: %t", program, got)
		}
	}
	if npmLauncher(file("usr/bin/stet"), launcher) {
		t.Error("a program is a launcher")
	}
}
