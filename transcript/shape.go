package transcript

import "bytes"

// shape is what a JSON value looks like: the paths in it, to a depth of six,
// with the values of short strings. "messages[].role" → "user", "payload" → "".
// The first value of a path stays.
type shape map[string]string

func (s shape) has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := s[p]; !ok {
			return false
		}
	}
	return true
}

// shapes returns the shapes of the first JSON values in head, n at most. The
// values stand one after the other, as in a file of JSON lines. The last may
// be cut off; where one is damaged, the next line is tried.
func shapes(head []byte, n int) []shape {
	var all []shape
	sc := shapeScanner{b: head}
	for len(all) < n {
		sc.space()
		if sc.i >= len(sc.b) {
			break
		}
		at := sc.i
		sc.shape = shape{}
		ok := sc.value("", 0)
		if len(sc.shape) > 0 {
			all = append(all, sc.shape)
		}
		if sc.i >= len(head) {
			break // cut off
		}
		if !ok {
			nl := bytes.IndexByte(head[at:], '\n')
			if nl < 0 {
				break
			}
			sc.i = at + nl + 1
		}
	}
	return all
}

// shapeScanner reads JSON without checking more of it than it needs.
type shapeScanner struct {
	b     []byte
	i     int
	shape shape
}

const (
	shapeDepth  = 6  // values nested deeper than this are not kept
	nestDepth   = 64 // values nested deeper than this are damaged
	shortString = 80 // longer strings are not kept
)

func (s *shapeScanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n', 0:
			s.i++
		default:
			return
		}
	}
}

// value reads one value. It returns false where the value is damaged or cut
// off; what was seen until then is in the shape.
func (s *shapeScanner) value(path string, depth int) bool {
	s.space()
	if s.i >= len(s.b) || depth > nestDepth {
		return false
	}
	switch s.b[s.i] {
	case '{':
		return s.members(path, depth, '}')
	case '[':
		s.keep(path, depth, "")
		return s.members(path+"[]", depth, ']')
	case '"':
		text, ok := s.str()
		s.keep(path, depth, text)
		return ok
	}
	start := s.i
	for s.i < len(s.b) && bytes.IndexByte([]byte(",]} \t\r\n"), s.b[s.i]) < 0 {
		s.i++
	}
	s.keep(path, depth, "")
	return s.i > start && s.i < len(s.b)
}

func (s *shapeScanner) keep(path string, depth int, text string) {
	if path == "" || depth > shapeDepth {
		return
	}
	if _, seen := s.shape[path]; !seen {
		s.shape[path] = text
	}
}

// members reads an object or an array, up to the closing byte.
func (s *shapeScanner) members(path string, depth int, closing byte) bool {
	s.keep(path, depth, "")
	s.i++
	for {
		s.space()
		if s.i >= len(s.b) {
			return false
		}
		switch s.b[s.i] {
		case closing:
			s.i++
			return true
		case ',':
			s.i++
			continue
		}
		at := path
		if closing == '}' {
			if s.b[s.i] != '"' {
				return false
			}
			key, ok := s.str()
			if !ok {
				return false
			}
			s.space()
			if s.i >= len(s.b) || s.b[s.i] != ':' {
				return false
			}
			s.i++
			if path != "" {
				key = path + "." + key
			}
			at = key
		}
		if !s.value(at, depth+1) {
			return false
		}
	}
}

// str reads a string and returns it as it stands, empty if it is long.
func (s *shapeScanner) str() (string, bool) {
	start := s.i + 1
	for i := start; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '\n':
			s.i = i
			return "", false
		case '"':
			s.i = i + 1
			if i-start > shortString {
				return "", true
			}
			return string(s.b[start:i]), true
		}
	}
	s.i = len(s.b)
	return "", false
}
