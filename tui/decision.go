package tui

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/stet-dev/stet/approval"
)

// decision is a question before a person, and how far they have come with it.
// What they type goes in line by line, and what follows from it comes out; who
// asks, and how it looks, is not its business.
type decision struct {
	q      approval.Question
	editor bool   // there is one, so that Edit can be offered
	unseen string // what of the question was not shown; "" when all was

	stage   stage
	pending approval.Answer // that the next line is about
}

// stage says what the next line is.
type stage uint8

const (
	choosing   stage = iota // a key of choices
	explaining              // the words of a rejection
	matching                // a pattern
	confirming              // a word that approves what was not shown
	writing                 // whether the edited text is to be written
)

// move is what follows from a line. The zero move is that the next line is
// asked for.
type move struct {
	answer     approval.Answer // with a verdict: the decision
	say        string          // a note for the person
	wrong      error           // what was wrong with the line
	show, edit bool            // the question is to be shown whole, or its text edited
	leave      error           // errNext or errQuit
}

// prompt asks for the next line.
func (c *decision) prompt() string {
	switch c.stage {
	case explaining:
		return "what should the agent know? (Enter: nothing)"
	case matching:
		return fmt.Sprintf("pattern (Enter: %s)", suggestion(c.q.Path))
	case confirming:
		return c.unseen + ". Type yes to approve it unseen (Enter: back):"
	case writing:
		return fmt.Sprintf("write these %s to %s? (y/N)", size(int64(len(c.pending.Content))), c.q.Path)
	}
	return choices(c.q, c.editor)
}

// typed takes a line.
func (c *decision) typed(line string) move {
	line = strings.TrimSpace(line)
	stage := c.stage
	c.stage = choosing
	switch stage {
	case explaining:
		return c.decide(approval.Answer{Verdict: approval.Reject, Words: line})
	case matching:
		if line == "" {
			line = suggestion(c.q.Path)
		}
		return c.decide(approval.Answer{Verdict: approval.ForPattern, Pattern: line})
	case confirming:
		if !strings.EqualFold(line, "yes") {
			return move{say: "not approved"}
		}
		return move{answer: c.pending}
	case writing:
		if !strings.HasPrefix(strings.ToLower(line), "y") {
			return move{}
		}
		return c.decide(c.pending)
	}
	return c.chosen(strings.ToLower(line))
}

// chosen takes one of the choices.
func (c *decision) chosen(key string) move {
	switch key {
	case "a", "approve":
		return c.decide(approval.Answer{Verdict: approval.Approve})
	case "s", "session":
		return c.decide(approval.Answer{Verdict: approval.ForSession})
	case "p", "pattern":
		switch {
		case c.q.Outside():
			return move{wrong: errors.New("there is no path for a pattern: s is for this tool in this session")}
		case !c.q.Grantable:
			return c.decide(approval.Answer{Verdict: approval.ForPattern}) // which says why not
		}
		c.stage = matching
	case "e", "edit":
		if !c.q.Editable || !c.editor {
			return move{wrong: errors.New("this cannot be edited here")}
		}
		return move{edit: true}
	case "r", "reject":
		c.stage = explaining
	case "c", "cancel":
		return c.decide(approval.Answer{Verdict: approval.Cancel})
	case "v", "view":
		return move{show: true}
	case "n", "next":
		return move{leave: errNext}
	case "q", "quit":
		return move{leave: errQuit}
	case "":
	default:
		return move{say: fmt.Sprintf("%q is none of them", key)}
	}
	return move{}
}

// escaped goes back to the choices, and from there cancels.
func (c *decision) escaped() move {
	if c.stage == choosing {
		return c.chosen("cancel")
	}
	c.stage = choosing
	return move{}
}

// edited takes the text as it was before and after the editor had it.
func (c *decision) edited(before, after []byte, err error) move {
	switch {
	case err != nil:
		return move{wrong: err}
	case string(after) == string(before):
		return move{say: "nothing was changed"}
	}
	c.stage, c.pending = writing, approval.Answer{Verdict: approval.Edit, Content: after}
	return move{}
}

// decide makes an answer the decision, if it is one. An approval of what was not
// shown whole is confirmed by a word, lest a key pressed by habit approves it.
// What was edited was seen in the editor.
func (c *decision) decide(a approval.Answer) move {
	a.Seal = c.q.Seal
	if err := c.q.Check(a); err != nil {
		return move{wrong: err}
	}
	if c.unseen != "" && a.Approves() && a.Verdict != approval.Edit {
		c.stage, c.pending = confirming, a
		return move{}
	}
	return move{answer: a}
}

// choices are the keys, those alone that mean something for the question.
func choices(q approval.Question, editor bool) string {
	keys := []string{"[a]pprove"}
	if q.Grantable {
		keys = append(keys, "[s]ession")
	}
	if q.Grantable && !q.Outside() { // which has no path
		keys = append(keys, "[p]attern")
	}
	if q.Editable && editor {
		keys = append(keys, "[e]dit")
	}
	keys = append(keys, "[r]eject", "[c]ancel", "[v]iew all", "[n]ext", "[q]uit")
	return strings.Join(keys, " ") + " >"
}

// suggestion is the pattern that is offered for a path.
func suggestion(p string) string {
	if dir := path.Dir(p); dir != "." {
		return escape(dir) + "/**"
	}
	if ext := path.Ext(p); ext != "" && ext != p {
		return "*" + escape(ext)
	}
	return escape(p)
}

// escape is a name as a pattern that matches it alone.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`, ",", `\,`).Replace(name)
}
