package hazards

import (
	"os"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
)

var (
	repository = []string{
		".git/config", ".git/hooks/pre-commit", ".GIT/config", ".Git/HOOKS/x", "sub/.git/config", ".git/new", ".gi\u200ct/config",
	}
	control = []string{
		".vscode/tasks.json", ".VSCode/settings.json", ".envrc", ".ENVRC", "sub/.envrc", ".mcp.json", ".bashrc", ".zshrc", ".github/workflows/ci.yml",
		".gitlab-ci.yml", ".gitmodules", ".gitattributes", ".husky/pre-commit", ".devcontainer/devcontainer.json", ".stet.toml",
	}
)

// Row: files that make programs run: .git is refused. The others are refused too if no person can be asked. They are recognised
// by name, in any case.
func TestControlFilesUnattended(t *testing.T) {
	w := newWorld(t)
	w.put(".git/config", "[core]\n")
	w.put(".git/hooks/pre-commit", "#!/bin/sh\n")
	a := w.agent()
	for _, name := range append(repository, control...) {
		a.fails("permission_denied", "write_file", args{"path": name, "content": "x", "create_dirs": true})
		if _, err := os.Lstat(w.abs(name)); err == nil && !strings.HasPrefix(name, ".git/") {
			t.Errorf("%q is there", name)
		}
	}
	a.works("read_file", args{"path": ".git/config"})
	a.fails("permission_denied", "edit_file", args{"path": ".git/config", "edits": edits("core", "alias")})
	if w.get(".git/config") != "[core]\n" || w.get(".git/hooks/pre-commit") != "#!/bin/sh\n" {
		t.Error("written")
	}
}

// Row: a bare repository in the tree: files beside a HEAD that git obeys, at any depth.
func TestBareRepositoryUnattended(t *testing.T) {
	w := newWorld(t)
	w.put("deep/er/store/HEAD", "ref: refs/heads/main\n")
	w.put("deep/er/store/config", "[core]\n")
	w.put("plain/config", "x\n")
	a := w.agent()
	for _, name := range []string{"config", "config.worktree", "commondir", "hooks/pre-commit", "info/attributes", "HEAD"} {
		a.fails("permission_denied", "write_file", args{"path": "deep/er/store/" + name, "content": "x", "create_dirs": true})
	}
	w.missing("deep/er/store/hooks")
	if w.get("deep/er/store/config") != "[core]\n" {
		t.Error("written")
	}
	a.works("read_file", args{"path": "plain/config"})
	a.works("write_file", args{"path": "plain/config", "content": "y\n"})
}

// Row: the same files by inode: links and hard links to them are recognised too.
func TestControlFilesByInode(t *testing.T) {
	w := newWorld(t)
	w.put(".git/config", "[core]\n")
	w.put(".git/hooks/pre-commit", "#!/bin/sh\n")
	w.put(".envrc", "one\n")
	w.link(".git", "repo")
	w.link(".git/config", "settings")
	w.link(".envrc", "env")
	w.link(".git/hooks/post-commit", "dangling")
	for to, name := range map[string]string{".git/config": "hard", ".envrc": "hardenv"} {
		if err := os.Link(w.abs(to), w.abs(name)); err != nil {
			t.Fatal(err)
		}
	}
	a := w.agent()
	for _, name := range []string{"repo/config", "repo/hooks/new", "settings", "env", "hard", "hardenv", "dangling"} {
		a.do("read_file", args{"path": name})
		a.fails("permission_denied", "write_file", args{"path": name, "content": "x"})
	}
	if w.get(".git/config") != "[core]\n" || w.get(".envrc") != "one\n" {
		t.Error("written")
	}
	w.missing(".git/hooks/new")
	w.missing(".git/hooks/post-commit")
}

// Row: these files are always asked about: a rule "always allow" does not cover them.
func TestControlFilesAsked(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	w.config = "[[rule]]\ntools = [\"*\"]\npaths = [\"**\"]\ndo = \"allow\"\n"
	a, c := w.agent(), w.person()
	a.works("write_file", args{"path": "plain", "content": "x\n"}) // the rule works
	for range 2 {
		r := a.do("write_file", args{"path": ".envrc", "content": "x\n"})
		q := question(t, c)
		if q.Grantable || q.Relay {
			t.Errorf("%+v", q)
		}
		for _, v := range []approval.Verdict{approval.ForSession, approval.ForPattern} {
			if err := c.Answer(t.Context(), q.ID, approval.Answer{Verdict: v, Seal: q.Seal, Pattern: "**"}); err == nil {
				t.Errorf("%s is taken", v)
				return
			}
		}
		answer(t, c, q, approval.Reject)
		if r = a.await(r); r.code() != "user_rejected" {
			t.Errorf("%s", r.raw)
		}
	}
	w.missing(".envrc")
	a.fails("permission_denied", "write_file", args{"path": ".git/config", "content": "x", "create_dirs": true})
}

// Row: files that a build runs, or that agents obey: a grant for the session or for a pattern does not cover them, and one
// approval is for one write.
func TestBuildFilesAndInstructionsAsked(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	a, c := w.agent(), w.person()
	for i, v := range []approval.Verdict{approval.ForSession, approval.ForPattern} {
		r := a.do("write_file", args{"path": []string{"plain", "other"}[i], "content": "x\n"})
		if r.Pending == "" {
			break // the first grant covers the second file
		}
		q := question(t, c)
		if err := c.Answer(t.Context(), q.ID, approval.Answer{Verdict: v, Seal: q.Seal, Pattern: "**", By: "test"}); err != nil {
			t.Fatal(err)
		}
		a.await(r)
	}
	a.works("write_file", args{"path": "granted", "content": "x\n"})
	for _, name := range []string{"Makefile", "package.json", "AGENTS.md", "CLAUDE.md", "GNUMAKEFILE"} {
		r := a.do("write_file", args{"path": name, "content": "x\n"})
		q := question(t, c)
		if q.Path != name || q.Grantable || q.Relay || len(q.Warnings) == 0 {
			t.Errorf("%+v", q)
		}
		answer(t, c, q, approval.Approve)
		if r = a.await(r); !r.ok() || w.get(name) != "x\n" {
			t.Errorf("%s", r.raw)
		}
	}
	r := a.do("edit_file", args{"path": "Makefile", "edits": edits("x", "y")})
	answer(t, c, question(t, c), approval.Reject)
	if r = a.await(r); r.code() != "user_rejected" || w.get("Makefile") != "x\n" {
		t.Errorf("%s", r.raw)
	}
}
