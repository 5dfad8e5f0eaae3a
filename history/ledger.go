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

// bearer is a result that stands whole and shows lines first to last of a file.
type bearer struct {
	call        string
	first, last int
}

// file is what is in view of one file. Line numbers are 1-based.
type file struct {
	lines     []line // index = line number - 1
	total     int    // as the newest read that knew it said; 0 = unknown
	shortened []span // answered with one line and not yet asked for again
}

// line is the newest text in view of one line, and who bears it. The zero
// line was never shown.
type line struct {
	text   string
	bearer int32 // index into ledger.bearers, plus 1
}

// span is a range of lines, inclusive.
type span struct{ first, last int }

func (s span) meets(t span) bool { return s.first <= t.last && t.first <= s.last }

func (l *ledger) file(key string) *file {
	f := l.files[key]
	if f == nil {
		f = &file{}
		l.files[key] = f
	}
	return f
}

// show records that a section stands whole in the request.
func (l *ledger) show(key, call string, s *dialect.Section) {
	f := l.file(key)
	last := s.First + len(s.Lines) - 1
	l.bearers = append(l.bearers, bearer{call, s.First, last})
	id := int32(len(l.bearers))
	for len(f.lines) < last {
		f.lines = append(f.lines, make([]line, last-len(f.lines))...)
	}
	for i, text := range s.Lines {
		f.lines[s.First-1+i] = line{text, id}
	}
	if s.Total > 0 {
		f.total = s.Total
	}
}

// inView returns the bearers of all the lines of s, in runs, if each stands in
// the request with the very same text at the same number, and whether it does.
func (l *ledger) inView(key string, s *dialect.Section) ([]piece, bool) {
	f := l.files[key]
	if f == nil || s.First-1+len(s.Lines) > len(f.lines) {
		return nil, false
	}
	if s.Total > 0 && f.total > 0 && s.Total != f.total {
		return nil, false
	}
	var out []piece
	prev := int32(0)
	for i, text := range s.Lines {
		at := &f.lines[s.First-1+i]
		if at.bearer == 0 || at.text != text {
			return nil, false
		}
		n := s.First + i
		if at.bearer != prev {
			if len(out) == maxPieces {
				return nil, false
			}
			b := l.bearers[at.bearer-1]
			out = append(out, piece{first: n, call: b.call, from: b.first, to: b.last})
			prev = at.bearer
		}
		out[len(out)-1].last = n
	}
	return out, true
}

// shorten notes that a read of these lines was answered with one line.
func (l *ledger) shorten(key string, s span) {
	f := l.file(key)
	f.shortened = append(f.shortened, s)
}

// asked reports whether lines that were answered with one line are asked for
// again, and forgets those: the answer is the full text.
func (l *ledger) asked(key string, s span) bool {
	f := l.files[key]
	if f == nil {
		return false
	}
	kept := f.shortened[:0]
	for _, t := range f.shortened {
		if !t.meets(s) {
			kept = append(kept, t)
		}
	}
	again := len(kept) < len(f.shortened)
	f.shortened = kept
	return again
}
