package workspace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// span is a line in a file: its first byte, its end, and the start of the next line. end is -1 if it was not
// found.
type span struct{ start, end, next int64 }

// getter reads the text of lines.
type getter struct {
	ctx      context.Context
	t        *text
	enc      Encoding
	replace  bool
	width    int // in characters; -1: no limit
	fellBack bool

	win    []byte // bytes of the file at offset winOff
	winOff int64
}

// window returns n bytes at off, or fewer if the file ends there.
func (g *getter) window(off int64, n int) ([]byte, error) {
	if m, ok := g.t.at.(memory); ok {
		off = min(off, int64(len(m)))
		return m[off:min(int64(len(m)), off+int64(n))], nil
	}
	if off < g.winOff || off+int64(n) > g.winOff+int64(len(g.win)) {
		size := max(n, stride)
		if cap(g.win) < size {
			g.win = make([]byte, size)
		}
		m, err := g.t.at.ReadAt(g.win[:size], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		g.win, g.winOff = g.win[:m], off
	}
	b := g.win[off-g.winOff:]
	return b[:min(len(b), n)], nil
}

// peek finds the end of a line that the index does not cover. It looks only at as many bytes as can be shown of a line.
func (g *getter) peek(start int64, maxBytes int) (span, error) {
	chars, size := g.most(maxBytes)
	n := min(chars*utf8.UTFMax, size+utf8.UTFMax) + 2*len(g.t.nl)
	b, err := g.window(start, n)
	if err != nil {
		return span{}, err
	}
	if i := nextFeed(b, g.t.nl); i >= 0 {
		end := start + int64(i)
		return span{start, end, end + int64(len(g.t.nl))}, nil
	}
	if len(b) < n {
		return span{start, g.t.size, g.t.size}, nil
	}
	return span{start: start, end: -1}, nil
}

// line reads a line from a column on, cut at the width and at maxBytes. It also returns the size of the text in bytes.
func (g *getter) line(s span, column, maxBytes int) (Line, int, error) {
	g.fellBack = false
	end := s.end
	if end < 0 {
		end = g.t.size
	}
	crlf := false
	if s.next > s.end && s.end >= 0 {
		n := int64(len(g.t.nl))
		if end-n >= s.start {
			b, err := g.window(end-n, int(n))
			if err != nil {
				return Line{}, 0, err
			}
			crlf = isReturn(b, g.t.nl)
		}
		if crlf {
			end -= n
		}
	}
	var l Line
	var err error
	if g.enc.coder() == nil {
		l, err = g.plain(s.start, end, column, maxBytes)
	} else {
		l, err = g.coded(s.start, end, column, maxBytes)
	}
	if err != nil {
		return Line{}, 0, err
	}
	if s.end < 0 && l.More == 0 {
		return Line{}, 0, errShrunk
	}
	if l.More == 0 && s.next > s.end {
		l.End = "\n"
		if crlf {
			l.End = "\r\n"
		}
	}
	return l, len(l.Text), nil
}

// isReturn reports whether b is a carriage return in the encoding of nl, a line feed.
func isReturn(b []byte, nl string) bool {
	if len(b) != len(nl) {
		return false
	}
	for i := range b {
		if want := nl[i]; want == '\n' && b[i] != '\r' || want == 0 && b[i] != 0 {
			return false
		}
	}
	return true
}

// most returns how much of a line is shown at most: characters, and bytes.
func (g *getter) most(maxBytes int) (chars, size int) {
	size = max(maxBytes, 1)
	if g.width < 0 || g.width > size {
		return size, size
	}
	return g.width, size
}

// plain reads a line in UTF-8 or ASCII.
func (g *getter) plain(start, end int64, column, maxBytes int) (Line, error) {
	off, skipped, err := g.skip(start, end, column-1)
	if err != nil {
		return Line{}, err
	}
	if skipped < column-1 {
		return Line{}, errColumn()
	}
	chars, size := g.most(maxBytes)
	b, err := g.window(off, int(min(end-off, int64(chars)*utf8.UTFMax, int64(size)+utf8.UTFMax)))
	if err != nil {
		return Line{}, err
	}
	b, n := prefix(b, chars, size)
	if len(b) == 0 && off < end && n == 0 {
		return Line{}, errShrunk
	}
	text, ok := g.enc.decode(b, g.replace)
	if !ok {
		if !g.replace {
			return Line{}, because(ErrEncoding, "it is not "+g.enc.String())
		}
		g.fellBack = true
	}
	l := Line{Column: column, Text: text}
	if off+int64(len(b)) < end {
		l.More = column + n
	}
	return l, nil
}

// prefix cuts b after chars characters, or before the character that exceeds size bytes.
func prefix(b []byte, chars, size int) ([]byte, int) {
	if n := min(len(b), chars, size); asciiPrefix(b[:n]) == n {
		return b[:n], n
	}
	at, n := 0, 0
	for at < len(b) && n < chars {
		_, w := utf8.DecodeRune(b[at:])
		if at+w > size && n > 0 {
			break
		}
		at += w
		n++
	}
	return b[:at], n
}

// skip skips n characters. It returns the offset after them, and the number of skipped characters.
func (g *getter) skip(start, end int64, n int) (int64, int, error) {
	off, done := start, 0
	for done < n && off < end {
		if err := g.ctx.Err(); err != nil {
			return 0, 0, err
		}
		b, err := g.window(off, int(min(end-off, stride)))
		if err != nil {
			return 0, 0, err
		}
		if len(b) == 0 {
			return 0, 0, errShrunk
		}
		if a := asciiPrefix(b); a > 0 {
			a = min(a, n-done)
			off += int64(a)
			done += a
			continue
		}
		at := 0
		for at < len(b) && done < n && b[at] >= utf8.RuneSelf {
			if !utf8.FullRune(b[at:]) && off+int64(len(b)) < end {
				break
			}
			_, w := utf8.DecodeRune(b[at:])
			at += w
			done++
		}
		off += int64(at)
	}
	return off, done, nil
}

// asciiPrefix returns the number of ASCII bytes at the beginning of b.
func asciiPrefix(b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		w := uint64(b[n]) | uint64(b[n+1])<<8 | uint64(b[n+2])<<16 | uint64(b[n+3])<<24 |
			uint64(b[n+4])<<32 | uint64(b[n+5])<<40 | uint64(b[n+6])<<48 | uint64(b[n+7])<<56
		if w&0x8080808080808080 != 0 {
			break
		}
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// wholeLine is the largest size, in bytes, of a line in another encoding that is decoded at once. Such a line is checked
// completely.
const wholeLine = mb

// coded reads a line in another encoding than UTF-8 or ASCII.
func (g *getter) coded(start, end int64, column, maxBytes int) (Line, error) {
	chars, size := g.most(maxBytes)
	var src io.RuneReader
	if end-start <= wholeLine {
		b, err := g.window(start, int(end-start))
		if err != nil {
			return Line{}, err
		}
		text, ok := g.enc.decode(b, g.replace)
		if !ok && !g.replace {
			return Line{}, because(ErrEncoding, "it is not "+g.enc.String())
		}
		g.fellBack = !ok
		src = strings.NewReader(text)
	} else {
		section := io.NewSectionReader(g.t.at, start, end-start)
		src = bufio.NewReader(transform.NewReader(contextReader{g.ctx, section}, g.enc.coder().NewDecoder()))
	}
	return g.take(src, column, chars, size, end-start > wholeLine)
}

// take reads characters from a column on. unchecked means that the source may have invalid characters.
func (g *getter) take(src io.RuneReader, column, chars, size int, unchecked bool) (Line, error) {
	l := Line{Column: column}
	var text strings.Builder
	for n := 1; ; n++ {
		c, _, err := src.ReadRune()
		if errors.Is(err, io.EOF) {
			if n < column {
				return Line{}, errColumn()
			}
			break
		}
		if err != nil {
			return Line{}, err
		}
		if n < column {
			continue
		}
		if n-column >= chars || text.Len()+utf8.RuneLen(c) > size && n > column {
			l.More = n
			break
		}
		if c == utf8.RuneError && unchecked {
			if !g.replace {
				return Line{}, because(ErrEncoding, "it is not "+g.enc.String())
			}
			g.fellBack = true
		}
		text.WriteRune(c)
	}
	l.Text = text.String()
	return l, nil
}

func errColumn() error { return because(ErrRange, "the line is shorter than that column") }
