package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
)

// partialAnswer is the part of the answer that the model is writing.
type partialAnswer struct {
	index   int
	kind    llm.EventKind // TextDelta, ThinkingDelta or CallDelta
	text    string        // text that is not printed yet; of an answer's text, the last line
	call    string        // the name of the called tool
	written bool          // some of the text was printed
}

// showEvent shows an event of the agent.
func (m *chat) showEvent(e agent.Event) {
	switch e.Kind {
	case agent.Asking:
		m.fill = e.Fill
	case agent.Piece:
		m.piece(e.Piece)
	case agent.Answered:
		m.finish()
	case agent.CallBegins:
		m.finish()
		m.calls = append(m.calls, e.Call)
	case agent.CallEnds:
		m.callEnded(e)
	case agent.Changed:
		m.note(note{text: "changed by another program, and the agent was told: " + strings.Join(pathTexts(e.Paths), ", ")})
	case agent.Warned:
		m.fill = e.Fill
		m.note(note{fmt.Sprintf("the window is %s full; /context says by what, /compact makes room", share(e.Fill)), true})
	case agent.Compacting:
		m.finish()
		m.note(note{text: "the conversation is being summed up"})
		if m.turn != nil {
			m.turn.what = "compacting"
		}
	case agent.Compacted:
		m.note(note{text: "summed up; it goes on as session " + e.To})
		if m.turn != nil {
			m.turn.what = "working"
		}
	case agent.NotCompacted:
		m.note(note{fmt.Sprintf("not summed up: %v", e.Err), true})
	case agent.Reminded:
		m.note(note{text: "the agent was told: " + short(e.Text, 200)})
	}
}

func pathTexts(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = approval.Quoted(p)
	}
	return out
}

// piece adds a piece of the answer.
func (m *chat) piece(e llm.Event) {
	switch e.Kind {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallDelta:
	case llm.CallDone:
		m.finish()
		return
	case llm.Retrying:
		m.finish()
		m.note(note{fmt.Sprintf("%v; again in %v", e.Err, e.Wait.Round(time.Second)), true})
		return
	default:
		return
	}
	if s := &m.answer; s.text != "" && (s.kind != e.Kind || s.index != e.Index) {
		m.finish()
	}
	s := &m.answer
	s.kind, s.index, s.call = e.Kind, e.Index, e.Call.Name
	s.text += e.Text
	if e.Kind == llm.TextDelta {
		m.printWholeLines()
	}
}

// printWholeLines prints the complete lines of the text.
func (m *chat) printWholeLines() {
	s := &m.answer
	for {
		line, rest, whole := strings.Cut(s.text, "\n")
		if !whole {
			return
		}
		s.text = rest
		m.printProse(line)
	}
}

func (m *chat) printProse(line string) {
	line = strings.TrimSuffix(line, "\r")
	if !m.answer.written && strings.TrimSpace(line) == "" {
		return
	}
	m.answer.written = true
	m.print(blockProse, folded(m.prose.line(line)))
}

// finish prints the rest of the part that the model was writing.
func (m *chat) finish() {
	s := m.answer
	switch {
	case s.kind == llm.TextDelta && strings.TrimSpace(s.text) != "":
		m.printProse(s.text)
	case s.kind == llm.ThinkingDelta && strings.TrimSpace(s.text) != "":
		m.print(blockThought, func(columns int) []string { return m.thought(s.text, columns, false) })
	}
	m.answer = partialAnswer{}
	m.prose.fenced = false
}

func (m *chat) callEnded(e agent.Event) {
	m.calls = slices.DeleteFunc(m.calls, func(c llm.Part) bool { return c.CallID == e.Call.CallID })
	text, failed := e.Result.Text, e.Result.Failed()
	if e.Err != nil {
		text, failed = e.Err.Error(), true
	}
	m.print(blockCall, func(columns int) []string {
		return m.call(e.Call, text, failed, durationText(e.Took), columns, false)
	})
}

// working shows the part that the model is writing and the running calls, in at most that many lines.
func (m *chat) working(most int) []string {
	var out []string
	s := m.answer
	switch {
	case s.text == "" && s.call == "":
	case s.kind == llm.TextDelta:
		p := m.prose
		out = fold(p.line(s.text), m.columns())
	case s.kind == llm.ThinkingDelta:
		last := strings.TrimRight(s.text, "\n")
		last = last[strings.LastIndexByte(last, '\n')+1:]
		out = []string{clip(m.words(dim, "✻ "+last), m.columns())}
	case s.kind == llm.CallDelta:
		out = []string{clip(m.line(dim, fmt.Sprintf("○ %s (%s)", s.call, approval.Bytes(int64(len(s.text))))), m.columns())}
	}
	for _, c := range m.calls {
		out = append(out, clip(m.line("", "○ "+callWords(c.Name, c.Args)), m.columns()))
	}
	if over := len(out) - max(most, 0); over > 0 {
		out = out[over:]
	}
	return out
}

// share returns how full the context window is.
func share(f agent.Fill) string {
	if f.Window == 0 {
		return "0%"
	}
	return fmt.Sprintf("%d%%", f.Used*100/f.Window)
}
