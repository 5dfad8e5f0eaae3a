package rawjson

import "bytes"

// stringEnd returns the end of the string literal that begins at body[start],
// which is a quote; -1 if it does not end.
func stringEnd(body []byte, start int) int {
	for i := start + 1; ; {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		if body[i-1] != '\\' {
			return i + 1
		}
		first := i - 1
		for first > start && body[first] == '\\' {
			first--
		}
		i++
		if (i-first)&1 == 0 { // an even number of backslashes
			return i
		}
	}
}

// skip returns the end of the value that begins at body[i], which must not be space. depth is the number of open containers around
// it. On an error, the returned offset is that of the error.
func skip(body []byte, i, depth int) (int, error) {
	if i >= len(body) {
		return i, errEnd
	}
	switch body[i] {
	case '"':
		end := stringEnd(body, i)
		if end < 0 {
			return len(body), errEnd
		}
		return end, nil
	case '{', '[':
		return skipContainer(body, i, depth)
	}
	return skipScalar(body, i)
}

// skipContainer is skip for an object or an array. It moves from quote to quote and checks the bytes between.
func skipContainer(body []byte, i, depth int) (int, error) {
	var objects [maxDepth / 64]uint64
	base := depth
	object := false // the container we are in
	for i < len(body) {
		// A value begins here, or an empty container ends.
		c := body[i]
		switch {
		case c == '"':
			if i = stringEnd(body, i); i < 0 {
				return len(body), errEnd
			}
		case c == '{' || c == '[':
			if depth >= maxDepth-1 {
				return i, errDepth
			}
			depth++
			object = c == '{'
			if object {
				objects[depth>>6] |= 1 << (depth & 63)
			} else {
				objects[depth>>6] &^= 1 << (depth & 63)
			}
			i = skipSpace(body, i+1)
			if i >= len(body) {
				return i, errEnd
			}
			if body[i] != c+2 { // '}' is '{'+2, ']' is '['+2
				if object {
					var err error
					if i, err = skipKey(body, i); err != nil {
						return i, err
					}
				}
				continue
			}
			// empty: closed below
		case c <= ' ' && c != 0:
			n := skipSpace(body, i)
			if n == i {
				return i, errSyntax
			}
			i = n
			continue
		default:
			end, err := skipScalar(body, i)
			if err != nil {
				return end, err
			}
			i = end
		}
		// A value has ended here, or an empty container ends.
	after:
		for {
			if i >= len(body) {
				return i, errEnd
			}
			switch c := body[i]; c {
			case ',':
				i++
				if object {
					var err error
					if i, err = skipKey(body, i); err != nil {
						return i, err
					}
				}
				break after
			case '}', ']':
				if object != (c == '}') {
					return i, errSyntax
				}
				i++
				depth--
				if depth == base {
					return i, nil
				}
				object = objects[depth>>6]>>(depth&63)&1 == 1
			case ' ', '\n', '\r', '\t':
				i++
			default:
				return i, errSyntax
			}
		}
	}
	return i, errEnd
}

// skipKey moves over space, a key, a colon and returns where the value may
// begin (there may be space before it).
func skipKey(body []byte, i int) (int, error) {
	if i < len(body) && body[i] != '"' {
		i = skipSpace(body, i)
	}
	if i >= len(body) {
		return i, errEnd
	}
	if body[i] != '"' {
		return i, errSyntax
	}
	if i = stringEnd(body, i); i < 0 {
		return len(body), errEnd
	}
	if i < len(body) && body[i] != ':' {
		i = skipSpace(body, i)
	}
	if i >= len(body) {
		return i, errEnd
	}
	if body[i] != ':' {
		return i, errSyntax
	}
	return i + 1, nil
}

func skipSpace(body []byte, i int) int {
	for i < len(body) && (body[i] == ' ' || body[i] == '\n' || body[i] == '\r' || body[i] == '\t') {
		i++
	}
	return i
}

// skipScalar is skip for a number, true, false or null.
func skipScalar(body []byte, i int) (int, error) {
	switch body[i] {
	case 't':
		return skipWord(body, i, "true")
	case 'f':
		return skipWord(body, i, "false")
	case 'n':
		return skipWord(body, i, "null")
	}
	return skipNumber(body, i)
}

func skipWord(body []byte, i int, word string) (int, error) {
	if len(body)-i < len(word) || string(body[i:i+len(word)]) != word {
		return i, errSyntax
	}
	return i + len(word), nil
}

func skipNumber(body []byte, i int) (int, error) {
	if i < len(body) && body[i] == '-' {
		i++
	}
	if i < len(body) && body[i] == '0' {
		i++
	} else if n := skipDigits(body, i); n > i {
		i = n
	} else {
		return i, errSyntax
	}
	if i < len(body) && body[i] == '.' {
		n := skipDigits(body, i+1)
		if n == i+1 {
			return n, errSyntax
		}
		i = n
	}
	if i < len(body) && (body[i] == 'e' || body[i] == 'E') {
		i++
		if i < len(body) && (body[i] == '+' || body[i] == '-') {
			i++
		}
		n := skipDigits(body, i)
		if n == i {
			return n, errSyntax
		}
		i = n
	}
	return i, nil
}

func skipDigits(body []byte, i int) int {
	for i < len(body) && '0' <= body[i] && body[i] <= '9' {
		i++
	}
	return i
}
