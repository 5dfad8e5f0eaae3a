package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"
)

// A file that is one JSON value is first split by its brackets, and then each piece is decoded. So a damaged message costs
// only this message, and a file that is cut off keeps the messages before the cut.

// Document reads a file that is one JSON object, and calls fn with the value of each member. If the file is an array, it
// calls elem with each element instead. elem may be nil.
func (src *File) Document(fn func(key string, raw []byte) error, elem func(raw []byte) error) error {
	b, err := src.All()
	if err != nil {
		return err
	}
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '[' && elem != nil {
		src.Elements(b, elem)
		return nil
	}
	src.split(b, '{', fn)
	return nil
}

// Elements calls fn with each element of an array. An element for which fn returns an error is recorded as damage.
func (src *File) Elements(raw []byte, fn func(raw []byte) error) {
	src.split(raw, '[', func(_ string, raw []byte) error { return fn(raw) })
}

// split calls fn with each member of an object or each element of an array. A value without an end is passed to fn if it is
// a member that is an array or object. Otherwise it is damage. If raw does not begin with opening, split does nothing.
func (src *File) split(raw []byte, opening byte, fn func(key string, raw []byte) error) {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != opening {
		return
	}
	closing := opening + 2 // '{' + 2 is '}', and '[' + 2 is ']'
	n := 0
	for i++; ; i++ {
		i = space(raw, i)
		if i >= len(raw) {
			src.damage(0, fmt.Sprintf("the file breaks off after %d values of a list", n))
			return
		}
		if raw[i] == closing {
			return
		}
		key := ""
		if opening == '{' {
			end, ok := valueEnd(raw, i)
			if !ok || raw[i] != '"' {
				src.damage(0, fmt.Sprintf("no name at byte %d of an object", i))
				return
			}
			key = str(raw[i:end])
			if i = space(raw, end); i >= len(raw) || raw[i] != ':' {
				src.damage(0, fmt.Sprintf("no value for %q", key))
				return
			}
			i = space(raw, i+1)
		}
		end, ok := valueEnd(raw, i)
		if end == i {
			src.damage(0, fmt.Sprintf("no value at byte %d of a list", i))
			return
		}
		if ok || opening == '{' && (raw[i] == '[' || raw[i] == '{') {
			if err := fn(key, raw[i:end]); err != nil {
				src.damage(0, fmt.Sprintf("value %d of a list: %v", n+1, err))
			}
		} else {
			src.damage(0, fmt.Sprintf("the file breaks off in value %d of a list", n+1))
		}
		if !ok {
			return
		}
		n++
		i = space(raw, end)
		if i < len(raw) && raw[i] == closing {
			return
		}
		if i < len(raw) && raw[i] != ',' {
			src.damage(0, fmt.Sprintf("no comma after value %d of a list", n))
			return
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the end of the value that begins at i. It looks only at brackets and quotes. If the value has no end, ok
// is false and end is len(b).
func valueEnd(b []byte, i int) (end int, ok bool) {
	depth := 0
	for start := i; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i >= len(b) {
				return len(b), false
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return i, i > start
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i, true
			}
			continue
		default:
			if depth > 0 {
				continue
			}
			for i+1 < len(b) && bytes.IndexByte([]byte(",]} \n\t\r"), b[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1, true
		}
	}
	return len(b), false
}

// stringEnd returns the index of the quote that ends the string at i, or len(b).
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// values calls fn with the JSON values of a file. Each value is a line, or one value takes the whole file. It is for
// formats with both forms.
func (src *File) values(like any, fn func(raw []byte) error) error {
	r := src.r
	head := make([]byte, 4096)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head = head[:n]
	src.r = io.MultiReader(bytes.NewReader(head), r)
	first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	first = bytes.TrimSpace(first)
	if last := len(first) - 1; last < 3 || first[last] == '{' || first[last] == '[' || first[last] == ',' {
		b, err := src.All()
		if err != nil {
			return err
		}
		if err := fn(bytes.TrimSpace(b)); err != nil {
			src.damage(0, err.Error())
		}
		return nil
	}
	return src.lines(like, fn)
}

// mostText is the length up to which a text is kept, in bytes. A longer one was in no request, because no model takes so
// much. So a file with a huge text does not take its size in memory several times.
const mostText = 8 << 20

// cutter cuts JSON: the strings that are longer than mostText, and the values of members that nothing reads.
type cutter struct {
	read map[string]reflect.Type // the members of the outermost object that are read, by their names; nil: all

	inString, cutting bool
	n                 int  // bytes of the string so far
	escape            int  // bytes that follow in an escape sequence
	digits            bool // they are digits
	cut               int  // strings that were cut

	depth    int
	name     []byte // of the newest member of the outermost object
	skipping bool   // its value
}

// append appends JSON that follows what was appended before.
func (c *cutter) append(to, b []byte) []byte {
	for _, x := range b {
		switch {
		case !c.inString:
			to = c.outside(to, x)
		case c.escape > 0:
			c.n++
			if c.escape--; c.escape == 0 && x == 'u' && !c.digits {
				c.escape = 4
			}
			c.digits = c.escape > 0
		case x == '"':
			c.inString, c.cutting = false, false
		default:
			if c.n++; c.n > mostText && x < 0x80 && !c.cutting { // not within a character
				c.cutting = true
				c.cut++
			}
			if x == '\\' {
				c.escape = 1
			}
			if c.depth == 1 && len(c.name) < 64 && !c.skipping {
				c.name = append(c.name, x)
			}
		}
		if !c.cutting && !c.skipping {
			to = append(to, x)
		}
	}
	return to
}

// outside takes a byte that is not in a string. A value that is skipped becomes 0.
func (c *cutter) outside(to []byte, x byte) []byte {
	switch x {
	case '"':
		c.inString, c.n = true, 0
		if c.depth == 1 && !c.skipping {
			c.name = c.name[:0]
		}
	case '{', '[':
		c.depth++
	case '}', ']':
		c.depth--
		c.skipping = c.skipping && c.depth > 0
	case ',':
		c.skipping = c.skipping && c.depth > 1
	case ':':
		if c.depth == 1 && c.read != nil && c.read[string(c.name)] == nil {
			c.skipping = true
			to = append(to, ":0"...)
		}
	}
	return to
}

// namesOf returns the members of a struct: their types, by their names in JSON.
func namesOf(t reflect.Type) map[string]reflect.Type {
	names := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			maps.Copy(names, namesOf(f.Type))
		} else if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = f.Type
		}
	}
	return names
}
