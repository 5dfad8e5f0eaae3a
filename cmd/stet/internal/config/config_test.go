package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// place is a directory with a user's file, environment variables and flags.
type place struct {
	Source
	env map[string]string
}

func newPlace(t *testing.T, user string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{env: map[string]string{}}
	p.Source = Source{
		Dir: dir, Home: dir, User: filepath.Join(dir, "config.toml"), Getenv: func(name string) string { return p.env[name] },
	}
	if user != "" {
		write(t, p.User, user)
	}
	return p
}

func (p *place) flags(t *testing.T, args ...string) {
	t.Helper()
	p.Flags = pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(p.Flags, "project-root", "keep", "record", "upstream", "upstream-chat")
	if err := p.Flags.Parse(args); err != nil {
		t.Fatal(err)
	}
}

func (p *place) load(t *testing.T) *Config {
	t.Helper()
	c, err := Load(p.Source)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The keys for history's rules set its configuration. (TRIM-5, TRIM-13, TRIM-15)
func TestHistoryKeys(t *testing.T) {
	p := newPlace(t, "keep-shell = 2\nby-size = true\nby-content = true\nkeep = 0\n")
	if c := p.load(t).History(p.Dir); c.KeepShell != 2 || !c.BySize || !c.ByContent || c.KeepReads != -1 {
		t.Errorf("%+v", c)
	}
}

// TRIM-7: a flag, a variable or a file sets the workspace's root, in this order. A command that knows its own root uses that.
func TestProjectRoot(t *testing.T) {
	p := newPlace(t, "")
	root := func(want string, args ...string) {
		t.Helper()
		p.flags(t, args...)
		c := p.load(t)
		if c.History("").Root != want || c.History("/own").Root != "/own" {
			t.Errorf("%v: %+v, want %q", args, c, want)
		}
	}
	root("")
	write(t, p.User, "project-root = \"/of/file\"\n")
	root("/of/file")
	p.env["STET_PROJECT_ROOT"] = `C:\of\variable`
	root(`C:\of\variable`)
	root("/of/flag", "--project-root", "/of/flag")
	p.flags(t, "--project-root", "src")
	if _, err := Load(p.Source); err == nil || err.Error() != `--project-root: project-root is an absolute path, not "src"` {
		t.Errorf("%v", err)
	}
}

// The user's setting comes before the agent's configuration, and that before the files. An upstream for every request, even an
// empty one, disables the files.
func TestRoute(t *testing.T) {
	const files = "upstream = \"http://all\"\nupstream-chat = \"http://chat\"\n"
	all := func(base, messages, chat string) llm.Upstreams {
		return llm.Upstreams{llm.Messages: messages, llm.Chat: chat, llm.Responses: base, llm.Gemini: base, llm.Vertex: base, llm.Azure: base, llm.Bedrock: base}
	}
	for name, test := range map[string]struct {
		env  string
		args []string
		want llm.Upstreams
	}{
		"files":    {"", nil, all("http://all", "http://found", "http://chat")},
		"variable": {"http://env", nil, all("http://env", "http://env", "http://env")},
		"flag":     {"http://env", []string{"--upstream-chat", "http://flag"}, all("http://env", "http://env", "http://flag")},
		"silenced": {"", []string{"--upstream", ""}, llm.Upstreams{llm.Messages: "http://found"}},
	} {
		p := newPlace(t, files)
		p.env["STET_UPSTREAM"] = test.env
		p.flags(t, test.args...)
		c := p.load(t)
		c.Route(llm.Upstreams{llm.Messages: "http://found"})
		if diff := cmp.Diff(test.want, c.Upstream); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Every setting is shown with the place that set it, and URLs without parts that may be secret.
func TestSettings(t *testing.T) {
	p := newPlace(t, "\ufeffkeep = 3\nlog = \"a\"\nupstream-chat = \"https://host/secret\"\n[[rule]]\ndo = \"ask\"\n")
	p.Workspace = filepath.Join(p.Dir, "tree")
	write(t, filepath.Join(p.Workspace, ProjectFile), "\ufeff[[rule]]\ndo = \"deny\"\n[[rule]]\ndo = \"ask\"\n")
	p.env["STET_KEEP_SHELL"] = "4"
	p.flags(t, "--no-record")
	got := map[string]Setting{}
	for _, s := range p.load(t).Settings() {
		got[s.Key] = s
	}
	for _, want := range []Setting{
		{"keep", "3", p.User}, {"keep-shell", "4", "STET_KEEP_SHELL"}, {"record", "false", "--no-record"}, {"policy", "adaptive", "default"},
		{"log", "a", p.User}, {"upstream-chat", "https://host/…", p.User}, {"upstream-messages", anthropic.API.Upstream, "default"},
		{"rule", "3", filepath.Join(p.Workspace, ProjectFile) + " and " + p.User}, {"dialect", "those that stet knows", "default"},
		{"upstream-vertex", "Google's for the location", "default"}, {"upstream-azure", "none", "default"},
	} {
		if diff := cmp.Diff(want, got[want.Key]); diff != "" {
			t.Error(diff)
		}
	}
	if s, ok := got["placeholder"]; ok {
		t.Errorf("a key without a value is told: %v", s)
	}
}

// A project's rules can only restrict. The user's rules can also allow.
func TestRules(t *testing.T) {
	p := newPlace(t, "unread = \"deny\"\nsuspicion = \"suspend\"\nrate = 0\n[[rule]]\npaths = [\"docs/**\"]\ndo = \"allow\"\n")
	p.Workspace = filepath.Join(p.Dir, "tree")
	file := filepath.Join(p.Workspace, ProjectFile)
	write(t, file, "[[rule]]\npaths = [\"docs/secret/**\"]\ndo = \"deny\"\n")
	c := p.load(t)
	rules, err := c.FilePolicy()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]policy.Action{"docs/a": policy.Allow, "docs/secret/a": policy.Deny, "a": policy.Ask} {
		if d := rules.Decide(policy.Request{Tool: "write_file", Path: path, Write: true}); d.Action != want {
			t.Errorf("%s: %v, want %v", path, d.Action, want)
		}
	}
	if !rules.Hides("docs/secret/a") || rules.Unread != policy.Deny || c.Suspicion != policy.Suspend || c.CallRate() != -1 {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		"[[rule]]\ndo = \"allow\"\n":               "a project may deny or ask, and allow nothing",
		"[[rule]]\npaths = [\"a\"]\n":              "does not say what to do",
		"[[rule]]\ndo = \"maybe\"\n":               `unknown action "maybe"`,
		"[[rule]]\npath = [\"a\"]\ndo = \"ask\"\n": `unknown key "rule.path"`,
		"elicitation = \"none\"\n":                 `a project may not set "elicitation"`,
		"rate = 5\n":                               `a project may not set "rate"`,
	} {
		write(t, file, text)
		if _, err := Load(p.Source); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Only the user's file can name MCP servers. Settings and errors do not show their possible secrets.
func TestMCP(t *testing.T) {
	const said = "[[mcp]]\nname = \"files\"\ncommand = [\"serve\", \"secret\"]\nenv = {KEY = \"secret\"}\n" +
		"[[mcp]]\nname = \"web\"\nurl = \"https://host/secret\"\nheaders = {Authorization = \"secret\"}\n"
	c := newPlace(t, said).load(t)
	want := []MCPServer{
		{Name: "files", Command: []string{"serve", "secret"}, Env: map[string]string{"KEY": "secret"}},
		{Name: "web", URL: "https://host/secret", Headers: map[string]string{"Authorization": "secret"}},
	}
	if diff := cmp.Diff(want, c.MCP); diff != "" {
		t.Error(diff)
	}
	for _, s := range c.Settings() {
		if strings.Contains(s.Value, "secret") {
			t.Errorf("%+v", s)
		}
	}
	for text, words := range map[string]string{
		"[[mcp]]\ncommand = [\"secret\"]\n": "a server has no name",
		"[[mcp]]\nname = \"a\"\n":           `"a": want either command`,
		"[[mcp]]\nname = \"a\"\ncommand = [\"secret\"]\nurl = \"https://secret\"\n": `"a": want either command`,
		"[[mcp]]\nname = \"a\"\nurl = \"secret\"\n":                                 `"a": url: want http:// or https:// and a host`,
		"[[mcp]]\nname = \"a\"\nurl = \"https://secret\"\nenv = {A = \"secret\"}\n": `"a": env goes with command`,
		"[[mcp]]\nname = \"a\"\ncommand = \"secret\"\n":                             "command is an array of strings",
		"[[mcp]]\nname = \"a\"\nport = 1\n":                                         `unknown key "mcp.port"`,
		said + "[[mcp]]\nname = \"web\"\ncommand = [\"secret\"]\n":                  `two servers have the name "web"`,
	} {
		if _, err := Load(newPlace(t, text).Source); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	project := newPlace(t, "")
	write(t, filepath.Join(project.Dir, ProjectFile), said)
	if _, err := Load(project.Source); err == nil || !strings.Contains(err.Error(), `a project may not set "mcp"`) {
		t.Error(err)
	}
}

// Only the user's file can set notifications. Settings and errors do not show their possible secrets.
func TestNotify(t *testing.T) {
	const said = "[notify]\nntfy = \"https://ntfy.sh/secret\"\ncommand = [\"notify-send\", \"secret\"]\ncontent = true\n"
	p := newPlace(t, said)
	c := p.load(t)
	want := notify.Config{Ntfy: "https://ntfy.sh/secret", Command: []string{"notify-send", "secret"}, Content: true}
	if diff := cmp.Diff(want, c.Notify); diff != "" {
		t.Error(diff)
	}
	for _, s := range c.Settings() {
		if s.Key == "notify" && s != (Setting{"notify", "command, content, ntfy", p.User}) || strings.Contains(s.Value, "secret") {
			t.Errorf("%+v", s)
		}
	}
	for text, words := range map[string]string{
		"[notify]\nntfy = \"secret\"\n":                             "ntfy: want a URL that begins with https:// or http://",
		"[notify]\nntfy = \"https://secret\"\n":                     "ntfy: want the URL of a topic",
		"[notify]\nwebhook = [\"https://secret\"]\n":                "ntfy, webhook and link are strings",
		"[notify]\nslack = \"https://secret\"\n":                    `unknown key "notify.slack": it may have ntfy, webhook, command, link, content and actions`,
		"[notify]\nlink = \"https://stet.example/?token=secret\"\n": "link: want the address of the page alone",
		"notify = \"https://secret/x\"\n":                           "notify: want a table, [notify]",
	} {
		_, err := Load(newPlace(t, text).Source)
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	project := newPlace(t, "")
	write(t, filepath.Join(project.Dir, ProjectFile), said)
	if _, err := Load(project.Source); err == nil || !strings.Contains(err.Error(), `a project may not set "notify"`) {
		t.Error(err)
	}
}

// An error in a file names the line, and an unknown key the most similar key.
func TestErrorLines(t *testing.T) {
	for text, words := range map[string]string{
		"keep = 3\n\npolicy = \n":                      ", line 3, column ",
		"# mine\nkeep = \"x\"\n":                       ": keep: want a whole number, have \"x\"",
		"keep = 3\npolcy = \"off\"\n":                  `: unknown key "polcy": did you mean policy?`,
		"by = 3\n":                                     `: unknown key "by": did you mean by-size or by-content?`,
		"something = 3\n":                              `: unknown key "something": the keys are policy, keep`,
		"z = 1\na = 2\n":                               `: unknown key "a"`,
		"[[rule]]\ndo = \"ask\"\n[[rule]]\npath = 1\n": `: rule: unknown key "rule.path": a rule has`,
		"[[dialect]]\ntolls = []\n":                    `: dialect: unknown key "dialect.tolls": a row has`,
		"keep = 3\nthreads = \"refsue\"\n":             `: threads: unknown value "refsue": choose follow or refuse`,
	} {
		p := newPlace(t, text)
		if _, err := Load(p.Source); err == nil || !strings.HasPrefix(err.Error(), p.User+words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The limits that the requirements call configurable have keys, with their defaults (FILE-8, FILE-9, FILE-15, CTX-4). A value that
// cannot be is refused, and a project cannot set one.
func TestLimitKeys(t *testing.T) {
	limits := func(c *Config) [6]int {
		return [6]int{c.ReadLimit, c.WriteLimit, c.PartsLimit, c.KeptMegabytes, c.KeptDays, c.Compact}
	}
	if got := limits(newPlace(t, "").load(t)); got != [6]int{10, 5, 100, 512, 30, 92} {
		t.Error(got)
	}
	p := newPlace(t, "read-limit = 20\nwrite-limit = 1\nparts-limit = 7\nkept-megabytes = 9\nkept-days = 60\ncompact = 0\n")
	p.env["STET_COMPACT"] = "50"
	if got := limits(p.load(t)); got != [6]int{20, 1, 7, 9, 60, 50} {
		t.Error(got)
	}
	for _, bad := range []string{
		"read-limit = 0", "read-limit = 1025", "write-limit = -1", "parts-limit = 0", "kept-megabytes = 0", "kept-days = 0", "compact = 9", "compact = 100",
		"kept-days = 180", "kept-days = 40\naudit-days = 40",
	} {
		if _, err := Load(newPlace(t, bad).Source); err == nil || !strings.Contains(err.Error(), strings.Fields(bad)[0]) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	newPlace(t, "kept-days = 400\naudit-days = 0").load(t)
	p = newPlace(t, "")
	p.Workspace = filepath.Join(p.Dir, "tree")
	p.Dir = p.Workspace
	write(t, filepath.Join(p.Workspace, ProjectFile), "write-limit = 50\n")
	if _, err := Load(p.Source); err == nil {
		t.Error("a project sets write-limit")
	}
}

// A variable that is almost one of a setting is named, with the setting's.
func TestMisspelt(t *testing.T) {
	got := Misspelt([]string{"STET_POLCY=off", "STET_POLICY=off", "STET_TOKEN=x", "STET_UPSTREAM_MESAGES=u", "PATH=/bin", "STET_E2E=1"})
	if len(got) != 2 || !strings.Contains(got[0], "STET_POLCY is not known, and sets nothing: did you mean STET_POLICY?") || !strings.Contains(got[1], "STET_UPSTREAM_MESSAGES") {
		t.Errorf("%q", got)
	}
	for value, bad := range map[string]int{"": 0, "proxy.test:3128": 0, "http://u:p@proxy.test": 0, "socks5://[::1]:1080": 0, "not a url": 1, "http://[": 1, ":::": 1} {
		if got := Misspelt([]string{"HTTPS_PROXY=" + value, "NO_PROXY=a b"}); len(got) != bad || bad > 0 && strings.Contains(got[0], value) {
			t.Errorf("%s: %q", value, got)
		}
	}
}

func TestLimits(t *testing.T) {
	const said = "holdout = 5\n[limits]\nconversation = \"$2.50\"\nday = \"2000000 tokens\"\nhard = true\n"
	c := newPlace(t, said).load(t)
	want := Limits{Conversation: Amount{USD: 2.5}, Day: Amount{Tokens: 2_000_000}, Hard: true}
	if diff := cmp.Diff(want, c.Limits); diff != "" || c.Holdout != 5 {
		t.Error(c.Holdout, diff)
	}
	b, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Decode(b); err != nil || again.Limits != want {
		t.Errorf("in another process: %+v, %v", again, err)
	}
	for text, words := range map[string]string{
		"holdout = 1\n":                             "2 to 100, or 0, not 1",
		"[limits]\nday = 5\n":                       `as "$5" or "2000000 tokens"`,
		"[limits]\nday = \"5\"\n":                   `as "$5" or "2000000 tokens"`,
		"[limits]\nday = \"$-5\"\n":                 `as "$5" or "2000000 tokens"`,
		"[limits]\nweek = \"$5\"\n":                 `unknown key "limits.week"`,
		"[limits]\nconversation = \"0 tokens\"\n":   `as "$5" or "2000000 tokens"`,
		"[limits]\nconversation = \"$NaN\"\n":       `as "$5" or "2000000 tokens"`,
		"[limits]\nconversation = \"1e3 tokens\"\n": `as "$5" or "2000000 tokens"`,
	} {
		if _, err := Load(newPlace(t, text).Source); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
