package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

func read(t testing.TB, text string) *policy.Policy {
	t.Helper()
	var p policy.Policy
	if err := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&p); err != nil {
		t.Fatal(err)
	}
	return &p
}

func pattern(t testing.TB, s string) policy.Pattern {
	t.Helper()
	p, err := policy.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FILE-6, FILE-13: the decision in all important cases.
func TestDecide(t *testing.T) {
	const rules = `
		relay = ["write_*"]
		[[rule]]
		paths = ["secrets/**", "*.pem"]
		do = "deny"
		[[rule]]
		tools = ["edit_file"]
		paths = ["docs/**"]
		on = "write"
		do = "allow"
		[[rule]]
		paths = ["private/**"]
		do = "ask"
		[[rule]]
		paths = ["bin/**", ".envrc"]
		do = "allow"
	`
	session := []policy.Rule{{On: policy.Write, Do: policy.Allow}}
	inDocs := []policy.Rule{{Paths: []policy.Pattern{pattern(t, "docs/*.txt")}, On: policy.Write, Do: policy.Allow}}
	w := func(path string, notes ...tool.Note) policy.Request {
		return policy.Request{Tool: "write_file", Path: path, Write: true, Notes: notes}
	}
	with := func(r policy.Request, grants []policy.Rule) policy.Request { r.Grants = grants; return r }
	for _, test := range []struct {
		name   string
		policy string
		r      policy.Request
		want   policy.Action
		rule   string
	}{
		{"zero: a read", "", policy.Request{Tool: "read_file", Path: "a"}, policy.Allow, "default"},
		{"zero: a write", "", w("a"), policy.Ask, "default"},
		{"first match", rules, w("secrets/docs/a"), policy.Deny, "rule 1"},
		{"deny reads too", rules, policy.Request{Tool: "read_file", Path: "deep/key.pem"}, policy.Deny, "rule 1"},
		{"deny whatever the case", rules, w("Secrets/A"), policy.Deny, "rule 1"},
		{"deny whatever the composition", `rule = [{paths = ["r\u00e9sum\u00e9.md"], do = "deny"}]`, w("re\u0301sume\u0301.md"), policy.Deny, "rule 1"},
		{"allow to the letter", rules, w("Docs/a"), policy.Ask, "default"},
		{"allow by tool", rules, w("docs/a"), policy.Ask, "default"},
		{"allow", rules, policy.Request{Tool: "edit_file", Path: "docs/a", Write: true}, policy.Allow, "rule 2"},
		{"ask to read", rules, policy.Request{Tool: "read_file", Path: "private/a"}, policy.Ask, "rule 3"},
		{"no person: ask to read", rules, policy.Request{Tool: "read_file", Path: "private/a", NoPerson: true}, policy.Deny, "rule 3"},
		{"nobody: a write", "", policy.Request{Tool: "write_file", Path: "a", Write: true, NoPerson: true}, policy.Deny, "default"},

		{"grant for the session", "", with(w("a"), session), policy.Allow, "grant session"},
		{"grant by pattern", "", with(w("docs/a.txt"), inDocs), policy.Allow, "grant docs/*.txt"},
		{"grant of another pattern", "", with(w("docs/a.md"), inDocs), policy.Ask, "default"},
		{"no grant over a denial", rules, with(w("secrets/a"), session), policy.Deny, "rule 1"},
		{"a grant to write does not allow reading", rules, policy.Request{Tool: "read_file", Path: "private/a", Grants: session}, policy.Ask, "rule 3"},

		// FILE-13
		{"control over a rule", rules, w(".envrc", tool.Control), policy.Ask, "control file"},
		{"control over a grant", "", with(w(".vscode/tasks.json", tool.Control), session), policy.Ask, "control file"},
		{"executable over a rule", rules, w("bin/run", tool.Executable), policy.Ask, "executable"},
		{"executable over a grant", "", with(w("bin/run", tool.Executable), session), policy.Ask, "executable"},
		{"control, nobody", rules, policy.Request{Tool: "write_file", Path: ".envrc", Write: true, NoPerson: true, Notes: []tool.Note{tool.Control}}, policy.Deny, "control file"},
		{"reading control files", "", policy.Request{Tool: "read_file", Path: ".envrc", Notes: []tool.Note{tool.Control}}, policy.Allow, "default"},
		{"other names", "", with(w("a", tool.HardLink), session), policy.Ask, "hard link"},
		{"unread", "", with(w("a", tool.Unread), session), policy.Ask, "unread"},
		{"stale", "", with(w("a", tool.Stale), session), policy.Ask, "stale"},
		{"unread, strict", `unread = "deny"`, w("a", tool.Unread), policy.Deny, "unread"},
		{"unread, loose", `unread = "allow"`, with(w("a", tool.Unread), session), policy.Allow, "grant session"},
		{"hidden", "", with(w("a", tool.Hidden), session), policy.Ask, "hidden characters"},
		{"merged", "", with(w("a", tool.Merged, tool.NewDirs), session), policy.Allow, "grant session"},

		{"unattended", "unattended = true", w("a", tool.Merged), policy.Allow, "unattended"},
		{"unattended: control", "unattended = true", w(".envrc", tool.Control), policy.Deny, "control file"},
		{"unattended: executable", "unattended = true", w("run", tool.Executable), policy.Deny, "executable"},
		{"unattended: executable by rule", "unattended = true" + rules, w("bin/run", tool.Executable), policy.Deny, "executable"},
		{"unattended: unread", "unattended = true", w("a", tool.Unread), policy.Deny, "unread"},
		{"unattended: hidden", "unattended = true", w("a", tool.Hidden), policy.Allow, "unattended"},
		{"unattended: asked for by rule", "unattended = true" + rules, w("private/a"), policy.Deny, "rule 3"},
		{"unattended: denied", "unattended = true" + rules, w("secrets/a"), policy.Deny, "rule 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := read(t, test.policy).Decide(test.r)
			if d.Action != test.want || d.Rule != test.rule {
				t.Errorf("got %v by %q, want %v by %q", d.Action, d.Rule, test.want, test.rule)
			}
			if (d.Action == policy.Deny) != (d.Why != "") {
				t.Errorf("%v, and why: %q", d.Action, d.Why)
			}
			if byCaution := d.Action == policy.Ask && len(test.r.Notes) > 0; d.Action == policy.Ask && d.Grantable == byCaution {
				t.Errorf("grantable: %v", d.Grantable)
			}
			if d.Relay && !d.Grantable {
				t.Error("a client may answer what caution asks")
			}
		})
	}
}

