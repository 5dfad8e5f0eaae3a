package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/policy"
)

// A path below the workspace may be written as an absolute one, in any spelling. What can match nothing in it is refused, with the
// right spelling.
func TestRulePaths(t *testing.T) {
	home := t.TempDir()
	root, link := filepath.Join(home, "p"), filepath.Join(home, "link")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	for name, to := range map[string]string{filepath.Join(home, "inner"): filepath.Join(root, "sub"), filepath.Join(root, "lnk"): "sub", filepath.Join(root, "out"): home} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	rules := func(do, pattern string) (*Config, error) {
		p := newPlace(t, fmt.Sprintf("[[rule]]\npaths = ['%s']\ndo = %q\n", pattern, do))
		p.Workspace, p.Home = root, home
		return Load(p.Source)
	}
	inProject := func(do, pattern string) error {
		p := newPlace(t, "")
		p.Dir, p.Workspace, p.Home = root, root, home
		defer os.Remove(filepath.Join(root, ProjectFile))
		write(t, filepath.Join(root, ProjectFile), fmt.Sprintf("[[rule]]\npaths = ['%s']\ndo = %q\n", pattern, do))
		_, err := Load(p.Source)
		return err
	}
	for pattern, denied := range map[string]string{
		"secrets": "secrets/a", "./secrets": "secrets/a", "ROOT/secrets": "secrets/a", "ROOT/secrets/**": "secrets/a", "ROOT/none/deep/*.txt": "none/deep/a.txt",
		"~/p/secrets": "secrets/a", `~\p\secrets`: "secrets/a", "$HOME/p/secrets/": "secrets/a", "LINK/secrets": "secrets/a", "INNER/x": "sub/x/a", "ROOT": "any/a", "~/link": "any",
		"ROOT/": "any", "/**/secrets": "x/secrets/a", `secrets\**`: "secrets/a", `\ x`: " x", `x\ `: "x ", "~": "", "~x": "~x",
		"lnk": "sub/a", "lnk/**": "sub/a", "./lnk/": "sub/a", "out": "out", // a link, and what it leads to
	} {
		pattern = strings.NewReplacer("ROOT", root, "LINK", link, "INNER", filepath.Join(home, "inner")).Replace(pattern)
		c, err := rules("deny", pattern)
		if denied == "" {
			if err == nil {
				t.Errorf("%s is accepted", pattern)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		p, err := c.FilePolicy()
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(policy.Request{Tool: "Read", Path: denied}); d.Action != policy.Deny {
			t.Errorf("%s: %s is %v (%s)", pattern, denied, d.Action, c.Rules[0].Paths[0])
		}
		if anchored := strings.Contains(pattern, root) && denied == "secrets/a"; anchored && p.Decide(policy.Request{Tool: "Read", Path: "x/" + denied}).Action == policy.Deny {
			t.Errorf("%s is about x/%s too", pattern, denied)
		}
	}
	for pattern, want := range map[string]string{
		"~bob/x": "not below", home: "not below", home + "/**": "not below", home + "/*/x": "not below", "~/*": "not below", "!secrets": `do = "allow"`, " secrets": "a space",
		"secrets ": "a space", "": "is empty", "../x": "written from the root", "a//b": "written from the root", "file:///x": "written from the root", "{/etc,/root}/x": "without braces", ".": `"**" is all`, "a[": "without a ]",
	} {
		for _, do := range []string{"deny", "ask", "allow"} {
			if _, err := rules(do, pattern); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v", do, pattern, err)
			}
		}
	}
	// A user's rule about another place does not stop stet here: it allows nothing, and what it denies or asks about is taken for the
	// place of that name below the root too. A project's rule is refused.
	for pattern, denied := range map[string]string{
		"/etc/passwd": "etc/passwd", "/secrets/**": "secrets/a", "~/secrets": strings.TrimPrefix(home, "/") + "/secrets", home + "/other/x": strings.TrimPrefix(home, "/") + "/other/x",
		`C:\x\y`: "x/y", `\\host\share`: "host/share", home + "/pp/*.go": strings.TrimPrefix(home, "/") + "/pp/a.go",
	} {
		if err := inProject("deny", pattern); err == nil || !strings.Contains(err.Error(), "not below the workspace") || !strings.Contains(err.Error(), "for this place only") {
			t.Errorf("project: %s: %v", pattern, err)
		}
		c, err := rules("deny", pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		p, err := c.FilePolicy()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]policy.Action{denied: policy.Deny, "x/" + denied: policy.Allow, "a": policy.Allow} {
			if d := p.Decide(policy.Request{Tool: "Read", Path: name}); d.Action != want {
				t.Errorf("%s: %s is %v", pattern, name, d.Action)
			}
		}
		c, err = rules("allow", pattern)
		for _, name := range []string{denied, "a", ""} {
			if err != nil || c.Rules[0].About(name) {
				t.Errorf("allow %s: %s, %v", pattern, name, err)
			}
		}
	}
	// An allow rule matches the path that it names, and no more.
	if c, err := rules("allow", "lnk"); err != nil || len(c.Rules[0].Paths) != 1 {
		t.Errorf("allow of a link: %v", err)
	}
	c, err := rules("allow", root+"/docs")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"docs": true, "docs/a": false, "x/docs": false} {
		if c.Rules[0].Paths[0].Match(path) != want {
			t.Errorf("allow: %s", path)
		}
	}
}

// The names of tools in rules exist: stet's own, those of agents and of the configured MCP servers. The same holds for a project.
func TestRuleTools(t *testing.T) {
	const servers = "[[mcp]]\nname = \"my docs\"\ncommand = [\"serve\"]\n[[dialect]]\ntools = [\"Peek\"]\nop = \"read\"\npath = [\"p\"]\n"
	for tools, want := range map[string]string{
		`"Read", "LS", "write_*"`: "", `"Bash", "apply_patch", "View"`: "", `"mcp__my_docs__find"`: "", `"mcp__*"`: "", `"Peek"`: "",
		`"raed_file"`: `no tool has the name "raed_file"`, `"mcp__other__find"`: "no tool", `"mcp__my_docs"`: "", `" Read"`: "no tool", "": "tools is empty",
	} {
		rule := "[[rule]]\ntools = [" + tools + "]\ndo = \"deny\"\n"
		p := newPlace(t, servers+rule)
		p.Workspace = p.Dir
		_, err := Load(p.Source)
		project := newPlace(t, servers)
		project.Workspace = project.Dir
		write(t, filepath.Join(project.Dir, ProjectFile), rule)
		_, err2 := Load(project.Source)
		for _, err := range []error{err, err2} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", tools, err)
			}
		}
	}
	p := newPlace(t, "[[rule]]\ntools = [\"mcp__other__find\"]\ndo = \"deny\"\n")
	p.Workspace, p.Servers = p.Dir, true
	if _, err := Load(p.Source); err != nil {
		t.Errorf("where clients name servers: %v", err)
	}
	// A rule about an agent's own tool is about stet's.
	p = newPlace(t, servers+"[[rule]]\ntools = [\"Peek\"]\ndo = \"deny\"\n[[rule]]\ntools = [\"Grep\"]\npaths = [\"g\"]\ndo = \"deny\"\n")
	p.Workspace = p.Dir
	c, err := Load(p.Source)
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.Policy{Rules: c.Rules}
	if d := rules.Decide(policy.Request{Tool: "read_file", Path: "a"}); d.Action != policy.Deny {
		t.Errorf("%+v", d)
	}
}
