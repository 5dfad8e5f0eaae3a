package workspace

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	chars "unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// Encoding is a character encoding of a file. The zero Encoding is UTF-8 without a byte-order mark. Encodings can be compared.
type Encoding struct {
	name string // canonical, "" for utf-8
	bom  bool   // the file begins with a byte-order mark
}

// BOM reports whether a file of this encoding begins with a byte-order mark.
func (e Encoding) BOM() bool { return e.bom }

// String returns the encoding's name, in lower case.
func (e Encoding) String() string {
	return cmp.Or(e.name, "utf-8")
}

// WithBOM returns the encoding with or without a byte-order mark.
func (e Encoding) WithBOM(bom bool) Encoding {
	e.bom = bom && len(e.mark()) > 0
	return e
}

// FindEncoding returns the encoding with an IANA name or alias, in any case, or with a name that Python, Windows or browsers use. "" is
// UTF-8. An unknown name gives ErrEncoding.
func FindEncoding(name string) (Encoding, error) {
	switch n := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", "-")); n {
	case "", "utf-8", "utf8", "unicode-1-1-utf-8":
		return Encoding{}, nil
	case "utf-8-sig", "utf-8-bom":
		return Encoding{bom: true}, nil
	case "ascii", "us-ascii":
		return Encoding{name: "us-ascii"}, nil
	case "utf-16", "utf16":
		return Encoding{name: "utf-16le", bom: true}, nil
	case "utf-32", "utf32":
		return Encoding{name: "utf-32le", bom: true}, nil
	case "utf-16le", "utf-16be", "utf-32le", "utf-32be":
		return Encoding{name: n}, nil
	}
	enc, err := ianaindex.IANA.Encoding(name)
	if err != nil || enc == nil {
		if of := aliasOf(name); of != "" && of != name {
			return FindEncoding(of)
		}
		if enc, err = htmlindex.Get(name); err != nil {
			return Encoding{}, fail("decode", name, ErrEncoding, "no such encoding is known")
		}
	}
	// The name in mail is the usual one: euc-jp, where the register begins with "extended_unix_code".
	canonical, err := ianaindex.MIME.Name(enc)
	if err != nil || canonical == "" {
		if canonical, err = htmlindex.Name(enc); err != nil {
			return Encoding{}, fail("decode", name, ErrEncoding, "no such encoding is known")
		}
	}
	if enc == encoding.Replacement {
		return Encoding{}, fail("decode", name, ErrEncoding, "no such encoding is known")
	}
	return Encoding{name: strings.ToLower(canonical)}, nil
}

// marks are the byte-order marks; the longer of two with the same beginning is first.
var marks = []struct {
	bytes string
	name  string
}{
	{"\xff\xfe\x00\x00", "utf-32le"},
	{"\x00\x00\xfe\xff", "utf-32be"},
	{"\xef\xbb\xbf", ""},
	{"\x84\x31\x95\x33", "gb18030"},
	{"\xff\xfe", "utf-16le"},
	{"\xfe\xff", "utf-16be"},
}

// mark returns the encoding's byte-order mark, or "".
func (e Encoding) mark() string {
	for _, m := range marks {
		if m.name == e.name {
			return m.bytes
		}
	}
	return ""
}

// markIn returns the length of the byte-order mark that data begins with.
func (e Encoding) markIn(data []byte) int {
	if e.bom && bytes.HasPrefix(data, []byte(e.mark())) {
		return len(e.mark())
	}
	return 0
}

// sniff returns the encoding of a file that begins with head: the one of its byte-order mark, or else asked.
func sniff(head []byte, asked Encoding) Encoding {
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return Encoding{name: m.name, bom: true}
		}
	}
	asked.bom = false
	return asked
}

// binaryWithin is the number of first bytes that are searched for a NUL.
const binaryWithin = 8 << 10

// pdfs are the first bytes of PDF files, which may be text in part or whole.
var pdfs = []string{"%PDF-1.", "%PDF-2."}

