package terminal

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/stet-dev/stet/files/approval"
)

// A question is shown, and the person decides about it.

// maxLine is the number of bytes of a line that are shown before the person asks for the rest.
const maxLine = 400

// longDiff is the number of lines of files and of a difference after which title and warnings are repeated.
const longDiff = 15

// question returns the lines of a question, with at most that many lines of its diff; -1: all of them. unseen is a sentence
// on what is not shown, or "".
func (pt painter) question(q approval.Question, most int) (lines []string, unseen string) {
	lines = append(lines, pt.text(bold, q.Title()))
	if from := q.Origin(); from != "" {
		lines = append(lines, pt.text("", from))
	}
	var missing []string
	for i, f := range q.Files {
		if most >= 0 && i == most {
			more := fmt.Sprintf("%d more files", len(q.Files)-most)
			lines = append(lines, pt.paint(yellow, "… "+more+": v shows them"))
			missing = append(missing, more)
			break
		}
		lines = append(lines, pt.text("", "  "+f.Does()))
	}
	var warnings []string
	for _, w := range q.Warnings {
		warnings = append(warnings, pt.text(yellow, "! "+w))
	}
	diff, missingDiff := pt.diff(q.Diff.Text(), most)
	lines, missing = append(append(lines, warnings...), diff...), append(missing, missingDiff...)
	if len(lines)-len(warnings) > longDiff { // what stood above it may be out of sight
		lines = append(append(lines, pt.text(bold, q.Title())), warnings...)
	}
	if q.Partial() {
		missing = append(missing, "what is too large to be shown")
	}
	if len(missing) > 0 {
		unseen = "Not shown: " + strings.Join(missing, ", ")
	}
	return lines, unseen
}

// calledOn names the tool and the file of a question, or the command.
func calledOn(q approval.Question) string {
	if s := q.Subject(); s != q.Tool {
		return strings.TrimSpace(q.Tool + " " + s)
	}
	return q.Tool
}

// diff returns at most that many lines of a diff. missing describes what is not shown.
func (pt painter) diff(text string, most int) (lines, missing []string) {
	if text == "" {
		return nil, nil
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	cut := 0
	for i, line := range all {
		if most >= 0 && i == most {
			more := fmt.Sprintf("%d more lines", len(all)-most)
			lines = append(lines, pt.paint(yellow, "… "+more+": v shows them"))
			missing = append(missing, more)
			break
		}
		if most >= 0 && len(line) > maxLine {
			cut += len(line) - maxLine
			line = strings.ToValidUTF8(line[:maxLine], "") + "…"
		}
		lines = append(lines, pt.text(colorOf(line, i), line))
	}
	if cut > 0 {
		more := fmt.Sprintf("%d bytes of long lines", cut)
		lines = append(lines, pt.paint(yellow, "… "+more+" are not shown: v shows them"))
		missing = append(missing, more)
	}
	return lines, missing
}

// colorOf returns the style of line i of a unified diff.
func colorOf(line string, i int) string {
	switch {
	case i < 2 && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	}
	return ""
}

// decision is the state machine of one answer. Its input is the lines or keys that the person types. Its output is the next
// step. It neither reads nor writes the terminal.
type decision struct {
	q      approval.Question
	editor bool   // the choice Edit is offered
	unseen string // a sentence on what was not shown of the question; "": all was shown

	open func() int // returns the number of open questions; nil: they cannot be listed

	stage   stage
	pending approval.Answer // the answer that the next line confirms
}

// stage says how the next line is interpreted.
type stage uint8

const (
	choosing   stage = iota // one of the choices
	explaining              // a message for the agent, with a rejection
	matching                // a pattern
	confirming              // "yes" approves what was not shown completely
	writing                 // "y" writes the edited text
)

// step is the result of a line or key. At most one field is set. After the zero step, the next line is requested.
type step struct {
	answer     approval.Answer // the decision, if it has a verdict
	note       string          // for the person
	err        error           // what is wrong with the line
	show, edit bool            // show the question completely, or edit its text
	leave      leave           // the question is left without an answer
}

// leave says for what a person leaves a question.
type leave uint8

const (
	stays   leave = iota
	forNext       // the next question
	forList       // the list of questions
	forGood       // they quit
)

// prompt returns the prompt of the next line.
func (c *decision) prompt() string {
	switch c.stage {
	case explaining:
		return "a message for the agent? (Enter: none)"
	case matching:
		return fmt.Sprintf("pattern (Enter: %s)", suggestion(c.q.Path))
	case confirming:
		return c.unseen + ". Type yes to approve it unseen (Enter: back):"
	case writing:
		return fmt.Sprintf("write these %s to %s? (y/N)", approval.Bytes(int64(len(c.pending.Content))), c.q.Path)
	}
	return c.choices()
}

// byKey reports whether a single key can answer the prompt.
func (c *decision) byKey() bool { return c.stage == choosing || c.stage == writing }

// typed processes a line.
func (c *decision) typed(line string) step {
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
			return step{note: "not approved"}
		}
		return step{answer: c.pending}
	case writing:
		if !strings.HasPrefix(strings.ToLower(line), "y") {
			return step{note: "not written; the question is still open"}
		}
		return c.decide(c.pending)
	}
	return c.chosen(strings.ToLower(line))
}

