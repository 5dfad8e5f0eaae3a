package policy_test

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/policy"
)

// A rule that denies is about a file or directory of the name, with all below it, as in .gitignore, and about files that the
// pattern names literally. A rule that allows is not: it matches to the letter. (FILE-13)
func TestRulePaths(t *testing.T) {
	for _, c := range []struct{ pattern, denied, not, allowed string }{
		{"secrets", "secrets secrets/a secrets/a/b x/secrets x/secrets/a SECRETS/a", "secrets2 xsecrets a.go .", "secrets x/secrets"},
		{"secrets/", "secrets/a x/secrets/a secrets", "a secrets2/a", "secrets/a"},
		{"./secrets", "secrets secrets/a", "x/secrets", "secrets"},
		{"/secrets/", "secrets/a", "x/secrets/a", "secrets/a"},
		{"secrets/**", "secrets/a secrets/a/b Secrets/A", "x/secrets/a", "secrets/a secrets/a/b"},
		{`secrets\**`, "secrets/a secrets/a/b secrets*x", "a", "secrets*x"},
		{`secrets\keys\a.txt`, "secrets/keys/a.txt Secrets/Keys/A.TXT/b", "secrets/a.txt", "secretskeysa.txt"},
		{"a/b", "a/b a/b/c", "x/a/b a/bc", "a/b"},
		{"*.pem", "a.pem x/a.pem/b", "a.pem2", "a.pem"},
		{"app/[slug]/**", "app/[slug]/page.tsx app/s/page.tsx app/[SLUG]/x", "app/x/y", "app/s/page.tsx"},
		{"app/[slug]/*.{ts,tsx}", "app/[slug]/a.ts app/[slug]/a.tsx app/l/a.ts", "app/[slug]/a.go", "app/l/a.ts"},
		{"app/[[...slug]]/page.tsx", "app/[[...slug]]/page.tsx", "app/x/page.tsx", "app/[[...slug]]/page.tsx"},
		{"./app/[id].ts", "app/[id].ts app/i.ts", "x/app/[id].ts", "app/[id].ts"},
		{".a/[id].ts", ".a/[id].ts", "a/[id].ts", ".a/[id].ts"},
		{"app/[user-id]/x", "app/[user-id]/x app/[user-id]/x/y", "app/u/x", "app/[user-id]/x"},
		{"{x}", "{x} x a/{x}/b", "y", "x {x} a/{x}"},
		{"{x}/a*", "{x}/ab x/a", "{y}/a", "x/ab"},
		{"a{1,2}b", "a{1,2}b a1b", "a3b", "a1b"},
		{"*", "a a/b", "", "a a/b"},
		{"a*b", "a*b axb", "a", "a*b"},
		{"**", "a a/b .", "", "a a/b"},
		{".*", ".a .git/x x/.a", ". a", ".a"},
		{"r\u00e9sum\u00e9", "re\u0301sume\u0301 re\u0301sume\u0301/a R\u00c9SUM\u00c9", "resume", "r\u00e9sum\u00e9"},
		{`\!x`, "!x", "x", "!x"},
	} {
		rule := func(do string) *policy.Policy {
			return read(t, `rule = [{paths = ['`+c.pattern+`'], do = "`+do+`"}]`)
		}
		check := func(do, paths string, want policy.Action) {
			for path := range strings.FieldsSeq(paths) {
				if d := rule(do).Decide(policy.Request{Tool: "write_file", Path: path, Write: true}); d.Action != want {
					t.Errorf("%s %s: %s is %v", do, c.pattern, path, d.Action)
				}
			}
		}
		check("deny", c.denied, policy.Deny)
		check("deny", c.not, policy.Ask)
		check("allow", c.allowed, policy.Allow)
		for path := range strings.FieldsSeq(c.denied + " " + c.not) { // to the letter
			letters := strings.TrimPrefix(c.pattern, "./") == path
			if d := rule("allow").Decide(policy.Request{Tool: "write_file", Path: path, Write: true}); (d.Action == policy.Allow) != (letters || rule("allow").Rules[0].Paths[0].Match(path)) {
				t.Errorf("allow %s: %s is %v", c.pattern, path, d.Action)
			}
		}
	}
}

