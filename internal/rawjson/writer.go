package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Writer builds a JSON document from calls in the order of its parts, and writes the commas. The zero Writer is ready to use.
type Writer struct {
	buf   []byte
	comma bool // the next value needs a comma before it
	err   error
}

func (w *Writer) next() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
	w.comma = true
}

// Open begins an object ('{') or an array ('[').
func (w *Writer) Open(c byte) {
	w.next()
	w.buf = append(w.buf, c)
	w.comma = false
}

// Close ends it ('}' or ']').
func (w *Writer) Close(c byte) {
	w.buf = append(w.buf, c)
	w.comma = true
}

// Key begins a member of an object; its value follows.
func (w *Writer) Key(key string) {
	w.next()
	w.buf = appendQuoted(w.buf, key)
	w.buf = append(w.buf, ':')
	w.comma = false
}

// String writes text as a string.
func (w *Writer) String(text string) {
	w.next()
	w.buf = appendQuoted(w.buf, text)
}

// Member writes a member whose value is a string.
func (w *Writer) Member(key, text string) {
	w.Key(key)
	w.String(text)
}

// Int writes a number.
func (w *Writer) Int(n int) {
	w.next()
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) {
	w.next()
	w.buf = strconv.AppendBool(w.buf, b)
}

// Null writes null.
func (w *Writer) Null() {
	w.next()
	w.buf = append(w.buf, "null"...)
}

// Raw writes a JSON value. If it is not valid, Bytes returns an error that names what.
func (w *Writer) Raw(value, what string) {
	w.next()
	from := len(w.buf)
	w.buf = append(w.buf, value...)
	if !json.Valid(w.buf[from:]) {
		w.Fail(fmt.Errorf("%s: %w", what, errSyntax))
	}
}

// Object writes text if it is a JSON object. Other text becomes the member "input" of one.
func (w *Writer) Object(text string) {
	if IsObject(text) {
		w.Raw(text, "")
		return
	}
	w.Open('{')
	if text != "" {
		w.Member("input", text)
	}
	w.Close('}')
}

// Text writes the object {"type": kind, "text": text}.
func (w *Writer) Text(kind, text string) {
	w.Open('{')
	w.Member("type", kind)
	w.Member("text", text)
	w.Close('}')
}

// Fail makes Bytes return err, unless it has an error already.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Bytes returns the document.
func (w *Writer) Bytes() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	if len(w.buf) == 0 {
		return nil, errors.New("empty JSON document")
	}
	return w.buf, nil
}

// IsObject reports whether text is a JSON object.
func IsObject(text string) bool {
	s := New([]byte(text))
	return s.Kind() == '{' && json.Valid(s.body)
}
