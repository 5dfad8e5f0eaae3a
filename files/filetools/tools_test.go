package filetools

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens/exact"
	"github.com/stet-dev/stet/tool"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

// bench is a directory with the tools for it.
type bench struct {
	t       testing.TB
	dir     string
	state   string
	root    *workspace.Root
	tools   *Tools
	set     tool.Set
	session string

	// between is called after a plan is made and before it is applied.
	between func()
	last    *tool.Plan
}

func newBench(t testing.TB, c Config, o workspace.Options) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), state: t.TempDir(), session: "one"}
	o.State = b.state
	root, err := workspace.Open(b.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	c.Root = root
	b.root = root
	if b.tools, err = New(c); err != nil {
		t.Fatal(err)
	}
	if err := b.set.Add(b.tools.All()...); err != nil {
		t.Fatal(err)
	}
	for name, of := range b.tools.Aliases() {
		b.set.Alias(name, of)
	}
	return b
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) put(name, content string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.file(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.file(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(name string) string {
	data, err := os.ReadFile(b.file(name))
	if err != nil {
		return "<" + errors.Unwrap(err).Error() + ">"
	}
	return string(data)
}

func (b *bench) plan(name, args string) *tool.Plan {
	b.t.Helper()
	t, ok := b.set.Get(name)
	if !ok {
		b.t.Fatalf("no tool %s", name)
	}
	p, err := t.Plan(b.t.Context(), tool.Call{ID: "c", Session: b.session, Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		b.t.Fatalf("%s %s: %v", name, args, err)
	}
	return p
}

// call plans a call and applies the plan, like an approval handler that approves everything.
func (b *bench) call(name, args string) tool.Result {
	b.t.Helper()
	p := b.plan(name, args)
	for range 4 {
		b.last = p
		if p.Done != nil {
			return p.Result()
		}
		if b.between != nil {
			f := b.between
			b.between = nil
			f()
		}
		r, err := p.Apply(b.t.Context())
		if err == nil {
			return r
		}
		if !errors.Is(err, tool.ErrChanged) {
			b.t.Fatalf("%s %s: %v", name, args, err)
		}
		if p, err = p.Replan(b.t.Context(), p.Content); err != nil {
			b.t.Fatalf("%s %s: %v", name, args, err)
		}
	}
	b.t.Fatalf("%s %s: changes again and again", name, args)
	return tool.Result{}
}

// op makes a call and returns its decoded result.
func (b *bench) op(name, args string) opResult {
	b.t.Helper()
	return decodeOp(b.t, b.call(name, args))
}

type opResult struct {
	Success      bool
	Content      *string
	LinesRead    *int   `json:"lines_read"`
	BytesWritten *int64 `json:"bytes_written"`
	BackupPath   string `json:"backup_path"`
	Error        string
	Data         map[string]any
	code         tool.Code
}

func decodeOp(t testing.TB, r tool.Result) opResult {
	t.Helper()
	var o opResult
	d := json.NewDecoder(strings.NewReader(r.Text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%s: %v", r.Text, err)
	}
	o.code = r.Code
	// FILE-2, FILE-3: the error is "code: message", and success says the same.
	if o.Success == r.Failed() || r.Failed() && !strings.HasPrefix(o.Error, string(r.Code)+": ") {
		t.Errorf("success, error and code disagree: %s %s", r.Code, r.Text)
	}
	return o
}

func (o opResult) text() string {
	if o.Content == nil {
		return "<none>"
	}
	return *o.Content
}

func args(kv ...any) string {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	data, _ := json.Marshal(m)
	return string(data)
}

// The stories in testdata: a tree, then lines of
//
//	> TOOL ARGUMENTS          call a tool; its result follows
//	* WHAT …                  notes, plan: show what the last call planned
//	$ put NAME "CONTENT"      another program writes a file; also rm, chmod, ln, mkdir
//	$ between put …           the same, after the next plan and before it is applied
//	$ cat NAME                what a file holds follows
//	$ session NAME            go on as another client session
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no stories")
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			want := string(a.Comment)
			c := Config{}
			if strings.Contains(want, "# dedupe") {
				c.Dedupe = &Dedupe{Budget: 1000}
			}
			b := newBench(t, c, workspace.Options{})
			for _, x := range a.Files {
				b.put(x.Name, string(x.Data))
			}
			got := b.tell(want)
			if *update {
				a.Comment = []byte(got)
				if err := os.WriteFile(f, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func (b *bench) tell(story string) string {
	var out strings.Builder
	for line := range strings.Lines(story) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			fmt.Fprintln(&out, line)
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case ">":
			name, arguments, _ := strings.Cut(rest, " ")
			r := b.call(name, arguments)
			fmt.Fprintf(&out, "%s\n%s\n", line, b.mask(r.Text))
		case "*":
			fmt.Fprintln(&out, line)
			switch rest {
			case "notes":
				fmt.Fprintf(&out, "= %s %v\n", b.last.Path, b.last.Notes)
			case "diff":
				for l := range strings.Lines(b.last.Diff.Text()) {
					fmt.Fprintf(&out, "= %s\n", strconv.Quote(strings.TrimSuffix(l, "\n")))
				}
			}
		case "$":
			fmt.Fprintln(&out, line)
			out.WriteString(b.other(rest))
		}
	}
	return out.String()
}

// other does what a line of a story says that another program does.
func (b *bench) other(line string) string {
	b.t.Helper()
	if rest, ok := strings.CutPrefix(line, "between "); ok {
		b.between = func() { b.other(rest) }
		return ""
	}
	word, rest, _ := strings.Cut(line, " ")
	name, arg, _ := strings.Cut(rest, " ")
	var err error
	switch word {
	case "put":
		var content string
		if content, err = strconv.Unquote(arg); err == nil {
			b.put(name, content)
		}
	case "rm":
		err = os.RemoveAll(b.file(name))
	case "mkdir":
		err = os.MkdirAll(b.file(name), 0o755)
	case "chmod":
		var mode uint64
		if mode, err = strconv.ParseUint(arg, 8, 32); err == nil {
			err = os.Chmod(b.file(name), os.FileMode(mode))
		}
	case "ln":
		err = os.Symlink(arg, b.file(name))
	case "hardlink":
		err = os.Link(b.file(arg), b.file(name))
	case "session":
		b.session = name
	case "cat":
		return "= " + strconv.Quote(b.get(name)) + "\n"
	default:
		err = fmt.Errorf("unknown: %s", line)
	}
	if err != nil {
		b.t.Fatal(line, err)
	}
	return ""
}

var masks = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`"time_ms":\d+`), `"time_ms":0`},
	{regexp.MustCompile(`Took \d+ms`), `Took 0ms`},
	{regexp.MustCompile(`"file_mtime_ms":\d+`), `"file_mtime_ms":1`},
	{regexp.MustCompile(`"directory","size":\d+`), `"directory","size":0`},
	{regexp.MustCompile(`"modified":"[^"]+"`), `"modified":"T"`},
	{regexp.MustCompile(`"version":"([0-9a-f]{4})[0-9a-f]{12}"`), `"version":"$1"`},
	{regexp.MustCompile(`\d{8}T\d{6}\.\d{6}-[0-9a-f]+\.bak`), `T.bak`},
	{regexp.MustCompile(`"backups/[^"]*/`), `"backups/D/`},
}

func (b *bench) mask(s string) string {
	s = strings.ReplaceAll(s, b.state, "STATE")
	if real, err := filepath.EvalSymlinks(b.state); err == nil {
		s = strings.ReplaceAll(s, real, "STATE")
	}
	s = strings.ReplaceAll(s, b.dir, "ROOT")
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.to)
	}
	return s
}

