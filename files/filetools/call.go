package filetools

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// toolDef is the definition of one tool: what it says of itself and what it does.
type toolDef struct {
	name     string // its description for the model is in the file of that name
	params   params
	readOnly bool

	// plan works out what the call would do. A *failure, or an error of workspace
	// that a model can act on, becomes a failed result.
	plan func(ctx context.Context, q *toolCall) (*tool.Plan, error)
	// fail is the text of a failed result; nil: that of a FileOperationResult.
	fail func(q *toolCall, f *failure) string
}

func (d *toolDef) spec(dedupe bool) tool.Spec {
	params := d.params
	if !dedupe {
		params = params.without()
	}
	return tool.Spec{
		Name: d.name, Description: description(d.name), Schema: params.schema(),
		ReadOnly: d.readOnly, Destructive: !d.readOnly,
	}
}

//go:embed *.md
var descriptions embed.FS

// description is the description of a tool as the model gets it: on one line.
func description(name string) string {
	md, err := descriptions.ReadFile(strings.ToLower(name) + ".md")
	if err != nil {
		panic(err) // each tool has a file
	}
	return strings.Join(strings.Fields(string(md)), " ")
}

// fileTool is a definition over a workspace.
type fileTool struct {
	t   *Tools
	def *toolDef
	s   tool.Spec
}

// toolCall is one call, from its arguments to its result.
type toolCall struct {
	*Tools
	def   *toolDef
	call  tool.Call
	args  values
	ses   *session
	began time.Time

	path      string // as the caller gave it
	canonical string // the path of the file that was found, else ""
	options   readOptions
	foreign   bool   // an undo of writes that the session did not make
	excepts   bool   // a pattern with "!" in front has left out a file
	onFailed  func() // called when a failure is handed to the caller; may be nil
	after     string // the session's call before, if that was answered with one line: see session.line
}

func (t *Tools) newCall(def *toolDef, c tool.Call) *toolCall {
	return &toolCall{Tools: t, def: def, call: c, began: t.cfg.Now(), ses: t.session(c.Session)}
}

// Spec implements tool.Tool.
func (f *fileTool) Spec() tool.Spec { return f.s }

// Plan implements tool.Tool.
func (f *fileTool) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	q := f.t.newCall(f.def, c)
	q.after = q.ses.begin(f.t.cfg.Dedupe.tokens(string(c.Arguments)))
	args, err := q.arguments()
	if err == nil {
		q.args, q.path = args, f.t.relative(c, args.str("path"))
		var p *tool.Plan
		if p, err = f.def.plan(ctx, q); err == nil {
			return p, nil
		}
	}
	return q.refuse(err)
}

// Refuse implements tool.Refuser.
func (f *fileTool) Refuse(c tool.Call, code tool.Code, message string) tool.Result {
	q := f.t.newCall(f.def, c)
	if args, err := f.def.params.parse(c.Arguments); err == nil {
		q.path = f.t.relative(c, args.str("path"))
	}
	r, _ := q.failed(&failure{code: code, message: message, verbatim: true})
	return r
}

// relative returns the path of a call as workspace.Root.Path takes it, if the call may
// give it in another form.
func (t *Tools) relative(c tool.Call, path string) string {
	if c.Relative || t.cfg.Relative {
		return path
	}
	return t.root.Relative(path)
}

// done is a plan with nothing to apply. text is called when the result is handed to
// the caller: only then the session has seen it.
func (q *toolCall) done(text func() string) *tool.Plan {
	return q.doneWith(func() (string, *tool.Content, error) { return text(), nil, nil })
}

// doneWith is done with a content that may be apart from the text.
func (q *toolCall) doneWith(deliver func() (string, *tool.Content, error)) *tool.Plan {
	return &tool.Plan{Call: q.call, Path: q.canonical, Done: &tool.Result{CallID: q.call.ID}, Deliver: func() tool.Result {
		text, content, err := deliver()
		if err != nil {
			r, broken := q.failed(err)
			if broken != nil {
				r, _ = q.failed(fail(tool.PermissionDenied, "the file cannot be read"))
			}
			return r
		}
		if content != nil {
			q.ses.spend(int(content.Size / 3))
		}
		r := q.textResult(text)
		r.Content = content
		return r
	}}
}

