package dialect

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON as agents write it: the members of an object with their positions, in any order, and with keys that are bare words.

// arg is one member of a JSON object: its key, its value as it is in the
// text, and where the value begins there.
type arg struct {
	key, val string
	at       int
}

// args are the members of a JSON object in their order.
type args []arg

// member returns the first of the names that is there and not null.
func (a args) member(names ...string) (arg, bool) {
	for _, n := range names {
		for i := range a {
			if a[i].key == n && a[i].val != "null" {
				return a[i], true
			}
		}
	}
	return arg{}, false
}

// get returns the value of that member.
func (a args) get(names ...string) (string, bool) {
	m, ok := a.member(names...)
	return m.val, ok
}

// base is the byte of a call's arguments at which a JSON object or array begins.
type base int

// noBase is the base of what was decoded from a JSON string.
const noBase base = -1

// span returns where the value of a member of the object or array is, if it is
// a string.
func (b base) span(m arg) Span {
	if _, ok := str(m.val); !ok || b == noBase {
		return Span{}
	}
	return Span{int(b) + m.at, int(b) + m.at + len(m.val)}
}

// inside returns the base of a member's value.
func (b base) inside(m arg) base {
	if _, ok := str(m.val); ok || b == noBase {
		return noBase
	}
	return b + base(m.at)
}

// text returns the string that the first of the names holds, or "".
func (a args) text(names ...string) string {
	v, _ := a.get(names...)
	s, _ := str(v)
	return s
}

// given counts the members that are not null.
func (a args) given() int {
	n := 0
	for i := range a {
		if a[i].val != "null" {
			n++
		}
	}
	return n
}

// others returns the members that are not among known and say something, one
// a line.
func (a args) others(known ...string) string {
	out := ""
	for _, m := range a {
		switch v := scalar(m.val); {
		case slices.Contains(known, m.key), v == "", v == "null", v == "false", v == "[]", v == "{}":
		default:
			out = joinNotes(out, m.key+": "+v)
		}
	}
	return out
}

// number returns the whole number that name holds. A string of digits counts.
func (a args) number(name string) (int, bool) {
	if name == "" {
		return 0, false
	}
	v, ok := a.get(name)
	if !ok {
		return 0, false
	}
	return num(v)
}

// object splits a JSON object. Keys may be bare words, as in JavaScript. It
// reports whether s is an object and nothing else; of what the values hold it
// checks the nesting only.
func object(s string) (args, bool) {
	return make(args, 0, 8).members(s) // small enough to be inlined: a caller that keeps none has them on its stack
}

// members is object, with the members after those that out has.
func (out args) members(s string) (args, bool) {
	i := space(s, 0)
	if i >= len(s) || s[i] != '{' {
		return nil, false
	}
	for i = space(s, i+1); ; i = space(s, i+1) {
		if i >= len(s) {
			return nil, false
		}
		if s[i] == '}' {
			return out, space(s, i+1) == len(s)
		}
		end := i
		var key string
		if s[i] == '"' {
			if end = stringEnd(s, i); end < 0 {
				return nil, false
			}
			key = unquote(s[i:end])
		} else {
			for end < len(s) && isWord(s[end]) {
				end++
			}
			key = s[i:end]
		}
		if i = space(s, end); end == i && key == "" || i >= len(s) || s[i] != ':' {
			return nil, false
		}
		i = space(s, i+1)
		if end = valueEnd(s, i); end < 0 {
			return nil, false
		}
		out = append(out, arg{key, s[i:end], i})
		if i = space(s, end); i >= len(s) || s[i] != ',' && s[i] != '}' {
			return nil, false
		}
		if s[i] == '}' {
			i--
		}
	}
}

// array splits a JSON array.
func array(s string) ([]string, bool) {
	list, ok := items(s)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].val
	}
	return out, true
}

// items splits a JSON array into members without keys.
func items(s string) (args, bool) {
	i := space(s, 0)
	if i >= len(s) || s[i] != '[' {
		return nil, false
	}
	var out args
	for i = space(s, i+1); ; i = space(s, i+1) {
		if i >= len(s) {
			return nil, false
		}
		if s[i] == ']' {
			return out, space(s, i+1) == len(s)
		}
		end := valueEnd(s, i)
		if end < 0 {
			return nil, false
		}
		out = append(out, arg{val: s[i:end], at: i})
		if i = space(s, end); i >= len(s) || s[i] != ',' && s[i] != ']' {
			return nil, false
		}
		if s[i] == ']' {
			i--
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// space returns the index of the first byte from i on that is not white space.
func space(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the JSON string that begins at i, or -1.
func stringEnd(s string, i int) int {
	for j := i + 1; ; {
		k := strings.IndexByte(s[j:], '"')
		if k < 0 {
			return -1
		}
		j += k
		n := 0
		for s[j-1-n] == '\\' {
			n++
		}
		j++
		if n%2 == 0 {
			return j
		}
	}
}

// valueEnd returns the index after the JSON value that begins at i, or -1.
func valueEnd(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				if i = stringEnd(s, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	end := i
	for end < len(s) && s[end] != ',' && s[end] != '}' && s[end] != ']' && space(s, end) == end {
		end++
	}
	if end == i {
		return -1
	}
	return end
}

// str returns the string that the JSON value raw is.
func str(raw string) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// num returns the whole number that raw is, or the string of digits.
func num(raw string) (int, bool) {
	if s, ok := str(raw); ok {
		raw = strings.TrimSpace(s)
	}
	if n, err := strconv.Atoi(raw); err == nil {
		return n, n > -1<<31 && n < 1<<31
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false
	}
	return int(f), true
}

// scalar returns the value as a string: that of a string without quotes.
func scalar(raw string) string {
	if s, ok := str(raw); ok {
		return s
	}
	return raw
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '\'': '\''}

// unquote decodes a JSON string, quotes included. Without escapes it is a
// substring of raw. What is no valid escape stays as it is.
func unquote(raw string) string {
	s := raw[1 : len(raw)-1]
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 && i+1 < len(s) {
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch {
		case c == 'u':
			r, n := hex4(s)
			if n > 0 && r >= 0xd800 && r < 0xdc00 && len(s) >= 10 && s[4] == '\\' && s[5] == 'u' {
				if low, m := hex4(s[6:]); m > 0 && low >= 0xdc00 && low < 0xe000 {
					r, n = (r-0xd800)<<10+(low-0xdc00)+0x10000, 10
				}
			}
			if n == 0 {
				b.WriteString(`\u`)
			} else {
				b.WriteString(string(utf8.AppendRune(nil, r)))
			}
			s = s[n:]
		case escapes[c] != 0:
			b.WriteByte(escapes[c])
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
		i = strings.IndexByte(s, '\\')
	}
	b.WriteString(s)
	return b.String()
}

// hex4 reads four hexadecimal digits: the rune and 4, or 0 bytes.
func hex4(s string) (rune, int) {
	if len(s) < 4 {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[:4], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(n), 4
}
