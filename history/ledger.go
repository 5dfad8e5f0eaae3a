package history

import "github.com/stet-dev/stet/dialect"

// maxPieces is how many earlier results a line may point to; where the lines
// of a read are spread over more, the read is sent in full.
const maxPieces = 4

// ledger knows which lines of which file stand whole in the request.
type ledger struct {
	files   map[string]*file
	bearers []bearer
}

// bearer is a section of a result that stands whole and shows lines first to
// last of a file. It has the name by which a line can point to it.
type bearer struct {
	result      place
	call        string // "" where the id names several calls
	first, last int
}

// file is what is in view of one file.
type file struct {
	pages     map[int]*page // by (line number - 1) / pageLines
	shortened []shortened   // answered with one line and not yet asked for again
	beside    map[string]bool

	// As the newest section in view that knew it had it; the zero value is
	// unknown.
	said     map[string]int // by the row of the dialect: each tool counts in its own way
	final    dialect.Final
	stripped bool
}

const pageLines = 128

// page is what is in view of some lines.
type page [pageLines]line

// line is the newest text in view of one line, and who bears it. The zero
// line was never shown.
type line struct {
	text   string
	bearer int32 // index into ledger.bearers, plus 1
}

// span is a range of lines, inclusive.
type span struct{ first, last int }

func (s span) meets(t span) bool { return s.first <= t.last && t.first <= s.last }

// spanOf returns the lines that a section shows.
func spanOf(s *dialect.Section) span { return span{s.First, s.First + len(s.Lines) - 1} }

// shortened is a range of lines that was answered with one line, and the text
// that this line stands for; "" where it is not known.
type shortened struct {
	span
	text string
}

func (l *ledger) file(key string) *file {
	f := l.files[key]
	if f == nil {
		f = &file{pages: make(map[int]*page), said: make(map[string]int), beside: make(map[string]bool)}
		l.files[key] = f
	}
	return f
}

// show records that a section stands whole in the request. row is the row of
// the dialect that read it.
func (l *ledger) show(key, row string, b bearer, s *dialect.Section) {
	f := l.file(key)
	b.first, b.last = s.First, s.First+len(s.Lines)-1
	l.bearers = append(l.bearers, b)
	id := int32(len(l.bearers))
	var p *page
	for i, text := range s.Lines {
		n := s.First - 1 + i
		if p == nil || n%pageLines == 0 {
			if p = f.pages[n/pageLines]; p == nil {
				p = new(page)
				f.pages[n/pageLines] = p
			}
		}
		p[n%pageLines] = line{text, id}
	}
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

// news reports whether a section says something of its file that is not in
// view, or otherwise than it is in view, beside its lines: that the file has
// grown, say.
func (f *file) news(row string, s *dialect.Section) bool {
	differ := func(a, b int) bool { return a > 0 && b > 0 && a != b }
	return differ(s.Said, f.said[row]) ||
		s.Final != f.final && s.Final != dialect.FinalUnknown && f.final != dialect.FinalUnknown ||
		s.Stripped != f.stripped || s.Beside != "" && !f.beside[s.Beside]
}

// inView returns the bearers of all the lines of s, in runs, if each stands in
// the request with the very same text at the same number, and whether it does.
func (l *ledger) inView(key, row string, s *dialect.Section) ([]piece, bool) {
	f := l.files[key]
	if f == nil || f.news(row, s) {
		return nil, false
	}
	var out []piece
	var p *page
	prev := int32(0)
	for i, text := range s.Lines {
		n := s.First - 1 + i
		if p == nil || n%pageLines == 0 {
			if p = f.pages[n/pageLines]; p == nil {
				return nil, false
			}
		}
		at := &p[n%pageLines]
		if at.bearer == 0 || at.text != text {
			return nil, false
		}
		if at.bearer != prev {
			if len(out) == maxPieces {
				return nil, false
			}
			out = append(out, piece{first: n + 1, bearer: l.bearers[at.bearer-1]})
			prev = at.bearer
		}
		out[len(out)-1].last = n + 1
	}
	return out, true
}

// shorten notes that a read of these lines was answered with one line.
func (l *ledger) shorten(key string, s shortened) {
	f := l.file(key)
	f.shortened = append(f.shortened, s)
}

// asked takes out the ranges answered with one line that meet s, since they
// are asked for again: the answer is the full text. It returns the newest of
// them, and whether there was one.
func (l *ledger) asked(key string, s span) (shortened, bool) {
	f := l.files[key]
	if f == nil {
		return shortened{}, false
	}
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
