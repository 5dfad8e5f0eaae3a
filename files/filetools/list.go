package filetools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// The tools that say what is there: list_files, find_files and file_info. With search_text
// they share the path they look at, a listing with a limit, and what they passed over.

// inspected inspects the path that a call is about; without one the root.
func (q *toolCall) inspected() (workspace.Target, error) {
	if !q.args.has("path") {
		q.path = "."
	}
	p, err := q.root.Path(q.path)
	if err != nil {
		return workspace.Target{}, err
	}
	t, err := q.root.Inspect(p)
	if err != nil {
		return workspace.Target{}, err
	}
	q.canonical = t.Path.String()
	return t, nil
}

// walk visits what is below a directory, without what is hidden. It counts the
// directories that could not be looked into.
func (q *toolCall) walk(ctx context.Context, dir workspace.Path, depth int, out *skipped, visit func(e workspace.Entry) error) error {
	o := workspace.ListOptions{Ignored: q.args.flag("ignored", false), Depth: depth}
	return q.visible(ctx, dir, o, func(e workspace.Entry) error {
		out.directory(e)
		return visit(e)
	})
}

// visible visits what is below a directory, without what is hidden.
func (t *Tools) visible(ctx context.Context, dir workspace.Path, o workspace.ListOptions, visit func(e workspace.Entry) error) error {
	return t.root.Walk(ctx, dir, o, func(e workspace.Entry) error {
		switch {
		case !t.cfg.Hidden(e.Path.String()):
			return visit(e)
		case e.Kind == workspace.Directory:
			return fs.SkipDir
		}
		return nil
	})
}

func mark(k workspace.Kind) string {
	switch k {
	case workspace.Directory:
		return "/"
	case workspace.Link:
		return " (link)"
	case workspace.Special:
		return " (special)"
	}
	return ""
}

// listing gathers lines up to a limit.
type listing struct {
	limit     int
	lines     []string
	size      int
	truncated bool
	skipped   skipped
	none      string // added to the note that no file matches; "": there is no such note
}

// maxListing is the size of a listing, in bytes.
const maxListing = 256 << 10

// add adds a line, or ends the walk.
func (l *listing) add(line string) error {
	if len(l.lines) == l.limit || l.size > maxListing {
		l.truncated = true
		return fs.SkipAll
	}
	l.lines = append(l.lines, line)
	l.size += len(line)
	return nil
}

// listed is the plan of a call that lists.
func (q *toolCall) listed(l *listing, what string) *tool.Plan {
	text := strings.Join(l.lines, "\n")
	data := map[string]any{"path": q.canonical, what: len(l.lines)}
	if l.truncated {
		data["truncated"] = true
	}
	l.skipped.report(data)
	if len(l.lines) == 0 && l.none != "" {
		data["notes"] = []string{"the pattern matches no file" + l.none}
	}
	return q.doneNow(operation{Success: true, Content: &text, Data: data})
}

// maxSkipped is how many of the files that were skipped are named.
const maxSkipped = 10

// skipped counts the files and directories that a search or a listing left out.
type skipped struct {
	count int
	named []string // the first ones, with the reason
}

// file counts a file that cannot be searched. It returns the error instead where that
// ends the search: the call has ended, or the root is not there any more. Binary files
// are counted and not named, since they are not meant to be searched, unless they seem to be text.
func (s *skipped) file(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil || errors.Is(err, workspace.ErrRootGone) || errors.Is(err, fs.ErrClosed) {
		return err
	}
	f, known := asFailure(err)
	switch {
	case !known:
		s.add(name, "it cannot be read")
	case f.seemsText():
		s.add(name, f.message)
	case f.code == tool.BinaryFile:
		s.count++
	case f.cause != nil:
		s.add(name, f.cause.Err.Error())
	default:
		s.add(name, f.message)
	}
	return nil
}

// directory counts a directory that could not be looked into.
func (s *skipped) directory(e workspace.Entry) {
	var cause *workspace.Error
	switch {
	case e.Unreadable == nil:
	case errors.As(e.Unreadable, &cause):
		s.add(e.Path.String()+"/", cause.Err.Error())
	default:
		s.add(e.Path.String()+"/", "it cannot be read")
	}
}

