package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
)

// CutContent removes the string "content" from an object: a call's arguments, or a result whose content goes in parts. ok is false
// if there is not exactly one content, or it is not text.
func CutContent(object json.RawMessage) (rest json.RawMessage, content string, ok bool) {
	var at rawjson.Span
	rest = append(make(json.RawMessage, 0, 512), '{')
	s := rawjson.New(object)
	for s.Enter('{'); s.Next(); {
		key := s.Key()
		value := s.Skip()
		if s.Err() != nil {
			break
		}
		if string(key) == "content" {
			if !at.IsZero() || value.KindOf(object) != '"' {
				return nil, "", false
			}
			at = value
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, '"'), key...), '"', ':')
		rest = append(rest, value.Of(object)...)
	}
	if s.End() != nil || at.IsZero() {
		return nil, "", false
	}
	d := rawjson.NewDecoder(object)
	content, exact := d.Text(at)
	if d.Err() != nil || exact.IsZero() {
		return nil, "", false
	}
	return append(rest, '}'), content, true
}

// Content is a text that arrives in parts and is then put into the object from which CutContent removed it. It is held once, and
// twice while it is joined. Its zero value is empty.
type Content struct {
	pieces [][]byte // JSON, without the quotes
	size   int
	rest   []byte // the beginning of a character whose end has not arrived
	broken bool   // it is not UTF-8
}

// Size returns the number of its bytes as JSON so far.
func (c *Content) Size() int { return c.size }

// Add appends data. The caller keeps ownership of data.
func (c *Content) Add(data []byte) {
	if len(c.rest) > 0 {
		data = append(c.rest, data...)
	}
	n := rawjson.WholeRunes(data)
	c.rest = bytes.Clone(data[n:])
	if !utf8.Valid(data[:n]) {
		c.broken = true
	}
	piece := rawjson.AppendText(make([]byte, 0, n+n/16), string(data[:n]))
	c.pieces = append(c.pieces, piece)
	c.size += len(piece)
}

// Into puts the content into an object. ok is false if that is not possible: the object already has a content, or is not an object,
// or the text is not UTF-8.
func (c *Content) Into(rest json.RawMessage) (object json.RawMessage, ok bool) {
	s := rawjson.New(rest)
	members := 0
	for s.Enter('{'); s.Next(); members++ {
		if key := string(s.Key()); s.Err() != nil || key == "content" {
			return nil, false
		}
		s.Skip()
	}
	if s.End() != nil || c.broken || len(c.rest) > 0 {
		return nil, false
	}
	rest = bytes.TrimSpace(rest)[1:]
	object = append(make(json.RawMessage, 0, c.size+len(rest)+16), `{"content":"`...)
	for _, piece := range c.pieces {
		object = append(object, piece...)
	}
	object = append(object, '"')
	if members > 0 {
		object = append(object, ',')
	}
	return append(object, rest...), true
}