// signatures are the first bytes of other files that are binary, though there may be no NUL in the part that is searched.
var signatures = []string{
	"PK\x03\x04", "PK\x05\x06", "\x1f\x8b\x08", "BZh91AY&SY", "\xfd7zXZ", "(\xb5/\xfd", "7z\xbc\xaf'\x1c", "Rar!\x1a\x07", "\x04\"M\x18", "\x1f\x9d", "LZIP\x01",
	"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "ID3\x03", "ID3\x04",
	"\x7fELF", "\xca\xfe\xba\xbe", "\xfe\xed\xfa", "\xcf\xfa\xed\xfe", "\xd0\xcf\x11\xe0", "wOFF", "wOF2", "!<arch>\n",
}

// Binary reports whether a file that begins with head is binary.
func Binary(head []byte) bool { return isBinary(head, sniff(head, Encoding{})) }

// isBinary reports whether a file that begins with head is not text in the encoding. A text may begin like another kind of file: it is
// UTF-8 without control characters.
func isBinary(head []byte, e Encoding) bool {
	if strings.HasPrefix(e.name, "utf-16") || strings.HasPrefix(e.name, "utf-32") {
		return false
	}
	head = head[:min(len(head), binaryWithin)]
	begins := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	return bytes.IndexByte(head, 0) >= 0 || slices.ContainsFunc(pdfs, begins) || slices.ContainsFunc(signatures, begins) && !isPlain(head)
}

// isPlain reports whether the beginning of a file is UTF-8 without control characters. The last character may be cut.
func isPlain(head []byte) bool {
	for utf8.FullRune(head) {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 || chars.IsControl(r) && !chars.IsSpace(r) {
			return false
		}
		head = head[n:]
	}
	return true
}

// whyBinary says that a binary file that begins with head seems to be text in UTF-16 without a byte-order mark; else "". Half of the
// bytes of such a text are NUL, if its characters are those of European languages.
func whyBinary(head []byte) string {
	head = head[:min(len(head), binaryWithin)/2*2]
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	name, many := "utf-16be", zeros[0]
	if zeros[1] > zeros[0] {
		name, many = "utf-16le", zeros[1]
	}
	if min(zeros[0], zeros[1]) > 0 || many < 2 || many < len(head)*3/8 {
		return ""
	}
	return "it seems to be " + name + " without a byte-order mark"
}