func (s *skipped) add(name, why string) {
	s.count++
	if len(s.named) < maxSkipped {
		s.named = append(s.named, quoted(limits.Shorten(name, 200))+": "+why)
	}
}

// report adds what was skipped to the data of a result.
func (s *skipped) report(data map[string]any) {
	if s.count > 0 {
		data["skipped"] = s.count
	}
	if len(s.named) > 0 {
		data["skipped_files"] = s.named
	}
}

var listFilesTool = &toolDef{
	name: "list_files", readOnly: true, plan: planListFiles,
	params: params{
		{name: "path", typ: "string", def: `"."`},
		{name: "depth", typ: "integer", def: "1", min: 1, max: 100, hasMin: true, quiet: true},
		{name: "ignored", typ: "boolean", about: "also ignored files"},
		{name: "limit", typ: "integer", def: "500", min: 1, max: 5000, hasMin: true, quiet: true},
	},
}

// planListFiles is list_files, which also answers to LS. Directories end in a
// slash; of links it says that they are links.
func planListFiles(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	t, err := q.inspected()
	if err != nil {
		return nil, err
	}
	l := listing{limit: q.args.num("limit", 500)}
	err = q.walk(ctx, t.Path, q.args.num("depth", 1), &l.skipped, func(e workspace.Entry) error {
		return l.add(quoted(e.Path.String()) + mark(e.Kind))
	})
	if err != nil {
		return nil, err
	}
	return q.listed(&l, "entries"), nil
}

var findFilesTool = &toolDef{
	name: "find_files", readOnly: true, plan: planFindFiles,
	params: params{
		{name: "pattern", typ: "string", required: true},
		{name: "path", typ: "string", about: "directory", def: `"."`},
		{name: "ignored", typ: "boolean"},
		{name: "limit", typ: "integer", def: "200", min: 1, max: 5000, hasMin: true, quiet: true},
	},
}

// planFindFiles is find_files.
func planFindFiles(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	matches, err := q.glob("pattern")
	if err != nil {
		return nil, err
	}
	t, err := q.inspected()
	if err != nil {
		return nil, err
	}
	l := listing{limit: q.args.num("limit", 200), none: q.belowPath(q.args.str("pattern"))}
	err = q.walk(ctx, t.Path, 0, &l.skipped, func(e workspace.Entry) error {
		name := e.Path.String()
		switch {
		case !matches(name, t.Path):
			return nil
		case e.Kind == workspace.Directory:
			l.none = matchesDirectory(name)
			return nil
		case e.Kind == workspace.Link:
			return l.add(quoted(name))
		}
		return l.add(quoted(name) + mark(e.Kind))
	})
	if err == nil {
		err = q.wrongForm("pattern", len(l.lines) == 0)
	}
	if err != nil {
		return nil, err
	}
	return q.listed(&l, "files"), nil
}

// matchesDirectory is added to the note that a pattern matches no file.
func matchesDirectory(name string) string {
	return "; it matches the directory " + quoted(name) + "/: give it as path"
}

// belowPath says how a pattern is meant that begins with the path below which it is matched, or with a slash; else "".
func (q *toolCall) belowPath(pattern string) string {
	switch p := q.canonical; {
	case p != "." && strings.HasPrefix(strings.TrimPrefix(pattern, "!"), p+"/"):
		return "; it is matched below " + quoted(p) + ", so leave that out of it"
	case pattern[0] == '/' && q.relative(q.call, pattern) == pattern:
		return "; its first / is the directory that path names, not the root of the disk"
	}
	return ""
}

// below is a path relative to a directory above it.
func below(name string, dir workspace.Path) string {
	if d := dir.String(); d != "." && len(name) > len(d)+1 {
		return name[len(d)+1:]
	}
	return name
}

const maxGlob = 1000 // bytes