// The golden file has what a model is told of the tools: all names, descriptions and schemas. -update writes it.
func TestSpecs(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	var got bytes.Buffer
	for _, s := range b.set.Specs() {
		fmt.Fprintf(&got, "-- %s (read only: %v, destructive: %v)\n%s\n", s.Name, s.ReadOnly, s.Destructive, s.Description)
		if err := json.Indent(&got, s.Schema, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n")
	}
	const golden = "testdata/specs.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the tools changed; -update writes %s, read the difference. They are now:\n%s", golden, got.String())
	}
}

// All names, descriptions and schemas together stay below a number of tokens.
func TestTokens(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	c, err := exact.Counter(prices.VocabularyO200k)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, s := range b.set.Specs() {
		var compact bytes.Buffer
		if err := json.Compact(&compact, s.Schema); err != nil || compact.String() != string(s.Schema) {
			t.Errorf("%s: schema is not compact JSON: %v", s.Name, err)
		}
		whole, _ := json.Marshal(map[string]any{"name": s.Name, "description": s.Description, "inputSchema": s.Schema})
		n := c.Count(string(whole))
		t.Logf("%-12s %4d", s.Name, n)
		all += n
	}
	t.Logf("together %d", all)
	if all >= 1500 {
		t.Errorf("%d tokens, the limit is 1500", all)
	}
}
