package dialect

import "strings"

// The output of a command line that only reads files: which part of it shows which lines of which file.

// readShell reads the output of a command that only reads files.
func readShell(in *reading) (Result, bool) {
	excerpts := in.action.excerpts
	if len(excerpts) == 0 {
		return Result{}, in.action.Op == Shell
	}
	o := shellOutput(in.text)
	if i := gap(o.body); i >= 0 {
		o.body, o.cut = o.body[:i], true
	}
	if len(excerpts) > 1 {
		return Result{Sections: split(excerpts, o)}, true
	}
	s := Section{Path: excerpts[0].path, End: len(in.text)}
	s.output(o.body, excerpts[0], o)
	return Result{Failed: s.Failed, Sections: []Section{s}}, true
}

// output reads what one command printed.
func (s *Section) output(body string, p excerpt, o output) {
	if complains(body) {
		s.Failed = true
		return
	}
	if p.numbered {
		s.numbers(body, p, o)
		return
	}
	lines := splitLines(body)
	if o.tty {
		s.Stripped = trimCarriageReturns(lines)
	}
	skip := noise(lines)
	s.Beside = joinNotes(strings.Join(lines[:skip], "\n"), o.beside)
	lines = lines[skip:]
	s.First, s.Lines = p.first, lines
	asked := p.tail
	if p.last > 0 {
		asked = p.last - p.first + 1
	}
	switch n := len(lines); {
	case o.cut:
		s.Cut = true
		if n > 0 && !strings.HasSuffix(body, "\n") {
			s.Lines = lines[:n-1] // may be a part of its line
		}
	case asked > 0 && n > asked:
		s.Cut = true
	case asked > 0 && n == asked:
	case !o.exact:
		s.Cut = true // empty lines at either end may be gone
	case p.tail > 0:
		s.First, s.Total = 1, n
	case n > 0:
		s.Total = p.first + n - 1
	}
	if p.tail > 0 && s.Total == 0 {
		s.First, s.Cut = 0, true
	}
	if anyClipped(s.Lines) {
		s.Cut = true
	}
	if s.Cut {
		s.Total = 0
	}
	s.finish(body, o)
}

// finish says what follows for the whole file: only its last line can lack a
// line end, and a read that got less than it asked for has reached the end.
func (s *Section) finish(body string, o output) {
	s.Said = s.Total
	if final := finalOf(body); o.exact && !s.Cut && len(s.Lines) > 0 && (s.Total > 0 || final == FinalNone) {
		s.Final = final
	}
}

// numbers reads what cat -n or nl printed.
func (s *Section) numbers(body string, p excerpt, o output) {
	n, ok := readNumbered(body, "\t")
	if !ok {
		s.First, s.Cut = p.first, body != "" || !o.exact || p.tail > 0
		return
	}
	s.First, s.Lines = n.first, n.lines
	s.Beside = o.beside
	if o.tty {
		s.Stripped = trimCarriageReturns(s.Lines)
	}
	s.Cut = o.cut || n.clip || n.size < len(body) || p.tail == 0 && n.first != p.first
	if !s.Cut && p.tail == 0 && (p.last == 0 || s.First+len(s.Lines)-1 < p.last) {
		s.Total = s.First + len(s.Lines) - 1
	}
	if s.finish(body, o); s.Final == FinalNewline {
		s.Final = FinalUnknown // nl ends every line
	}
}

// split separates the outputs of several commands, or returns nil.
func split(excerpts []excerpt, o output) []Section {
	if o.cut || o.at < 0 || complains(o.body) {
		return nil
	}
	if excerpts[0].numbered {
		return splitNumbered(excerpts, o)
	}
	lines := splitLines(o.body)
	if noise(lines) > 0 {
		return nil
	}
	sum, ascending := 0, sameFile(excerpts)
	for i, p := range excerpts {
		if p.last == 0 {
			sum = -1 << 31
		}
		sum += p.last - p.first + 1
		ascending = ascending && (i == 0 || p.first > excerpts[i-1].last)
	}
	// Ranges of one file in ascending order fill up one after the other.
	// Others are distinguished only if each printed all that it was asked for.
	if len(lines) != sum && !(ascending && o.exact) {
		return nil
	}
	out := make([]Section, 0, len(excerpts))
	at := o.at
	for _, p := range excerpts {
		n := len(lines)
		if p.last > 0 {
			n = min(n, p.last-p.first+1)
		}
		s := Section{Path: p.path, Start: at, First: p.first, Lines: lines[:n:n]}
		for _, l := range s.Lines {
			at += len(l) + 1
		}
		at = min(at, o.at+len(o.body))
		s.End = at
		if n > 0 && (p.last == 0 || n < p.last-p.first+1) {
			s.Total = p.first + n - 1
		}
		if o.tty {
			s.Stripped = trimCarriageReturns(s.Lines)
		}
		s.Cut, s.Beside = anyClipped(s.Lines), o.beside
		if s.Cut {
			s.Total = 0
		}
		if lines = lines[n:]; len(lines) == 0 {
			s.finish(o.body, o)
		}
		out = append(out, s)
	}
	if len(lines) > 0 {
		return nil
	}
	return out
}

// splitNumbered separates numbered outputs. A new one begins where the line numbers start again.
func splitNumbered(excerpts []excerpt, o output) []Section {
	out := make([]Section, 0, len(excerpts))
	body, at := o.body, o.at
	for i, p := range excerpts {
		n, ok := readNumbered(body, "\t")
		if !ok || n.first != p.first {
			return nil
		}
		if most := p.last - p.first + 1; p.last > 0 && len(n.lines) > most {
			n.size = 0
			for range most {
				n.size += strings.IndexByte(body[n.size:], '\n') + 1
			}
			n.lines = n.lines[:most:most]
		}
		s := Section{Path: p.path, Start: at, End: at + n.size, First: n.first, Lines: n.lines, Cut: n.clip}
		if o.tty {
			s.Stripped = trimCarriageReturns(s.Lines)
		}
		s.Beside = o.beside
		body, at = body[n.size:], s.End
		if i == len(excerpts)-1 && body != "" {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// complains reports whether an output is, or begins or ends with, a reader's
// complaint that it could not read a file.
func complains(body string) bool {
	body = strings.TrimRight(body, "\r\n")
	first, _, _ := strings.Cut(body, "\n")
	return complaint(first) || complaint(body[strings.LastIndexByte(body, '\n')+1:])
}

func complaint(line string) bool {
	name, rest, ok := strings.Cut(line, ": ")
	if !ok || len(line) > 1000 {
		return false
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if !readers[name] && name != "bash" && name != "sh" && name != "zsh" {
		return false
	}
	for _, why := range []string{"No such file or directory", "Is a directory", "Permission denied", "Not a directory", "can't read", "cannot open", "couldn't ", "no such file"} {
		if strings.Contains(rest, why) {
			return true
		}
	}
	return false
}

// noise counts the lines at the beginning that a login shell printed.
func noise(lines []string) int {
	n := 0
	for n < len(lines) && (strings.HasPrefix(lines[n], "mise WARN ") || strings.HasPrefix(lines[n], "bash: warning: ")) {
		n++
	}
	return n
}