// glob returns what the pattern of an argument matches of the paths below a directory. A pattern that begins with the root, as an
// absolute path does, is about the whole workspace. Characters match composed and decomposed. A pattern that begins with "!" matches what the rest does not match, neither itself
// nor a directory above.
func (q *toolCall) glob(arg string) (matches func(name string, dir workspace.Path) bool, err error) {
	pattern, except := strings.CutPrefix(q.args.str(arg), "!")
	if except && noneOf.MatchString(pattern) {
		return nil, badArgument(arg, `there is no !(a|b): "!{a,b}" is all but these.`)
	}
	rel := q.relative(q.call, pattern)
	whole := rel != pattern
	if whole {
		pattern = "/" + rel
	}
	g, err := compileGlob(norm.NFC.String(pattern))
	if err != nil {
		return nil, badArgument(arg, "%v.", err)
	}
	return func(name string, dir workspace.Path) bool {
		if !whole {
			name = below(name, dir)
		}
		name = norm.NFC.String(name)
		if !except {
			return g.Names(name)
		}
		for ; name != "."; name = path.Dir(name) {
			if g.Names(name) {
				q.excepts = true
				return false
			}
		}
		return true
	}, nil
}

// unsupported are forms of other programs' patterns. A pattern that has one and matches nothing was meant otherwise; the same signs
// may be in names.
var unsupported = []struct {
	form *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`^!|!\(`), `the pattern has a "!" that is neither its first sign nor in brackets: there is only "!*.go", all but that; "\!" is the sign itself`},
	{regexp.MustCompile(`(^|[^\\])\|`), "the pattern has alternatives that are not in braces: write {a,b}"},
	{regexp.MustCompile(`[@+?]\([^()/]+\)|^\([^()/]+\)$`), "the pattern has a group in parentheses: write {a,b}, or {a,}"},
	{regexp.MustCompile(`\\[.][\pL\pN]+\$?$|^\^|\.\*.*\$$`), "the pattern is a regular expression; it is a glob here, as *.go"},
	{regexp.MustCompile(`^[\s"'` + "`" + `]|[\s"'` + "`" + `]$`), "the pattern begins or ends with a blank, a line end or a quote, which is matched too: leave it out"},
	{regexp.MustCompile(`^(~|\$\w+|\$\{\w+\})/`), "~ and variables are not expanded; the pattern is matched below the workspace"},
	{regexp.MustCompile(`\{[^{},/]+\.\.[^{},/]+\}`), "the pattern has a range in braces: write [1-3] or {1,2,3}"},
	{regexp.MustCompile(`(^|[^\\])(\\\\)*\\[\pL\pN_*]`), `the pattern has a backslash before a letter or a star: names are separated by "/", and "\*" is the sign itself`},
	{regexp.MustCompile(`[*?]\.\w+([,;]\s*|\s+)[^{}]*[*?]|^[^{}]*\.\w+[,;]\s*[^{}]*\.\w+$`), "the pattern is a list: write {*.go,*.md}"},
}

// noneOf matches what follows the "!" of !(a|b), another form of other programs. (The name of a directory may be in parentheses.)
var noneOf = regexp.MustCompile(`^\([^()]*(\||\)[^/])`)

// wrongForm is the failure of a call whose pattern matches nothing, or excepts nothing, if it has a form that is not supported.
func (q *toolCall) wrongForm(arg string, nothing bool) error {
	pattern, except := strings.CutPrefix(q.args.str(arg), "!")
	for _, u := range unsupported {
		if (nothing || except && !q.excepts) && u.form.MatchString(pattern) {
			return badArgument(arg, "%s.", u.why)
		}
	}
	return nil
}

// partOfName matches a pattern in which "**" is a part of a name.
var partOfName = regexp.MustCompile(`/(\*\*[^/*]|[^/]*[^/*]\*\*)|^(\*\*[^/*]|[^/]*[^/*]\*\*)[^/]*/`)

// compileGlob reads a pattern for paths below a directory. The syntax is that of the
// policy's patterns; "./" begins at the directory too. What it finds is Pattern.Names.
func compileGlob(pattern string) (policy.Pattern, error) {
	switch {
	case len(pattern) > maxGlob:
		return policy.Pattern{}, fmt.Errorf("the pattern has more than %d bytes", maxGlob)
	case slices.Contains(strings.Split(pattern, "/"), ".."):
		return policy.Pattern{}, errors.New(`the pattern holds "..": it is matched against what is in the directory; name another one by path`)
	case partOfName.MatchString(pattern):
		return policy.Pattern{}, errors.New(`the pattern has "**" next to other signs of a name: it is a whole name, as in src/**/*.go`)
	}
	parsed, err := policy.ParsePath(pattern)
	if why := errors.Unwrap(err); why != nil {
		err = fmt.Errorf("the pattern %w", why)
	}
	return parsed, err
}

