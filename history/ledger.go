package history

import (
	"hash/maphash"
	"path"
	"slices"
	"strconv"

	"github.com/stet-dev/stet/dialect"
)

// ledger knows the texts of each file that stand whole in the request: lines
// that a result shows, and lines that a call writes. It holds no versions and
// replays no edit: lines of a new result stand above where the very same text
// does, wherever in the file it was then (see file.match). So after an edit a
// file is in view as the older read around it and the edit's new text.
//
// It is rebuilt by forget, and by admitting once more, in order, what still
// stands.
type ledger struct {
	seed  maphash.Seed
	named map[string]*file // by the last element of the path: the file read last
	files map[string]*file
	short map[string]bool // commands whose output was answered with less, and that were not run again yet
}

// newLedger returns an empty ledger.
func newLedger() ledger {
	return ledger{seed: maphash.MakeSeed(), files: make(map[string]*file), named: make(map[string]*file), short: make(map[string]bool)}
}

// forget empties the ledger.
func (l *ledger) forget() { *l = newLedger() }

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
	first int // the number of lines[0] in the bearer; 0 = it has none
	lines []string
	of    string // the path, where it is of another file
}

// span returns the lines as the bearer numbers them.
func (t *text) span() span { return span{t.first, t.first + len(t.lines) - 1} }

// file is what is in view of one file.
type file struct {
	path      string
	texts     []text      // oldest first
	shortened []shortened // answered with one line and not yet asked for again
	index     lineIndex   // of texts
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

// shortened is a range of lines that was answered with one line, and the text
// of the section it was of; "" where that is not known.
type shortened struct {
	span
	text string
}

func (l *ledger) file(key string) *file {
	f := l.files[key]
	if f == nil {
		f = &file{path: key, index: lineIndex{seed: l.seed}, said: make(map[string]int), beside: make(map[string]bool)}
		l.files[key] = f
	}
	return f
}

// show records that lines of a file stand in the request.
func (f *file) show(b bearer, first int, lines []string) {
	if len(lines) > 0 {
		f.texts = append(f.texts, text{bearer: b, first: first, lines: lines})
	}
}

// read returns the file that is being read. If nothing of it is in view, it
// may be a copy, or have been moved: then what is in view of the last file of
// its name counts.
func (l *ledger) read(key string) *file {
	f := l.file(key)
	other := l.named[path.Base(key)]
	l.named[path.Base(key)] = f
	if other == nil || other == f || len(f.texts) > 0 {
		return f
	}
	f.texts = slices.Clone(other.texts)
	for i := range f.texts {
		if t := &f.texts[i]; t.of == "" {
			t.of = other.path
		}
	}
	return f
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

// asked takes out the ranges answered with one line that meet s, since they
// are asked for again: the answer is the full text. It returns the newest of
// them, and whether there was one.
func (f *file) asked(s span) (shortened, bool) {
	var met shortened
	kept := f.shortened[:0]
	for _, t := range f.shortened {
		if t.meets(s) {
			met = t
		} else {
			kept = append(kept, t)
		}
	}
	again := len(kept) < len(f.shortened)
	f.shortened = kept
	return met, again
}
