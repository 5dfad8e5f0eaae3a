package rpclines

import (
	"bytes"
	"encoding/json"
)

// longLine finds the id of a request that is too long to be kept. It reads the line in parts; the zero longLine is ready to use.
type longLine struct {
	depth           int  // number of open objects and arrays
	quoted, escaped bool // in a string; after a backslash in it
	value           bool // reading a member's value, not its name
	word            []byte
	name            string // name of the current member

	id   json.RawMessage // nil: no usable id
	call bool            // it has a method: the sender waits for an answer
}

// longestID is the size of the largest id that is kept, in bytes.
const longestID = 256

func (l *longLine) read(part []byte) {
	for _, c := range part {
		if l.depth == 1 && (l.quoted || c > ' ') && len(l.word) <= longestID {
			l.word = append(l.word, c)
		}
		switch {
		case l.escaped:
			l.escaped = false
		case l.quoted:
			l.escaped, l.quoted = c == '\\', c != '"'
		case c == '"':
			l.quoted = true
		case c == '{' || c == '[':
			if l.depth++; l.depth == 1 {
				l.word = l.word[:0]
			}
		case c == '}' || c == ']':
			if l.depth == 1 {
				l.member()
			}
			l.depth--
		case l.depth == 1 && c == ':' && !l.value:
			l.name, l.value = string(l.word[:len(l.word)-1]), true
			l.word = l.word[:0]
		case l.depth == 1 && c == ',':
			l.member()
		}
	}
}

// member handles a member whose value was just read.
func (l *longLine) member() {
	if !l.value {
		return
	}
	switch value := l.word[:len(l.word)-1]; l.name {
	case `"id"`:
		if l.id = nil; len(value) < longestID && isID(value) && json.Valid(value) {
			l.id = bytes.Clone(value)
		}
	case `"method"`:
		l.call = true
	}
	l.value, l.word = false, l.word[:0]
}

// request returns the id if the line is a request with a usable id, else nil.
func (l *longLine) request() json.RawMessage {
	if !l.call {
		return nil
	}
	return l.id
}
