package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/policy"
)

// The keys that history's rules have reach it. (TRIM-5, TRIM-13, TRIM-15)
func TestHistoryKeys(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".config", "stet", "config.toml"), "keep-shell = 2\nby-size = true\nby-content = true\nkeep = 0\n")
	p := &program{env: []string{"HOME=" + home}, dir: home}
	o, err := p.options(p.wrapCommand())
	if err != nil {
		t.Fatal(err)
	}
	if c := o.history(home); c.KeepShell != 2 || !c.BySize || !c.ByContent || c.KeepReads != -1 {
		t.Errorf("%+v", c)
	}
}

// TRIM-7: the workspace's root is said by a flag, a variable or a file, in this order;
// what knows its own goes by that.
func TestProjectRoot(t *testing.T) {
	home := t.TempDir()
	p := &program{env: []string{"HOME=" + home}, dir: home}
	root := func(want string, args ...string) {
		t.Helper()
		cmd := p.proxyCommand()
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		o, err := p.options(cmd)
		if err != nil || o.history("").Root != want || o.history("/own").Root != "/own" {
			t.Errorf("%v: %+v, want %q", err, o, want)
		}
	}
	root("")
	write(t, filepath.Join(home, ".config", "stet", "config.toml"), "project-root = \"/of/file\"\n")
	root("/of/file")
	p.env = append(p.env, `STET_PROJECT_ROOT=C:\of\variable`)
	root(`C:\of\variable`)
	root("/of/flag", "--project-root", "/of/flag")
	cmd := p.proxyCommand()
	_ = cmd.ParseFlags([]string{"--project-root", "src"})
	if _, err := p.options(cmd); err == nil || !strings.Contains(err.Error(), `project-root is an absolute path, not "src"`) {
		t.Errorf("%v", err)
	}
}

// A project's rules restrict and do no more; the user's say what they like.
func TestRules(t *testing.T) {
	home := t.TempDir()
	tree := filepath.Join(home, "tree")
	write(t, filepath.Join(home, ".config", "stet", "config.toml"),
		"unread = \"deny\"\nsuspicion = \"suspend\"\nrate = 0\n[[rule]]\npaths = [\"docs/**\"]\ndo = \"allow\"\n")
	write(t, filepath.Join(tree, ".stet.toml"), "[[rule]]\npaths = [\"docs/secret/**\"]\ndo = \"deny\"\n")
	p := &program{env: []string{"HOME=" + home}, dir: home}
	o, err := p.handOptions(p.mcpCommand(), tree)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]policy.Action{"docs/a": policy.Allow, "docs/secret/a": policy.Deny, "a": policy.Ask} {
		if d := o.policy.Decide(policy.Request{Tool: "write_file", Path: path, Write: true}); d.Action != want {
			t.Errorf("%s: %v, want %v", path, d.Action, want)
		}
	}
	if !o.policy.Hides("docs/secret/a") || o.policy.Unread != policy.Deny || o.suspicion.Do != policy.Suspend || o.rate != -1 {
		t.Errorf("%+v", o)
	}
	for text, want := range map[string]string{
		"[[rule]]\ndo = \"allow\"\n":               "a project may deny or ask, and allow nothing",
		"[[rule]]\npaths = [\"a\"]\n":              "does not say what to do",
		"[[rule]]\ndo = \"maybe\"\n":               `unknown action "maybe"`,
		"[[rule]]\npath = [\"a\"]\ndo = \"ask\"\n": `unknown key "rule.path"`,
		"elicitation = \"none\"\n":                 `a project may not set "elicitation"`,
		"rate = 5\n":                               `a project may not set "rate"`,
	} {
		write(t, filepath.Join(tree, ".stet.toml"), text)
		if _, err := p.handOptions(p.mcpCommand(), tree); err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("%q: %v", text, err)
		}
	}
}