func TestRelay(t *testing.T) {
	p := read(t, `relay = ["write_*"]`)
	for name, want := range map[string]bool{"write_file": true, "edit_file": false, "Write_file": false} {
		if d := p.Decide(policy.Request{Tool: name, Path: "a", Write: true}); d.Relay != want {
			t.Errorf("%s: relay %v", name, d.Relay)
		}
	}
}

// A checkout's rules can only be stricter.
func TestProject(t *testing.T) {
	all := []policy.Pattern{pattern(t, "**")}
	for _, test := range []struct {
		own, project, want policy.Action
		rule               string
	}{
		{policy.Ask, policy.Allow, policy.Ask, "rule 1"},
		{policy.Deny, policy.Allow, policy.Deny, "rule 1"},
		{policy.Allow, policy.Ask, policy.Ask, "project rule 1"},
		{policy.Allow, policy.Deny, policy.Deny, "project rule 1"},
		{policy.Ask, policy.Deny, policy.Deny, "project rule 1"},
		{policy.Deny, policy.Deny, policy.Deny, "rule 1"},
	} {
		p := policy.Policy{
			Rules:   []policy.Rule{{Paths: all, Do: test.own}},
			Project: []policy.Rule{{Paths: all, Do: test.project}},
		}
		if d := p.Decide(policy.Request{Tool: "write_file", Path: "a", Write: true}); d.Action != test.want || d.Rule != test.rule {
			t.Errorf("%v and %v: %v by %s", test.own, test.project, d.Action, d.Rule)
		}
	}
}

