package transcript

import (
	"maps"
	"reflect"
	"strings"
)

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
