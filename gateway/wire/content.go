package wire

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
)

// CutContent takes the string "content" out of an object: of a call's arguments,
// or of a result, whose content goes in parts. ok is false where there is none, or
// more than one, or one that is no text.
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

// PutContent puts into an object what CutContent took out. ok is false where it
// does not fit: the object has a content, or is none, or the text is not UTF-8.
func PutContent(rest json.RawMessage, content []byte) (object json.RawMessage, ok bool) {
	if !utf8.Valid(content) {
		return nil, false
	}
	var w rawjson.Writer
	w.Open('{')
	s := rawjson.New(rest)
	for s.Enter('{'); s.Next(); {
		key := string(s.Key())
		value := s.Skip()
		if s.Err() != nil || key == "content" {
			return nil, false
		}
		w.Key(key)
		w.Raw(string(value.Of(rest)), key)
	}
	w.Key("content")
	w.String(string(content))
	w.Close('}')
	object, err := w.Bytes()
	return object, s.End() == nil && err == nil
}
