// Package tui shows people what they are asked, on a terminal: lines in, lines
// out, nothing that needs a screen of its own.
//
// What comes from an agent or a file is never written to the terminal as it is:
// control and bidirectional characters appear as escapes.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/stet-dev/stet/approval"
)

// Dialog asks a person about one question after the other.
type Dialog struct {
	In     io.Reader // a terminal, or whatever lines come from
	Out    io.Writer
	Color  bool
	Lines  int    // of a diff shown before the person asks for the rest; 0: 100
	Editor string // a shell command for Edit, as in $EDITOR; "": it is not offered

	in     *input
	unseen string // what of the question on the screen was not shown; "" when all was
}

// What a person may want other than to answer.
var (
	errNext = errors.New("left for later")
	errQuit = errors.New("enough")
)

// ask shows a question and waits for the answer, or the end of ctx. content
// fetches what Edit begins with.
func (d *Dialog) ask(ctx context.Context, q approval.Question, content func() ([]byte, error)) (approval.Answer, error) {
	d.input().discard()
	d.show(q, d.lines())
	for {
		d.printf("%s ", d.bold(choices(q, d.Editor != "")))
		line, err := d.input().line(ctx)
		if err != nil {
			d.printf("\n")
			return approval.Answer{}, err
		}
		a, err := d.choose(ctx, q, strings.ToLower(strings.TrimSpace(line)), content)
		if err != nil {
			return a, err
		}
		if a.Verdict == "" {
			continue
		}
		a.Seal = q.Seal
		if err := q.Check(a); err != nil {
			d.complain(err)
			continue
		}
		if sure, err := d.confirm(ctx, q, a); err != nil || sure {
			return a, err
		}
	}
}

// confirm has an approval of what was not shown whole confirmed by a word, lest
// a key pressed by habit approves it. What was edited was seen in the editor.
func (d *Dialog) confirm(ctx context.Context, q approval.Question, a approval.Answer) (bool, error) {
	if d.unseen == "" || !a.Approves() || a.Verdict == approval.Edit {
		return true, nil
	}
	line, err := d.prompt(ctx, d.unseen+". Type yes to approve it unseen (Enter: back): ")
	if err != nil || strings.EqualFold(strings.TrimSpace(line), "yes") {
		return err == nil, err
	}
	d.printf("not approved\n")
	return false, nil
}

func (d *Dialog) input() *input {
	if d.in == nil {
		d.in = &input{r: d.In}
	}
	return d.in
}

func (d *Dialog) lines() int {
	if d.Lines == 0 {
		return 100
	}
	return d.Lines
}

// choices are the keys, those alone that mean something for the question.
func choices(q approval.Question, editor bool) string {
	keys := []string{"[a]pprove"}
	if q.Grantable {
		keys = append(keys, "[s]ession", "[p]attern")
	}
	if q.Editable && editor {
		keys = append(keys, "[e]dit")
	}
	keys = append(keys, "[r]eject", "[c]ancel", "[v]iew all", "[n]ext", "[q]uit")
	return strings.Join(keys, " ") + " >"
}

// choose turns what was typed into an answer. An answer without a verdict
// means that the person is to be asked again.
func (d *Dialog) choose(ctx context.Context, q approval.Question, key string, content func() ([]byte, error)) (approval.Answer, error) {
	switch key {
	case "a", "approve":
		return approval.Answer{Verdict: approval.Approve}, nil
	case "s", "session":
		return approval.Answer{Verdict: approval.ForSession}, nil
	case "p", "pattern":
		return d.pattern(ctx, q)
	case "e", "edit":
		return d.edit(ctx, q, content)
	case "r", "reject":
		words, err := d.prompt(ctx, "what should the agent know? (Enter: nothing) ")
		return approval.Answer{Verdict: approval.Reject, Words: strings.TrimSpace(words)}, err
	case "c", "cancel":
		return approval.Answer{Verdict: approval.Cancel}, nil
	case "v", "view":
		d.show(q, -1)
	case "n", "next":
		return approval.Answer{}, errNext
	case "q", "quit":
		return approval.Answer{}, errQuit
	case "":
	default:
		d.printf("%s\n", d.visible(fmt.Sprintf("%q is none of them", key)))
	}
	return approval.Answer{}, nil
}

func (d *Dialog) pattern(ctx context.Context, q approval.Question) (approval.Answer, error) {
	if !q.Grantable {
		return approval.Answer{Verdict: approval.ForPattern}, nil // Check says why not
	}
	suggested := escape(q.Path)
	if dir := path.Dir(q.Path); dir != "." {
		suggested = escape(dir) + "/**"
	} else if ext := path.Ext(q.Path); ext != "" && ext != q.Path {
		suggested = "*" + escape(ext)
	}
	p, err := d.prompt(ctx, fmt.Sprintf("pattern (Enter: %s) ", suggested))
	if p = strings.TrimSpace(p); p == "" {
		p = suggested
	}
	return approval.Answer{Verdict: approval.ForPattern, Pattern: p}, err
}

// escape is a name as a pattern that matches it alone.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`, ",", `\,`).Replace(name)
}

func (d *Dialog) prompt(ctx context.Context, text string) (string, error) {
	d.printf("%s", d.bold(d.visible(text)))
	return d.input().line(ctx)
}

// edit lets the person change the text, and asks whether it is to be written.
func (d *Dialog) edit(ctx context.Context, q approval.Question, content func() ([]byte, error)) (approval.Answer, error) {
	none := approval.Answer{}
	if !q.Editable || d.Editor == "" {
		d.complain(errors.New("this cannot be edited here"))
		return none, nil
	}
	before, err := content()
	if err != nil {
		d.complain(err)
		return none, nil
	}
	after, err := runEditor(d.Editor, path.Base(q.Path), before, d.In, d.Out)
	if err != nil {
		d.complain(err)
		return none, ctx.Err()
	}
	if string(after) == string(before) {
		d.printf("nothing was changed\n")
		return none, nil
	}
	d.input().discard()
	yes, err := d.prompt(ctx, fmt.Sprintf("write these %s to %s? (y/N) ", size(int64(len(after))), q.Path))
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(yes)), "y") {
		return none, err
	}
	return approval.Answer{Verdict: approval.Edit, Content: after}, nil
}