// A pattern that would match every file, or others than it seems to, is refused with a reason.
func TestPatternsThatMatchTooMuch(t *testing.T) {
	for _, pattern := range []string{"{}", "{,}", "a/{}", "{,a}", "{a,}", "{}/**", "a{,,}b", "[[:alpha:]]*", "[:^digit:]"} {
		if _, err := policy.ParsePath(pattern); err == nil || !strings.Contains(err.Error(), "match too much") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// A rule that denies and names one tool for reading or writing is about all tools that show or change the same.
func TestRuleTools(t *testing.T) {
	for _, c := range []struct{ tools, on, denied, not string }{
		{`"Read"`, "", "Read read_file search_text edit_file", "write_file list_files find_files file_info"},
		{`"read_file"`, "", "Read read_file search_text edit_file", "write_file list_files"},
		{`"search_text"`, "", "Read read_file search_text edit_file", "write_file find_files"},
		{`"read_*"`, "read", "Read read_file search_text edit_file", "write_file"},
		{`"write_file"`, "", "write_file edit_file undo", "Read read_file search_text list_files"},
		{`"edit_file"`, "write", "write_file edit_file undo", "Read search_text"},
		{`"list_files"`, "", "list_files find_files search_text", "Read edit_file"},
		{`"LS"`, "", "list_files find_files search_text", "Read"},
		{`"WRITE_FILE"`, "", "write_file edit_file", "Read"},
		{`"Bash"`, "", "Bash", "Read write_file list_files"},
	} {
		for _, do := range []policy.Action{policy.Deny, policy.Ask} {
			p := read(t, `rule = [{tools = [`+c.tools+`], paths = ["x"], on = "`+c.on+`", do = "`+do.String()+`"}, {do = "allow"}]`)
			for name := range strings.FieldsSeq(c.denied + " " + c.not) {
				r := policy.Request{Tool: name, Path: "x/a", Write: name == "write_file" || name == "edit_file" || name == "undo"}
				want := policy.Allow
				if strings.Contains(" "+c.denied+" ", " "+name+" ") {
					want = do
				}
				if d := p.Decide(r); d.Action != want {
					t.Errorf("%v of %s %s: %s is %v", do, c.tools, c.on, name, d.Action)
				}
				if r.Path = "y"; p.Decide(r).Action != policy.Allow {
					t.Errorf("%s: %s of another file is not allowed", c.tools, name)
				}
			}
		}
		if d := read(t, `rule = [{tools = [`+c.tools+`], do = "allow"}]`).Decide(policy.Request{Tool: "undo", Path: "x", Write: true}); d.Action != policy.Ask {
			t.Errorf("allow %s: undo is %v", c.tools, d.Action)
		}
	}
}

// The tools of a rule have names that exist. A rule about the tool of an agent is about stet's tools with the same effect.
func TestForTools(t *testing.T) {
	others := map[string]policy.Effect{"View": policy.Shows, "apply_patch": policy.Changes, "Glob": policy.Lists, "Bash": 0, "mcp__docs__find": 0}
	for _, c := range []struct{ rule, call, err string }{
		{`tools = ["raed_file"], do = "deny"`, "", `no tool has the name "raed_file"`},
		{`tools = ["Read", "Raed"], do = "ask"`, "", `"Raed"`},
		{`tools = ["READ_FILE"], do = "allow"`, "", `"READ_FILE"`}, // to the letter
		{`tools = ["READ_FILE"], do = "deny"`, "Read", ""},
		{`tools = ["View"], do = "deny"`, "read_file", ""},
		{`tools = ["apply_patch"], do = "deny"`, "write_file", ""},
		{`tools = ["Glob"], do = "deny"`, "list_files", ""},
		{`tools = ["Bash"], do = "deny"`, "", ""},
		{`tools = ["mcp__docs__*"], do = "deny"`, "", ""},
		{`tools = ["mcp__none__*"], do = "deny"`, "", `"mcp__none__*"`},
		{`tools = ["View"], do = "allow"`, "", ""},
		{`tools = ["Read"], on = "write", do = "deny"`, "", "match nothing"},
		{`tools = ["write_*"], on = "read", do = "deny"`, "", "match nothing"},
		{`tools = ["edit_file"], on = "write", do = "deny"`, "undo", ""},
		{`do = "deny"`, "Read", ""},
	} {
		rule, err := read(t, "rule = [{"+c.rule+"}]").Rules[0].ForTools(others)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.rule, err)
		}
		if c.err != "" {
			continue
		}
		p := policy.Policy{Rules: []policy.Rule{rule}}
		for _, name := range []string{"Read", "write_file"} {
			d := p.Decide(policy.Request{Tool: name, Path: "a", Write: name == "write_file"})
			same := c.call == name || c.call == "read_file" && name == "Read" || c.call == "undo" && name == "write_file" || len(rule.Tools) == 0
			if (d.Action == policy.Deny) != same {
				t.Errorf("%s: %s is %v", c.rule, name, d.Action)
			}
		}
	}
}
