package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

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
	for len(all) < n {
		if head = bytes.TrimLeft(head, " \t\r\n\x00"); len(head) == 0 {
			break
		}
		dec := json.NewDecoder(bytes.NewReader(head))
		s := shape{}
		err := s.value(dec, "", 0)
		if len(s) > 0 {
			all = append(all, s)
		}
		switch {
		case err == nil:
			head = head[dec.InputOffset():]
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // cut off
			return all
		default:
			_, head, _ = bytes.Cut(head, []byte("\n"))
		}
	}
	return all
}

const (
	shapeDepth  = 6  // values nested deeper than this are not kept
	shortString = 80 // the text of longer strings is not kept
)

// value reads one value. What stands before an error is in the shape.
func (s shape) value(dec *json.Decoder, path string, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	text, _ := token.(string)
	if len(text) > shortString {
		text = ""
	}
	if _, seen := s[path]; !seen && path != "" && depth <= shapeDepth {
		s[path] = text
	}
	switch token {
	case json.Delim('['):
		path += "[]"
		for dec.More() {
			if err := s.value(dec, path, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name := key.(string) // in an object the decoder gives names
			if path != "" {
				name = path + "." + name
			}
			if err := s.value(dec, name, depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = dec.Token() // the end of the list or object
	return err
}