var fileInfoTool = &toolDef{
	name: "file_info", readOnly: true, plan: planFileInfo,
	params: params{{name: "path", typ: "string", required: true}},
}

// fileInfo is the data of file_info.
type fileInfo struct {
	Path     string `json:"path"`
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"`
	Modified string `json:"modified"`
	Class    string `json:"class,omitempty"` // where it is not ordinary
	ReadOnly bool   `json:"read_only,omitempty"`
	Links    uint64 `json:"links,omitempty"`  // where there are several
	Secret   bool   `json:"secret,omitempty"` // what is in it, its hash among that, is not shown: read it

	Version  string           `json:"version,omitempty"`
	Lines    *int             `json:"lines,omitempty"`
	Encoding string           `json:"encoding,omitempty"`
	Ends     string           `json:"line_ends,omitempty"`
	Binary   bool             `json:"binary,omitempty"`
	Status   freshness.Status `json:"status,omitempty"` // to what this session saw
	Reads    int              `json:"reads,omitempty"`
}

// planFileInfo is file_info.
func planFileInfo(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	info, err := q.inspected()
	if errors.Is(err, workspace.ErrNotFound) {
		return nil, q.deleted(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	d := fileInfo{
		Path: q.canonical, Type: info.Kind.String(), Size: info.Size, Mode: info.Mode.String(),
		Modified: info.ModTime.UTC().Format(time.RFC3339),
	}
	if info.Class != workspace.Ordinary {
		d.Class = info.Class.String()
	}
	if info.Kind == workspace.File {
		d.ReadOnly = !info.Writable
		if info.Links > 1 {
			d.Links = info.Links
		}
		if err := q.describeText(ctx, info.Info, &d); err != nil {
			return nil, err
		}
	}
	return q.doneNow(operation{Success: true, Data: d}), nil
}

// deleted is the failure of file_info of a file that is not there. It says so where this session saw the file before.
func (q *toolCall) deleted(ctx context.Context, notFound error) error {
	p, err := q.root.Path(q.path)
	if err != nil {
		return err
	}
	status, err := q.ses.tracker.Check(ctx, p.String(), freshness.In(q.root))
	if err != nil {
		return err
	}
	if status != freshness.Deleted {
		return notFound
	}
	f := fail(tool.FileNotFound, "the file was removed since this session saw it")
	f.data = map[string]any{"path": p.String(), "status": status}
	return f
}

// describeText looks into a file, if that may be shown. What is too large for that is not looked into.
func (q *toolCall) describeText(ctx context.Context, info workspace.Info, d *fileInfo) error {
	q.learn(ctx, q.canonical)
	status, err := q.ses.tracker.Check(ctx, q.canonical, freshness.In(q.root))
	if err != nil {
		return err
	}
	f, _ := q.ses.tracker.File(q.canonical, info.Stamp)
	d.Status, d.Reads = status, f.Reads
	if q.Withheld(q.canonical) {
		d.Secret = true
		return nil
	}
	c, err := q.root.ReadAll(ctx, info.Path)
	if err != nil {
		if _, known := asFailure(err); known && ctx.Err() == nil {
			return nil
		}
		return err
	}
	d.Version = id(c.Version)
	text, enc, err := decode(c.Data, workspace.Encoding{})
	if err != nil {
		code, _ := asFailure(err)
		if d.Binary = code.code == tool.BinaryFile; !d.Binary || code.seemsText() {
			d.Encoding = "unknown: " + code.message
		}
		return nil
	}
	n := countLines(text)
	d.Lines, d.Encoding = &n, encodingName(enc)
	switch _, name := lineEnds(text); {
	case !strings.ContainsAny(text, "\r\n"):
	case name == "LF" && strings.Contains(text, "\r\n"):
		d.Ends = "mixed"
	default:
		d.Ends = strings.ToLower(name)
	}
	return nil
}
