package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// Lines writes the events of an agent as lines. The model's answers go to Out, and everything else goes to Err. If Out is
// not a terminal, the answers are not changed.
type Lines struct {
	Out, Err io.Writer
	Color    bool // use colours on Err

	open bool   // the last line of an answer has no line end yet
	held []byte // the first bytes of an incomplete character
}

// Tell writes an event. It is not safe for concurrent use.
func (l *Lines) Tell(e agent.Event) {
	pt := painter{l.Color}
	switch {
	case e.Kind == agent.Piece && e.Piece.Kind == llm.TextDelta:
		l.write(e.Piece.Text)
	case e.Kind == agent.Piece && e.Piece.Kind == llm.Retrying:
		l.note(fmt.Sprintf("%v; again in %v", e.Piece.Err, e.Piece.Wait.Round(time.Second)))
	case e.Kind == agent.Answered:
		l.End()
	case e.Kind == agent.CallEnds:
		text, failed := e.Result.Text, e.Result.Failed()
		if e.Err != nil {
			text, failed = e.Err.Error(), true
		}
		l.End()
		for _, line := range pt.call(e.Call, text, failed, durationText(e.Took), 1000, false) {
			_, _ = fmt.Fprintln(l.Err, line) // an error must not end the agent's work
		}
	case e.Kind == agent.Changed:
		l.note("changed by another program: " + strings.Join(pathTexts(e.Paths), ", "))
	case e.Kind == agent.Warned:
		l.note("the window is " + share(e.Fill) + " full")
	case e.Kind == agent.Compacted:
		l.note("summed up; it goes on as session " + e.To)
	case e.Kind == agent.NotCompacted:
		l.note(fmt.Sprintf("not summed up: %v", e.Err))
	}
}

func (l *Lines) note(text string) {
	l.End()
	_, _ = fmt.Fprintln(l.Err, painter{l.Color}.words(dim, "· "+text)) // an error must not end the agent's work
}

// write writes a piece of an answer.
func (l *Lines) write(text string) {
	if text == "" {
		return
	}
	if isTerminal(l.Out) {
		text = l.safe(text)
	}
	if text != "" {
		l.open = !strings.HasSuffix(text, "\n")
	}
	_, _ = io.WriteString(l.Out, text) // an error must not end the agent's work
}

// safe returns text that is safe for a terminal. An incomplete character at its end waits for the next piece.
func (l *Lines) safe(text string) string {
	text = string(l.held) + text
	whole := rawjson.WholeRunes([]byte(text))
	l.held = append(l.held[:0], text[whole:]...)
	lines := strings.Split(text[:whole], "\n")
	for i := range lines {
		lines[i] = painter{}.words("", lines[i])
	}
	return strings.Join(lines, "\n")
}

// End writes the line end of an answer's last line, if it is missing.
func (l *Lines) End() {
	if len(l.held) > 0 {
		_, _ = io.WriteString(l.Out, painter{}.words("", string(l.held)))
		l.held = nil
		l.open = true
	}
	if l.open {
		_, _ = io.WriteString(l.Out, "\n")
		l.open = false
	}
}
