package gitignore

import "strings"

// match reports whether the whole text matches a pattern: "?" is any byte but
// a slash, "*" any run of them, "[…]" one byte of a set, "**" as a component
// any number of components. A backslash takes the next byte as it is.
//
// Where the rest of the pattern does not match, only the last star and the last
// "**" may take more of the text: whatever an earlier one takes, the later one
// can take too. So a match takes no memory, and at most the length of the
// pattern times the length of the text.
func match(p, t string) bool {
	var star, deep retry
	pi, ti := 0, 0
	for {
		if pi < len(p) && p[pi] == '*' {
			end := pi
			for end < len(p) && p[end] == '*' {
				end++
			}
			component := end-pi >= 2 && (pi == 0 || p[pi-1] == '/')
			switch rest := p[end:]; {
			case component && rest == "":
				return true
			case component && (rest[0] == '/' || strings.HasPrefix(rest, `\/`)):
				star, deep = retry{}, retry{end, ti, true}
				if pi = end; rest[0] == '/' { // it may be no component at all
					pi++
				}
			default:
				star = retry{end, ti, true}
				pi = end
			}
			continue
		}
		if pi == len(p) && ti == len(t) {
			return true
		}
		if n, ok := one(p[pi:], t[ti:]); ok {
			pi, ti = pi+n, ti+1
			continue
		}
		if star.set && star.ti < len(t) && t[star.ti] != '/' {
			star.ti++
			pi, ti = star.pi, star.ti
			continue
		}
		slash := -1
		if deep.set {
			slash = strings.IndexByte(t[deep.ti:], '/')
		}
		if slash < 0 {
			return false
		}
		star = retry{}
		pi, ti = deep.pi, deep.ti+slash
		deep.ti = ti + 1
	}
}

// retry is where a match goes on when a star takes more of the text: at pi in the
// pattern, and with what begins at ti in the text.
type retry struct {
	pi, ti int
	set    bool
}

// one reports whether the first byte of a text matches the beginning of a pattern,
// which is no star, and the length of that.
func one(p, t string) (n int, ok bool) {
	if p == "" || t == "" {
		return 0, false
	}
	switch c := t[0]; p[0] {
	case '?':
		return 1, c != '/'
	case '[':
		n, ok := set(p, c)
		return n, ok && c != '/'
	case '\\':
		return 2, len(p) > 1 && p[1] == c
	default:
		return 1, p[0] == c
	}
}

// set reports whether c is in the set at the beginning of p, and the set's length.
func set(p string, c byte) (int, bool) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	found := false
	closing := 0 // the index of the next "]"
	for first := true; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		if p[i] == ']' && !first {
			return i + 1, found != negated
		}
		if strings.HasPrefix(p[i:], "[:") {
			if closing < i { // looked for once: a set may have very many "[:"
				n := strings.IndexByte(p[i:], ']')
				if n < 0 {
					return 0, false
				}
				closing = i + n
			}
			n, in, valid := class(p[i:closing+1], c)
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

// class reads a class like [:alpha:], from "[:" to the next "]". n is 0 if it is not one.
func class(p string, c byte) (n int, in, valid bool) {
	end := len(p) - 1
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
