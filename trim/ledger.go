package trim

import (
	"strconv"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// ledger knows the lines that stand whole in the request, and their sources:
// the results that show them and the calls that write them. It holds no versions
// and replays no edit. A line of a new result stands above where the very same text
// does, at whatever number and in whichever file (see match). So after an edit a
// file is in view as the older read around the edit and the edit's new text.
//
// At a cold point a new one is made: everything that stays is deduplicated once more,
// in order.
type ledger struct {
	passages []passage // oldest first
	index    lineIndex // of passages
	files    map[string]*file
	answers  map[string]answer // by command, since a file was changed
}

// passage is lines of a file that stand in a source one below the other.
type passage struct {
	source
	file     *file
	first    int // the number of lines[0] in the source; 0: it has none
	lines    []string
	stripped bool // see dialect.Section
}

// span returns the numbers of the lines in the source.
func (p *passage) span() span { return span{p.first, p.first + len(p.lines) - 1} }

// source is what a pointer names: a result that shows lines, or a call that
// writes them.
type source struct {
	at      PartRef // the result, or the call
	call    string  // its id; "" where the id names several calls
	written bool    // the lines stand in the arguments of the call
	offset  int     // bytes of the request before it
}

// answer is how the last output of a command was sent.
type answer struct {
	shortened bool // pointers stand in it
	normal    bool // it is in its normal form
	message   int  // of the result
}

func newLedger() ledger {
	return ledger{files: make(map[string]*file), answers: make(map[string]answer)}
}

// clear empties the ledger.
func (l *ledger) clear() {
	lines := len(l.index.newest)
	*l = newLedger()
	l.index.expected = lines
}

// expect makes room for the lines of messages to come.
func (l *ledger) expect(messages []llm.Message) {
	n := 0
	for i := range messages {
		for j := range messages[i].Parts {
			n += len(messages[i].Parts[j].Text)
		}
	}
	l.index.expected += n / bytesPerLine
}

// forgetCall takes an id from the sources that have it: another call has it now.
func (l *ledger) forgetCall(id string) {
	id = shortID(id)
	for i := range l.passages {
		if l.passages[i].call == id {
			l.passages[i].call = ""
		}
	}
}

func (l *ledger) file(key string) *file {
	f := l.files[key]
	if f == nil {
		f = &file{ledger: l, key: key, said: make(map[string]int), beside: make(map[string]bool)}
		l.files[key] = f
	}
	return f
}

// file is what is in view of one file.
type file struct {
	ledger   *ledger
	key      string
	passages []int // indexes of ledger.passages
	hidden   []hiddenLines
	beside   map[string]bool // texts beside its lines that are in view

	// As the newest section in view that knew it had it; the zero value is
	// unknown.
	said     map[string]int // lines of the file, by the row of the dialect: each tool counts in its own way
	final    dialect.Final
	stripped bool
}

// hiddenLines is a range of lines that stands in the request only as a placeholder.
// Asked for again, the lines are sent in full.
type hiddenLines struct {
	span
	text    string // of the section it was part of; "" where that is not known
	evicted bool   // the lines may stand nowhere; else a pointer names their source
	message int    // of the result
}

// show records that lines of a file stand in the request.
func (f *file) show(from source, first int, lines []string) {
	f.add(passage{source: from, first: first, lines: lines})
}

// showSection records that the lines of a section stand, except the ranges of
// indexes that pointers replace: half-open and in order.
func (f *file) showSection(from source, s *dialect.Section, replaced []span) {
	at := 0
	for _, g := range append(replaced, span{len(s.Lines), len(s.Lines)}) {
		f.add(passage{source: from, first: s.First + at, lines: s.Lines[at:g.first], stripped: s.Stripped})
		at = g.last
	}
}

func (f *file) add(p passage) {
	if len(p.lines) > 0 {
		p.file = f
		f.passages = append(f.passages, len(f.ledger.passages))
		f.ledger.passages = append(f.ledger.passages, p)
	}
}

// tell records what a section says beside its lines. row is the row of the
// dialect that read it.
func (f *file) tell(row string, s *dialect.Section) {
	if s.Said > 0 {
		f.said[row] = s.Said
	}
	if s.Final != dialect.FinalUnknown {
		f.final = s.Final
	}
	if s.Beside != "" {
		f.beside[s.Beside] = true
	}
	f.stripped = s.Stripped
}

// tellsMore reports whether a section says something beside its lines that is not in
// view, or otherwise than it is in view: that the file has grown, say.
func (f *file) tellsMore(row string, s *dialect.Section) bool {
	return s.Said > 0 && s.Said != f.said[row] ||
		s.Final != f.final && s.Final != dialect.FinalUnknown ||
		s.Stripped != f.stripped || s.Beside != "" && !f.beside[s.Beside]
}

// changed records that the file was edited or written. How long it is, is not known
// any more. A later read asks for what the file is then.
func (f *file) changed() {
	clear(f.said)
	f.final = dialect.FinalUnknown
	f.hidden = f.hidden[:0]
}

// hide records that lines stand only as a placeholder.
func (f *file) hide(h hiddenLines) { f.hidden = append(f.hidden, h) }

// askedAgain takes out the hidden lines that meet s, since a call asks for them
// again: the answer is the full text. It reports whether there were any. Lines that
// were hidden from another call of the same message do not count: the model had not
// seen that when it asked.
func (f *file) askedAgain(s span, c *call) bool {
	kept := f.hidden[:0]
	for _, h := range f.hidden {
		if !h.meets(s) || h.message >= c.at.Message {
			kept = append(kept, h)
		}
	}
	again := len(kept) < len(f.hidden)
	f.hidden = kept
	return again
}

// span is a range of lines, inclusive.
type span struct{ first, last int }

// String returns the range as people write it.
func (s span) String() string {
	if s.first == s.last {
		return strconv.Itoa(s.first)
	}
	return s.both()
}

// both returns the range with its first and last line, also where they are one.
func (s span) both() string { return strconv.Itoa(s.first) + "-" + strconv.Itoa(s.last) }

func (s span) within(t span) bool { return t.first <= s.first && s.last <= t.last }

func (s span) meets(t span) bool { return s.first <= t.last && t.first <= s.last }

// spanOf returns the lines that a section shows.
func spanOf(s *dialect.Section) span { return span{s.First, s.First + len(s.Lines) - 1} }

// numbered reports whether a section shows lines, and their numbers are known.
func numbered(s *dialect.Section) bool {
	return !s.Failed && !s.Unchanged && s.First > 0 && len(s.Lines) > 0
}
