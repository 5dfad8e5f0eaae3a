package mcpserver

import "encoding/json"

// outline finds what a message too long to be kept can be answered under. It is
// read part by part; the zero outline has read nothing.
type outline struct {
	depth           int  // of objects and arrays
	quoted, escaped bool // inside a string; behind a backslash in it
	value           bool // a member's value is read, no longer its name
	word            []byte
	name            string // of the member that is read

	number string // the id
	call   bool   // there is a method, so that an answer is waited for
}

// longestID is the size of the largest id that is kept, in bytes.
const longestID = 256

func (o *outline) read(part []byte) {
	for _, c := range part {
		if o.depth == 1 && (o.quoted || c > ' ') && len(o.word) <= longestID {
			o.word = append(o.word, c)
		}
		switch {
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.escaped, o.quoted = c == '\\', c != '"'
		case c == '"':
			o.quoted = true
		case c == '{' || c == '[':
			if o.depth++; o.depth == 1 {
				o.word = o.word[:0]
			}
		case c == '}' || c == ']':
			if o.depth == 1 {
				o.member()
			}
			o.depth--
		case o.depth == 1 && c == ':' && !o.value:
			o.name, o.value = string(o.word[:len(o.word)-1]), true
			o.word = o.word[:0]
		case o.depth == 1 && c == ',':
			o.member()
		}
	}
}

// member takes note of a member whose value ends with what was read last.
func (o *outline) member() {
	if !o.value {
		return
	}
	switch value := o.word[:len(o.word)-1]; o.name {
	case `"id"`:
		if o.number = ""; len(value) < longestID && isID(value) && json.Valid(value) {
			o.number = string(value)
		}
	case `"method"`:
		o.call = true
	}
	o.value, o.word = false, o.word[:0]
}

// id is the request's, null when it is none or is not one of a request.
func (o *outline) id() []byte {
	if o.number == "" || !o.call {
		return []byte("null")
	}
	return []byte(o.number)
}