// chosen processes one of the choices.
func (c *decision) chosen(key string) step {
	if c.open != nil && (key == "l" || key == "list") {
		return step{leave: forList}
	}
	switch key {
	case "a", "approve":
		return c.decide(approval.Answer{Verdict: approval.Approve})
	case "s", "session":
		return c.decide(approval.Answer{Verdict: approval.ForSession})
	case "p", "pattern":
		switch {
		case c.q.Outside():
			return step{err: errors.New("there is no path for a pattern: s is for this tool in this session")}
		case c.q.Native:
			return step{err: errors.New("there is no pattern for a tool of the agent's own")}
		case !c.q.Grantable:
			return c.decide(approval.Answer{Verdict: approval.ForPattern}) // the error says why not
		}
		c.stage = matching
	case "e", "edit":
		if !c.q.Editable || !c.editor {
			return step{err: errors.New("this cannot be edited here")}
		}
		return step{edit: true}
	case "r", "reject":
		c.stage = explaining
	case "c", "cancel":
		return c.decide(approval.Answer{Verdict: approval.Cancel})
	case "v", "view":
		return step{show: true}
	case "n", "next":
		return step{leave: forNext}
	case "q", "quit":
		return step{leave: forGood}
	case "?", "help":
		return step{note: c.meanings()}
	case "":
	default:
		return step{note: fmt.Sprintf("%q is not one of these keys; ? explains them", key)}
	}
	return step{}
}

// escaped processes the Escape key. It returns to the choices. At the choices, it cancels the call.
func (c *decision) escaped() step {
	if c.stage == choosing {
		return c.chosen("cancel")
	}
	c.stage = choosing
	return step{}
}

// edited processes the result of the editor: the text before and after.
func (c *decision) edited(before, after []byte, err error) step {
	switch {
	case err != nil:
		return step{err: err}
	case string(after) == string(before):
		return step{note: "nothing was changed"}
	}
	c.stage, c.pending = writing, approval.Answer{Verdict: approval.Edit, Content: after}
	return step{}
}

// decide returns an answer as the decision, if it is valid. To approve a question that was not shown completely, the person
// must type a word, because people press keys by habit. This is not so for an edited text: the person saw it in the editor.
func (c *decision) decide(a approval.Answer) step {
	a.Seal = c.q.Seal
	if err := c.q.Check(a); err != nil {
		return step{err: err}
	}
	if c.unseen != "" && a.Approves() && a.Verdict != approval.Edit {
		c.stage, c.pending = confirming, a
		return step{}
	}
	return step{answer: a}
}

// offered are the choices of the question: how the prompt names each, and what it means.
func (c *decision) offered() [][2]string {
	all := [][2]string{{"[a]pprove", "a  approve this once"}}
	if c.q.Grantable {
		all = append(all, [2]string{"[s]ession", "s  for the rest of the session, approve " + c.q.ForSessionMeans()})
	}
	if c.q.Patterns() {
		all = append(all, [2]string{"[p]attern", "p  approve all writes of this session to paths like this"})
	}
	if c.q.Editable && c.editor {
		all = append(all, [2]string{"[e]dit", "e  change the text first, in an editor"})
	}
	all = append(all, [][2]string{
		{"[r]eject", "r  reject, with a message for the agent if you like"}, {"[c]ancel", "c  cancel the call"}, {"[v]iew all", "v  show the whole change"},
		{"[n]ext", "n  decide later: the next question comes first"},
	}...)
	if c.open != nil {
		name := ""
		if n := c.open(); n > 1 {
			name = fmt.Sprintf("[l]ist of %d", n)
		}
		all = append(all, [2]string{name, "l  list the open questions, and choose one"})
	}
	return append(all, [2]string{"[?]", ""}, [2]string{"[q]uit", "q  leave; the questions stay open"})
}

// choices is the prompt with the keys that the question offers, and meanings explains each, one per line.
func (c *decision) choices() string { return joined(c.offered(), 0, " ") + " >" }

func (c *decision) meanings() string { return joined(c.offered(), 1, "\n") }

// joined joins the texts at an index that are not empty.
func joined(all [][2]string, at int, between string) string {
	var texts []string
	for _, one := range all {
		if one[at] != "" {
			texts = append(texts, one[at])
		}
	}
	return strings.Join(texts, between)
}

// suggestion returns the suggested pattern for a path.
func suggestion(p string) string {
	if dir := path.Dir(p); dir != "." {
		return escape(dir) + "/**"
	}
	if ext := path.Ext(p); ext != "" && ext != p {
		return "*" + escape(ext)
	}
	return escape(p)
}

// escape returns a pattern that matches only this name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`, ",", `\,`).Replace(name)
}