// A grant without tools is for writes in the workspace. It does not cover tools that act outside of it.
func TestGrantsOutside(t *testing.T) {
	put := []policy.Pattern{pattern(t, "put")}
	for _, test := range []struct {
		tools []policy.Pattern
		notes []tool.Note
		want  policy.Action
	}{
		{nil, nil, policy.Allow},
		{nil, []tool.Note{tool.Outside}, policy.Ask},
		{put, []tool.Note{tool.Outside}, policy.Allow},
	} {
		r := policy.Request{Tool: "put", Path: "a", Write: true, Notes: test.notes, Grants: []policy.Rule{{Tools: test.tools, Do: policy.Allow}}}
		if d := new(policy.Policy).Decide(r); d.Action != test.want {
			t.Errorf("a grant for %v, notes %v: %v", test.tools, test.notes, d.Action)
		}
	}
}

func TestStricter(t *testing.T) {
	// From the least strict to the strictest.
	all := []policy.Decision{
		{Action: policy.Allow}, {Action: policy.Ask, Grantable: true, Relay: true}, {Action: policy.Ask, Grantable: true},
		{Action: policy.Ask}, {Action: policy.Deny},
	}
	for i, d := range all {
		for j, e := range all {
			if got := d.Stricter(e); got != (i > j) {
				t.Errorf("%+v stricter than %+v: %v", d, e, got)
			}
		}
	}
}

// Names in configurations and records. A value without a name is written as its number.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		policy.Deny.String(): "deny", policy.Action(3).String(): "Action(3)",
		policy.Write.String(): "write", policy.Access(3).String(): "Access(3)",
		policy.RollBack.String(): "roll back", policy.Response(3).String(): "Response(3)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := policy.RollBack
	if err := r.UnmarshalText([]byte("flag")); err != nil || r != policy.Flag {
		t.Errorf("flag: %v, %v", r, err)
	}
}

// FILE-13: under all rules, grants and modes, a write to a control file or an executable is never allowed without a question.
func TestCautionsHold(t *testing.T) {
	patterns := []string{"**", "*", "a/**", "*.sh", "write_*", "{a,b}/**"}
	rule := rapid.Custom(func(t *rapid.T) policy.Rule {
		some := func(label string) (out []policy.Pattern) {
			for _, s := range rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 2).Draw(t, label) {
				p, err := policy.ParsePattern(s)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, p)
			}
			return out
		}
		return policy.Rule{
			Tools: some("tools"), Paths: some("paths"),
			On: rapid.SampledFrom([]policy.Access{policy.Any, policy.Read, policy.Write}).Draw(t, "on"),
			Do: rapid.SampledFrom([]policy.Action{policy.Ask, policy.Allow, policy.Deny}).Draw(t, "do"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := policy.Policy{
			Rules: rapid.SliceOfN(rule, 0, 4).Draw(t, "rules"), Project: rapid.SliceOfN(rule, 0, 2).Draw(t, "project"),
			Unattended: rapid.Bool().Draw(t, "unattended"),
			Unread:     rapid.SampledFrom([]policy.Action{policy.Ask, policy.Allow, policy.Deny}).Draw(t, "unread"),
		}
		r := policy.Request{
			Tool: "write_file", Path: rapid.SampledFrom([]string{"a/x.sh", "x.sh", "b/c/y"}).Draw(t, "path"), Write: true,
			Grants: rapid.SliceOfN(rule, 0, 3).Draw(t, "grants"), NoPerson: rapid.Bool().Draw(t, "nobody"),
			Notes: append(rapid.SliceOfN(rapid.SampledFrom([]tool.Note{tool.Unread, tool.Merged, tool.Hidden}), 0, 2).Draw(t, "notes"),
				rapid.SampledFrom([]tool.Note{tool.Control, tool.Executable}).Draw(t, "caution")),
		}
		d := p.Decide(r)
		if d.Action == policy.Allow || (p.Unattended || r.NoPerson) && d.Action != policy.Deny {
			t.Fatalf("%+v", d)
		}
		if d.Action == policy.Ask && (d.Grantable || d.Relay) {
			t.Fatalf("can be granted: %+v", d)
		}
	})
}

