package workspace

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// Piece is a piece of a file's text that is replaced: bytes Start to End of the text.
type Piece struct {
	Start, End int
	New        string
}

// OneForm reports whether a text has only one form in bytes in this encoding, a byte-order mark aside.
func (e Encoding) OneForm() bool {
	return e.name == "us-ascii" || strings.HasPrefix(e.String(), "utf-")
}

// Splice replaces pieces of a file that holds text in this encoding, in ascending order. No byte of the rest changes, also where the
// encoding has other bytes for the same characters. The result has the byte-order mark that the encoding has. If it does not decode
// to the new text, the error is ErrEncoding.
func (e Encoding) Splice(data []byte, text string, pieces []Piece) ([]byte, error) {
	data = data[sniff(data, e).markIn(data):]
	s := splicer{e: e, data: data, text: text}
	if e.bom {
		s.out = []byte(e.mark())
	}
	head := len(s.out)
	if c := e.coder(); c != nil {
		s.decoder = c.NewDecoder().Transformer
	}
	want := strings.Builder{}
	at := 0
	for _, p := range pieces {
		want.WriteString(text[at:p.Start])
		want.WriteString(p.New)
		at = p.End
		if err := s.replace(p); err != nil {
			return nil, err
		}
	}
	want.WriteString(text[at:])
	s.out = append(s.out, data[s.done:]...)
	if got, _ := e.decode(s.out[head:], false); got != want.String() {
		return nil, fail("encode", e.String(), ErrEncoding, "the new text cannot be written between its neighbours")
	}
	return s.out, nil
}

// splicer is a Splice under way. The decoder has read the first read bytes of data, which are the first shown bytes of text.
type splicer struct {
	e           Encoding
	data, out   []byte
	text        string
	decoder     transform.Transformer // nil: a byte of the text is a byte of the data
	read, shown int
	done        int // bytes of data that are in out, or are replaced
}

func (s *splicer) replace(p Piece) error {
	start := s.offset(p.Start)
	if s.shown < p.Start { // inside of a byte sequence that encodes several characters
		p.New = s.text[s.shown:p.Start] + p.New
	}
	end := s.offset(p.End)
	for at := p.End; s.shown < p.End && at < len(s.text); {
		at++
		end = s.offset(at)
	}
	p.New += s.text[p.End:max(s.shown, p.End)]
	was, tail := s.e.shift(line(s.data, start))
	now, after := s.e.shift(line(s.data, end))
	last := max(end-after, start) // the end without the escape sequences after the piece
	if before, _ := s.e.shift(line(s.data, last)); was == "" && before == "" && isASCII(p.New) {
		end, now = last, "" // ASCII for ASCII: no escape sequence changes
	} else if start-tail >= s.done { // those before the piece go with it
		start -= tail
		was, _ = s.e.shift(line(s.data, start))
	}
	s.out = append(s.out, s.data[s.done:start]...)
	s.done = end
	piece, err := s.e.encodeShifted(p.New, was, now)
	s.out = append(s.out, piece...)
	return err
}

// offset decodes on to a byte of the text, or as near before it as whole byte sequences come, and returns the offset in data.
func (s *splicer) offset(at int) int {
	if s.decoder == nil {
		s.read, s.shown = at, at
		return at
	}
	var buf [4 << 10]byte
	for s.shown < at {
		n, read, err := s.decoder.Transform(buf[:min(at-s.shown, len(buf))], s.data[s.read:], true)
		s.shown, s.read = s.shown+n, s.read+read
		if n == 0 && read == 0 || err != nil && !errors.Is(err, transform.ErrShortDst) {
			break
		}
	}
	return s.read
}

// line returns the part of data from the start of a line to at.
func line(data []byte, at int) []byte { return data[bytes.LastIndexByte(data[:at], '\n')+1 : at] }

// Stateful reports whether escape sequences change the meaning of the bytes after them. All bytes are then ASCII.
func (e Encoding) Stateful() bool { return e.reset() != "" }

// reset returns the escape sequence after which bytes are ASCII, "" if the encoding is not stateful.
func (e Encoding) reset() string {
	switch e.name {
	case "iso-2022-jp":
		return "\x1b(B"
	case "hz-gb-2312":
		return "~}"
	}
	return ""
}

// escape returns the length of the escape sequence that bytes begin with, 0 if there is none.
func (e Encoding) escape(b []byte) int {
	switch reset := e.reset(); {
	case reset == "~}" && (bytes.HasPrefix(b, []byte("~{")) || bytes.HasPrefix(b, []byte("~}"))):
		return 2
	case reset == "" || reset == "~}" || len(b) == 0 || b[0] != 0x1b:
		return 0
	case bytes.HasPrefix(b, []byte("\x1b$(")):
		return min(4, len(b))
	}
	return min(3, len(b))
}

// shift returns the escape sequence that is in force at the end of the beginning of a line, "" for ASCII, and the length of the
// escape sequences at its end.
func (e Encoding) shift(line []byte) (now string, tail int) {
	for e.Stateful() && len(line) > 0 {
		n := e.escape(line)
		switch tail += n; {
		case n > 0:
			if now = string(line[:n]); now == e.reset() {
				now = ""
			}
		case e.reset() == "~}" && (now != "" || line[0] == '~'):
			n, tail = min(2, len(line)), 0
		default:
			n, tail = 1, 0
		}
		line = line[n:]
	}
	return now, tail
}

// encodeShifted returns the bytes of a text that is between bytes under the escape sequence was and bytes under now.
func (e Encoding) encodeShifted(text, was, now string) ([]byte, error) {
	b, err := e.WithBOM(false).Encode(text)
	if err != nil || was == "" && now == "" {
		return b, err
	}
	if now != "" {
		body, ended := bytes.CutSuffix(b, []byte(e.reset()))
		if last, _ := e.shift(line(body, len(body))); ended && last == now {
			b = body
		} else {
			b = append(b, now...)
		}
	}
	switch rest, same := bytes.CutPrefix(b, []byte(was)); {
	case same:
		return rest, nil
	case e.escape(b) > 0:
		return b, nil
	}
	return append([]byte(e.reset()), b...), nil
}

func (e Encoding) encodeWith(c encoding.Encoding, text string) ([]byte, error) {
	pieces := []string{text}
	if e.reset() == "~}" { // the encoder does not end its escapes, neither at a tilde nor at the end
		pieces = strings.Split(text, "~")
	}
	var out []byte
	for i, p := range pieces {
		b, err := c.NewEncoder().Bytes([]byte(p))
		if err != nil {
			return nil, fail("encode", e.String(), ErrEncoding, "the text has characters that it lacks")
		}
		if now, _ := e.shift(line(b, len(b))); now != "" {
			b = append(b, e.reset()...)
		}
		if i > 0 {
			out = append(out, "~~"...)
		}
		out = append(out, b...)
	}
	return out, nil
}