// doneNow is done with a result that does not depend on when it is delivered.
func (q *toolCall) doneNow(result any) *tool.Plan {
	text := encode(result)
	return q.done(func() string { return text })
}

// textResult is a result with a text, which counts as sent to the session.
func (q *toolCall) textResult(text string) tool.Result {
	q.ses.spend(q.cfg.Dedupe.tokens(text))
	return tool.Result{CallID: q.call.ID, Text: text}
}

// failed is the result of a call that failed. An error that a model cannot act on is
// returned.
func (q *toolCall) failed(err error) (tool.Result, error) {
	f, ok := asFailure(err)
	if !ok {
		return tool.Result{}, err
	}
	if f.code == tool.FileNotFound && !f.verbatim {
		f, _ = asFailure(withAdvice(f, f.code, q.otherName()))
	}
	words := q.def.fail
	if words == nil {
		words = failOperation
	}
	r := q.textResult(words(q, f))
	r.Code, r.Outside = f.code, f.cause != nil && f.cause.Outside
	return r, nil
}

// besidesName is what a path may have that is no part of a name: what people write around it, and numbers of lines.
var besidesName = regexp.MustCompile("^[\\s\\pC@\"'`]+|[\\s\\pC@*/\"'`]+$|(:\\d+)+(-\\d+)?:?$|#L?\\d+(-L?\\d+)?$")

// otherName says what is there in place of a path that names nothing: without what is no part of the name, or in the same directory
// with the same letters in another case or form. "": nothing is known.
func (q *toolCall) otherName() string {
	p, err := q.root.Path(besidesName.ReplaceAllString(q.path, ""))
	if err != nil || q.cfg.Hidden(p.String()) {
		return ""
	}
	if t, err := q.root.Inspect(p); err == nil && t.Exists() && p.String() != q.path {
		return "; there is " + strconv.QuoteToASCII(p.String())
	}
	dir, err := q.root.Path(path.Dir(p.String()))
	if err != nil {
		return ""
	}
	says, n, name := "", 0, plainName(p)
	err = q.visible(context.Background(), dir, workspace.ListOptions{Ignored: true, Depth: 1}, func(e workspace.Entry) error {
		switch n++; {
		case n > maxBeside:
			return fs.SkipAll
		case !strings.EqualFold(plainName(e.Path), name):
		case e.Path.String() != q.path:
			says = "; there is " + strconv.QuoteToASCII(e.Path.String())
		case e.Kind == workspace.Link:
			says = "; it is a link that leads to nothing"
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return says
}

// plainName is the last name of a path in one form of its characters, without what cannot be seen around it.
func plainName(p workspace.Path) string {
	return norm.NFC.String(strings.TrimFunc(path.Base(p.String()), unseen))
}

// maxBeside is the number of names in a directory that are compared with one that is not there.
const maxBeside = 10_000

// refuse is the plan of a call that failed before anything was done.
func (q *toolCall) refuse(err error) (*tool.Plan, error) {
	q.canonical = q.about()
	r, err := q.failed(err)
	if err != nil {
		return nil, err
	}
	p := &tool.Plan{Call: q.call, Path: q.canonical, Done: &r}
	if q.onFailed != nil {
		p.Deliver = func() tool.Result {
			q.onFailed()
			return r
		}
	}
	return p, nil
}

// about is the file that a failed call is about, if it is there. Decisions on the
// call go by it, since the text of the failure may quote the file.
func (q *toolCall) about() string {
	if q.canonical != "" {
		return q.canonical
	}
	p, err := q.root.Resolve(q.args.str("path"))
	if err != nil {
		return ""
	}
	t, err := q.root.Inspect(p)
	if err != nil {
		return ""
	}
	return t.Path.String()
}