func TestConfiguration(t *testing.T) {
	for _, bad := range []string{
		`rule = [{do = "maybe"}]`, `rule = [{on = "append"}]`, `rule = [{paths = ["a["]}]`, `unread = "never"`, `rules = []`,
	} {
		var p policy.Policy
		if err := toml.NewDecoder(strings.NewReader(bad)).DisallowUnknownFields().Decode(&p); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
	want := read(t, `
		unattended = true
		unread = "deny"
		relay = ["write_file"]
		rule = [{tools = ["x"], paths = ["a/**", "{b,c}"], on = "write", do = "allow"}, {do = "deny"}]`)
	text, err := toml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	again, err := toml.Marshal(read(t, string(text)))
	if err != nil || string(again) != string(text) {
		t.Errorf("%v: written\n%sread and written again\n%s", err, text, again)
	}
}

// FILE-11
func TestSuspicion(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1000, 0).Add(time.Duration(seconds) * time.Second) }
	var a policy.Attempts
	alarms := ""
	count := func(s policy.Suspicion, code tool.Code, second int) {
		if what, ok := a.Count(s, code, at(second)); ok {
			alarms += what + ";"
		}
	}
	for i := range 5 {
		count(policy.Suspicion{}, tool.InvalidPath, i)
	}
	for i := range 4 {
		count(policy.Suspicion{}, tool.PermissionDenied, i)
		count(policy.Suspicion{}, tool.FileNotFound, i)
		count(policy.Suspicion{}, tool.InvalidPath, 10+i) // after an alarm the count restarts
	}
	count(policy.Suspicion{}, tool.PermissionDenied, 60) // the first attempt is too old
	count(policy.Suspicion{}, tool.PermissionDenied, 60)
	if want := "escapes;protected paths;"; alarms != want {
		t.Errorf("alarms %q, want %q", alarms, want)
	}
	a, alarms = policy.Attempts{}, ""
	for i := range 5 { // more seconds than a duration holds mean no time limit
		count(policy.Suspicion{Seconds: 1e18}, tool.InvalidPath, i*1e6)
	}
	if alarms != "escapes;" {
		t.Errorf("alarms %q in a very long time", alarms)
	}
	a, alarms = policy.Attempts{}, ""
	for i := range 20 {
		count(policy.Suspicion{Escapes: -1, Protected: 2, Seconds: 5}, tool.InvalidPath, i)
		count(policy.Suspicion{Escapes: -1, Protected: 2, Seconds: 5}, tool.PermissionDenied, 5*i)
	}
	if alarms != "" {
		t.Errorf("alarms %q, want none", alarms)
	}
	var r policy.Response
	if err := r.UnmarshalText([]byte("roll back")); err != nil || r != policy.RollBack {
		t.Error(r, err)
	}
	if err := r.UnmarshalText([]byte("shoot")); err == nil {
		t.Error("accepted")
	}
}

func TestHides(t *testing.T) {
	p := read(t, `
		rule = [
			{paths = ["public/**"], tools = ["read_file"], do = "allow"},
			{paths = ["open/**"], do = "allow"},
			{paths = ["*.log"], on = "write", do = "deny"},
			{paths = ["*.pem", "public/x"], tools = ["read_file"], do = "deny"},
			{paths = ["private/**"], do = "ask"},
		]`)
	p.Project = []policy.Rule{{Paths: []policy.Pattern{pattern(t, "theirs/**")}, Do: policy.Deny}}
	for path, want := range map[string]bool{
		"a.go": false, "a.log": false, "a.pem": true, "A.PEM": true, "open/a.pem": false, "public/x": true, "private/x": true, "theirs/x": true,
	} {
		if p.Hides(path) != want {
			t.Errorf("%s: hidden %v", path, !want)
		}
	}
}
