package gitignore

import "strings"

// match reports whether the whole text matches a pattern: "?" is any byte but
// a slash, "*" any run of them, "[…]" one byte of a set, "**" as a component
// any number of components. A backslash takes the next byte as it is.
func match(pattern, text string) bool {
	m := matcher{p: pattern, t: text}
	if strings.Count(pattern, "*") > 2 {
		m.failed = make([]uint64, ((len(pattern)+1)*(len(text)+1)+63)/64)
	}
	return m.from(0, 0)
}

// matcher remembers positions at which the rest does not match. So a pattern takes at most its length times the length of the text.
type matcher struct {
	p, t   string
	failed []uint64
}

func (m *matcher) from(pi, ti int) bool {
	at := pi*(len(m.t)+1) + ti
	if m.failed != nil && m.failed[at/64]&(1<<(at%64)) != 0 {
		return false
	}
	if m.run(pi, ti) {
		return true
	}
	if m.failed != nil {
		m.failed[at/64] |= 1 << (at % 64)
	}
	return false
}

func (m *matcher) run(pi, ti int) bool {
	for pi < len(m.p) {
		c := m.p[pi]
		if c == '*' {
			return m.star(pi, ti)
		}
		if ti >= len(m.t) {
			return false
		}
		switch c {
		case '?':
			if m.t[ti] == '/' {
				return false
			}
			pi++
		case '[':
			n, ok := set(m.p[pi:], m.t[ti])
			if !ok || m.t[ti] == '/' {
				return false
			}
			pi += n
		case '\\':
			if pi++; pi >= len(m.p) {
				return false
			}
			fallthrough
		default:
			if m.p[pi] != m.t[ti] {
				return false
			}
			pi++
		}
		ti++
	}
	return ti == len(m.t)
}

// star matches from a run of stars.
func (m *matcher) star(pi, ti int) bool {
	end := pi
	for end < len(m.p) && m.p[end] == '*' {
		end++
	}
	deep := false
	if end-pi >= 2 && (pi == 0 || m.p[pi-1] == '/') {
		rest := m.p[end:]
		switch {
		case rest == "":
			return true
		case rest[0] == '/':
			deep = true
			if m.from(end+1, ti) { // no component at all
				return true
			}
		case strings.HasPrefix(rest, `\/`):
			deep = true
		}
	}
	if end == len(m.p) {
		return !strings.Contains(m.t[ti:], "/")
	}
	for ; ti <= len(m.t); ti++ {
		if m.from(end, ti) {
			return true
		}
		if ti < len(m.t) && m.t[ti] == '/' && !deep {
			return false
		}
	}
	return false
}

// set reports whether c is in the set at the beginning of p, and the set's length.
func set(p string, c byte) (int, bool) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	found := false
	for first := true; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		if p[i] == ']' && !first {
			return i + 1, found != negated
		}
		if strings.HasPrefix(p[i:], "[:") {
			n, in, valid := class(p[i:], c)
			if !valid {
				return 0, false
			}
			if n > 0 {
				found = found || in
				i += n
				continue
			}
		}
		low, n, ok := member(p[i:])
		if !ok {
			return 0, false
		}
		i += n
		high := low
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			if high, n, ok = member(p[i+1:]); !ok {
				return 0, false
			}
			i += 1 + n
		}
		found = found || low <= c && c <= high
	}
}

// member is one byte of a set, which a backslash may precede.
func member(p string) (c byte, n int, ok bool) {
	if p[0] != '\\' {
		return p[0], 1, true
	}
	if len(p) < 2 {
		return 0, 0, false
	}
	return p[1], 2, true
}

// class reads a class like [:alpha:]. n is 0 if it is not one.
func class(p string, c byte) (n int, in, valid bool) {
	end := strings.IndexByte(p[2:], ']')
	if end < 0 {
		return 0, false, false
	}
	end += 2
	if end < 3 || p[end-1] != ':' {
		return 0, false, true
	}
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	graph := c > ' ' && c < 0x7f
	switch p[2 : end-1] {
	case "alnum":
		in = lower || upper || digit
	case "alpha":
		in = lower || upper
	case "blank":
		in = c == ' ' || c == '\t'
	case "cntrl":
		in = c < ' ' || c == 0x7f
	case "digit":
		in = digit
	case "graph":
		in = graph
	case "lower":
		in = lower
	case "print":
		in = graph || c == ' '
	case "punct":
		in = graph && !lower && !upper && !digit
	case "space":
		in = c == ' ' || c >= '\t' && c <= '\r'
	case "upper":
		in = upper
	case "xdigit":
		in = digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	default:
		return 0, false, false
	}
	return end + 1, in, true
}