// coder returns the encoding of x/text, or nil for UTF-8.
func (e Encoding) coder() encoding.Encoding {
	switch e.name {
	case "", "us-ascii":
		return nil
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	enc, err := ianaindex.IANA.Encoding(e.name)
	if err != nil || enc == nil {
		enc, _ = htmlindex.Get(e.name)
	}
	return enc
}

// newline returns the bytes of a line feed. They occur only at multiples of their length. splits is false if they cannot be used
// to split a file into lines.
func (e Encoding) newline() (nl string, splits bool) {
	switch e.name {
	case "utf-16le":
		return "\n\x00", true
	case "utf-16be":
		return "\x00\n", true
	case "utf-32le":
		return "\n\x00\x00\x00", true
	case "utf-32be":
		return "\x00\x00\x00\n", true
	}
	if strings.HasPrefix(e.name, "ibm037") || strings.HasPrefix(e.name, "ibm1047") || strings.HasPrefix(e.name, "ibm01140") {
		return "", false // EBCDIC
	}
	// Stateful encodings return to ASCII before the end of a line.
	return "\n", true
}

// Decode returns the text of a whole file without its byte-order mark, and its encoding: the one of the mark, or else e. Invalid bytes give
// ErrEncoding.
func (e Encoding) Decode(data []byte) (string, Encoding, error) {
	found := sniff(data, e)
	text, ok := found.decode(data[found.markIn(data):], false)
	if !ok {
		return "", found, fail("decode", found.String(), ErrEncoding, "")
	}
	return text, found, nil
}

// decode decodes a part of a text. ok says that all bytes were valid. With replace, invalid bytes become U+FFFD.
func (e Encoding) decode(b []byte, replace bool) (text string, ok bool) {
	c := e.coder()
	if c == nil {
		ok = e.name == "" && utf8.Valid(b) || e.name != "" && isASCII(string(b))
		if ok || !replace {
			return string(b), ok
		}
		return replaceInvalid(b, e.name != ""), false
	}
	out, _, err := transform.Bytes(c.NewDecoder(), b)
	if err != nil {
		return string(out), false
	}
	text = string(out)
	if !strings.ContainsRune(text, utf8.RuneError) {
		return text, true
	}
	// A replacement character that is in the file is valid text.
	back, _, err := transform.Bytes(c.NewEncoder(), out)
	return text, err == nil && bytes.Equal(back, b)
}

// replaceInvalid replaces each invalid byte by a replacement character.
func replaceInvalid(b []byte, ascii bool) string {
	var s strings.Builder
	s.Grow(len(b) + 16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if ascii && b[0] >= utf8.RuneSelf {
			r, n = utf8.RuneError, 1
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

// Encode returns the bytes of a whole file with this text. They begin with the byte-order mark, if the encoding has one. A character that the
// encoding cannot express gives ErrEncoding.
func (e Encoding) Encode(text string) ([]byte, error) {
	c := e.coder()
	if !utf8.ValidString(text) || e.name == "us-ascii" && !isASCII(text) {
		return nil, fail("encode", e.String(), ErrEncoding, "the text has characters that it lacks")
	}
	b := []byte(text)
	if c != nil {
		var err error
		if b, err = e.encodeWith(c, text); err != nil {
			return nil, err
		}
	}
	if e.bom {
		b = append([]byte(e.mark()), b...)
	}
	return b, nil
}

// aliases are common names of encodings that are in neither register, in the form that lettersAndDigits returns. Each maps to a
// registered name.
var aliases = map[string]string{
	"u8": "utf-8", "cp65001": "utf-8", "utf8sig": "utf-8-sig", "utf8bom": "utf-8-sig", "utf8withbom": "utf-8-sig",
	"646": "us-ascii", "ucs2": "utf-16le", "ucs2le": "utf-16le", "ucs2be": "utf-16be",
	"utf16le": "utf-16le", "utf16be": "utf-16be", "utf32le": "utf-32le", "utf32be": "utf-32be",
	"cp1200": "utf-16le", "cp1201": "utf-16be",

	"latin7": "iso-8859-13", "latin9": "iso-8859-15",
	"macroman": "macintosh", "cp10000": "macintosh", "maccyrillic": "x-mac-cyrillic", "koi8r": "koi8-r", "koi8u": "koi8-u",
	"cp874": "windows-874", "tis620": "windows-874",

	"sjis": "shift_jis", "shiftjis": "shift_jis", "cp932": "shift_jis", "mskanji": "shift_jis",
	"eucjp": "euc-jp", "ujis": "euc-jp", "iso2022jp": "iso-2022-jp",
	"euckr": "euc-kr", "cp949": "euc-kr", "uhc": "euc-kr", "ksc5601": "euc-kr",
	"cp936": "gbk", "gb2312": "gbk", "euccn": "gbk", "cp54936": "gb18030", "hz": "hz-gb-2312",
	"cp950": "big5", "big5": "big5", "cp858": "ibm00858", "cp1140": "ibm01140",
}

// aliasOf returns the registered name of an encoding for another spelling: without hyphens, with other hyphens, or as Python and Windows
// name it. It returns "" if there is none.
func aliasOf(name string) string {
	s := lettersAndDigits(name)
	for _, prefix := range []string{"codepage", "windows", "win", "ms", "ibm"} {
		if n, ok := strings.CutPrefix(s, prefix); ok && isNumber(n) {
			s = "cp" + n
		}
	}
	if of, ok := aliases[s]; ok {
		return of
	}
	if n, ok := strings.CutPrefix(s, "cp"); ok && isNumber(n) {
		if len(n) == 4 && strings.HasPrefix(n, "125") {
			return "windows-" + n
		}
		return "ibm" + n
	}
	if n, ok := strings.CutPrefix(s, "latin"); ok && isNumber(n) {
		return "latin" + n
	}
	if n, ok := strings.CutPrefix(strings.TrimPrefix(s, "iso"), "8859"); ok && isNumber(n) {
		return "iso-8859-" + n
	}
	return ""
}

// lettersAndDigits returns only the letters and digits of a name, in lower case.
func lettersAndDigits(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			return c
		case 'A' <= c && c <= 'Z':
			return c - 'A' + 'a'
		case strings.ContainsRune("-_. ", c):
			return -1
		}
		return '?'
	}, name)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
