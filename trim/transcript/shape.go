package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// shape describes a JSON value. It maps the paths in the value to the values of short strings. Other values are "". For
// example: "messages[].role" → "user", "payload" → "". Paths are at most six levels deep. If a path occurs several times,
// the first value is kept.
type shape map[string]string

func (s shape) has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := s[p]; !ok {
			return false
		}
	}
	return true
}

// shapes returns the shapes of the first JSON values in head, at most n. The values follow one another, as in a file of
// JSON lines. The last one may be cut off. After a damaged value, shapes continues with the next line.
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

// value reads one value. If there is an error, the shape has what came before it.
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
			name := key.(string) // the decoder returns the names of an object as strings
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
