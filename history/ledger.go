package history

import (
	"hash/maphash"
	"strconv"

	"github.com/stet-dev/stet/dialect"
)

// ledger knows the texts that stand whole in the request: lines that a result
// shows, and lines that a call writes. It holds no versions and replays no
// edit: lines of a new result stand above where the very same text does,
// wherever in the file it was then, and in whichever file (see match). So after
// an edit a file is in view as the older read around it and the edit's new text.
//
// It is rebuilt by forget, and by admitting once more, in order, what still
// stands.
type ledger struct {
	texts []text    // oldest first
	index lineIndex // of texts
	files map[string]*file
	last  map[string]answer // by command, since a file was changed
}

// answer is how the last output of a command was sent.
type answer struct {
	short   bool // lines that stand above already were left out of it
	normal  bool // in its normal form
	message int  // of the result
}

// seen reports whether the model had the answer when it made a call: calls of one
// message are made before any of them is answered.
func (a answer) seen(c *call) bool { return a.message < c.at.message }

// newLedger returns an empty ledger.
func newLedger() ledger {
	return ledger{index: lineIndex{seed: maphash.MakeSeed()}, files: make(map[string]*file), last: make(map[string]answer)}
}

// forget empties the ledger.
func (l *ledger) forget() {
	lines := len(l.index.newest)
	*l = newLedger()
	l.index.expected = lines
}

// unname takes its name from what a call bears, whose id another one has now.
func (l *ledger) unname(id string) {
	id = shortID(id)
	for i := range l.texts {
		if l.texts[i].call == id {
			l.texts[i].call = ""
		}
	}
}

// bearer is what a line of ours points to: a result that shows lines, or a
// call that writes them.
type bearer struct {
	result  place  // of the result of the call
	call    string // "" where the id names several calls
	written bool   // the lines stand in the call's arguments
	at      int    // bytes of the request before it
}

// text is lines of a file that stand in the request one below the other.
type text struct {
	bearer
	file     *file
	first    int // the number of lines[0] in the bearer; 0 = it has none
	lines    []string
	stripped bool // see dialect.Section
}

// span returns the lines as the bearer numbers them.
func (t *text) span() span { return span{t.first, t.first + len(t.lines) - 1} }

// file is what is in view of one file.
type file struct {
	ledger    *ledger
	path      string
	texts     []int       // indexes of ledger.texts
	shortened []shortened // answered with one line and not yet asked for again
	beside    map[string]bool

	// As the newest section in view that knew it had it; the zero value is
	// unknown.
	said     map[string]int // by the row of the dialect: each tool counts in its own way
	final    dialect.Final
	stripped bool
}

// span is a range of lines, inclusive.
type span struct{ first, last int }

// String returns the range as people write it.
func (s span) String() string {
	if s.first == s.last {
		return strconv.Itoa(s.first)
	}
	return strconv.Itoa(s.first) + "-" + strconv.Itoa(s.last)
}

func (s span) meets(t span) bool { return s.first <= t.last && t.first <= s.last }

// spanOf returns the lines that a section shows.
func spanOf(s *dialect.Section) span { return span{s.First, s.First + len(s.Lines) - 1} }

// shortened is a range of lines that was answered with one line, or that has
// left.
type shortened struct {
	span
	text    string // of the section it was of; "" where that is not known
	gone    bool   // it has left, and may stand nowhere
	message int    // of the result
}

func (l *ledger) file(key string) *file {
	f := l.files[key]
	if f == nil {
		f = &file{ledger: l, path: key, said: make(map[string]int), beside: make(map[string]bool)}
		l.files[key] = f
	}
	return f
}

// show records that lines of a file stand in the request.
func (f *file) show(b bearer, first int, lines []string) {
	f.add(text{bearer: b, first: first, lines: lines})
}

// add is show for lines of which more is known.
func (f *file) add(t text) {
	if len(t.lines) > 0 {
		t.file = f
		f.texts = append(f.texts, len(f.ledger.texts))
		f.ledger.texts = append(f.ledger.texts, t)
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

// changed records that the file was edited or written: how long it is is not
// known any more, and who reads it now asks for what it is now.
func (f *file) changed() {
	clear(f.said)
	f.final = dialect.FinalUnknown
	f.shortened = f.shortened[:0]
}

// news reports whether a section says something of its file that is not in
// view, or otherwise than it is in view, beside its lines: that the file has
// grown, say.
func (f *file) news(row string, s *dialect.Section) bool {
	return s.Said > 0 && s.Said != f.said[row] ||
		s.Final != f.final && s.Final != dialect.FinalUnknown ||
		s.Stripped != f.stripped || s.Beside != "" && !f.beside[s.Beside]
}

// shorten notes that a read of these lines was answered with one line.
func (f *file) shorten(s shortened) { f.shortened = append(f.shortened, s) }

// asked takes out the ranges answered with one line that meet s, since the call
// asks for them again: the answer is the full text. It reports whether there was
// one. What the call's own message was answered is none: the model had not seen it.
func (f *file) asked(s span, c *call) bool {
	kept := f.shortened[:0]
	for _, t := range f.shortened {
		if !t.meets(s) || t.message >= c.at.message {
			kept = append(kept, t)
		}
	}
	again := len(kept) < len(f.shortened)
	f.shortened = kept
	return again
}
