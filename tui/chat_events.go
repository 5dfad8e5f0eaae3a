package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// stream is the part of the answer that is coming in.
type stream struct {
	index   int
	kind    llm.EventKind // TextDelta, ThinkingDelta or CallDelta
	text    string        // what is not printed yet: of text, its last line
	call    string        // the name of the call
	written bool          // something of the text was printed
}

// running is a call under way.
type running struct {
	call  llm.Part
	since time.Time
	task  string
}

// happen shows what the agent tells.
func (m *chat) happen(e agent.Event) {
	if e.Task != "" && e.Kind != agent.CallBegins && e.Kind != agent.CallEnds {
		return // what a sub-agent says is for its agent
	}
	switch e.Kind {
	case agent.Asking:
		m.fill = e.Fill
	case agent.Piece:
		m.piece(e.Piece)
	case agent.Answered:
		m.finish()
	case agent.CallBegins:
		m.finish()
		m.calls = append(m.calls, running{e.Call, time.Now(), e.Task})
	case agent.CallEnds:
		m.callEnded(e)
	case agent.Changed:
		m.note(noted{text: "changed by somebody else, and the agent was told: " + strings.Join(shownAll(e.Paths), ", ")})
	case agent.Warned:
		m.fill = e.Fill
		m.note(noted{fmt.Sprintf("the window is %s full; /context says by what, /compact makes room", share(e.Fill)), true})
	case agent.Compacting:
		m.finish()
		m.note(noted{text: "the conversation is being summed up"})
		if m.turn != nil {
			m.turn.what = "compacting"
		}
	case agent.Compacted:
		m.note(noted{text: "summed up; it goes on as session " + e.To})
		if m.turn != nil {
			m.turn.what = "working"
		}
	case agent.NotCompacted:
		m.note(noted{fmt.Sprintf("not summed up: %v", e.Err), true})
	case agent.Reminded:
		m.note(noted{text: "the agent was told: " + short(e.Text, 200)})
	}
}

func shownAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = shown(p)
	}
	return out
}

// piece takes a piece of the answer.
func (m *chat) piece(e llm.Event) {
	switch e.Kind {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallDelta:
	case llm.CallDone:
		m.finish()
		return
	case llm.Retrying:
		m.finish()
		m.note(noted{fmt.Sprintf("%v; again in %v", e.Err, e.Wait.Round(time.Second)), true})
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
		m.lines()
	}
}

// lines prints the lines of the text that are whole.
func (m *chat) lines() {
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

// finish prints what is left of the part that came in.
func (m *chat) finish() {
	s := m.answer
	switch {
	case s.kind == llm.TextDelta && strings.TrimSpace(s.text) != "":
		m.printProse(s.text)
	case s.kind == llm.ThinkingDelta && strings.TrimSpace(s.text) != "":
		m.print(blockThought, func(columns int) []string { return m.thought(s.text, columns, false) })
	}
	m.answer = stream{}
	m.prose.fenced = false
}

func (m *chat) callEnded(e agent.Event) {
	m.calls = slices.DeleteFunc(m.calls, func(r running) bool { return r.call.CallID == e.Call.CallID && r.task == e.Task })
	text, failed := e.Result.Text, e.Result.Failed()
	if e.Err != nil {
		text, failed = e.Err.Error(), true
	}
	m.print(blockCall, func(columns int) []string {
		lines := m.call(e.Call, text, failed, took(e.Took), columns, false)
		if e.Task != "" {
			for i := range lines {
				lines[i] = clip("  "+lines[i], columns)
			}
		}
		return lines
	})
}

// coming is what is shown of the part that is coming in, and of what is under
// way, in at most so many lines.
func (m *chat) coming(most int) []string {
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
		out = []string{clip(m.line(dim, fmt.Sprintf("○ %s (%s)", s.call, size(int64(len(s.text))))), m.columns())}
	}
	for _, r := range m.calls {
		mark := "○ "
		if r.task != "" {
			mark = "  ○ "
		}
		out = append(out, clip(m.line("", mark+callWords(r.call.Name, r.call.Args)), m.columns()))
	}
	if over := len(out) - max(most, 0); over > 0 {
		out = out[over:]
	}
	return out
}

// share is how full the window is.
func share(f agent.Fill) string {
	if f.Window == 0 {
		return "0%"
	}
	return fmt.Sprintf("%d%%", f.Used*100/f.Window)
}
