package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Codes of errors that are about frames, and not about calls.
const (
	Malformed   = "invalid_argument" // it is no frame
	Unsupported = "unsupported"      // version, role or capability
	Forbidden   = "permission_denied"
)

// maxName is how long a call id, a session and the like may be, in bytes.
const maxName = 128

// maxKeys is how many keys a frame may have: more than any does.
const maxKeys = 32

// member is a key of the frame's object and the place of its value.
type member struct {
	key []byte
	at  rawjson.Span
}

// Detach copies the pieces that a frame has of the body that it was decoded from.
func Detach(f Frame) {
	switch f := f.(type) {
	case *ToolCall:
		f.Arguments = bytes.Clone(f.Arguments)
	case *ToolResult:
		f.Result = bytes.Clone(f.Result)
	}
}

// Decode reads a frame, which keeps pieces of body until Detach. An error is an
// *Error that can be sent as the answer.
func Decode(body []byte) (Frame, error) {
	var room [16]member
	members, err := split(body, room[:0])
	if err != nil {
		return nil, bad(nil, members, body, "%v", err)
	}
	i := slices.IndexFunc(members, func(m member) bool { return string(m.key) == "type" })
	if i < 0 {
		return nil, bad(nil, members, body, "type is missing")
	}
	at := members[i].at
	if at.KindOf(body) != '"' {
		return nil, bad(nil, members, body, "type must be a string")
	}
	s := findShape(body[at.Start+1 : at.End-1])
	if s == nil {
		return nil, bad(nil, members, body, "unknown type %.40q", body[at.Start:at.End])
	}
	members = slices.Delete(members, i, i+1)
	if err := s.check(members); err != nil {
		return nil, bad(s, members, body, "%v", err)
	}
	f := s.empty()
	switch f := f.(type) {
	case *ToolCall:
		err = f.fill(members, body)
	case *ToolResult:
		err = f.fill(members, body)
	case *Part:
		err = f.fill(members, body)
	case *Taken:
		err = f.fill(members, body)
	case *Ack:
		err = f.fill(members, body)
	default:
		err = fill(f, members, body)
	}
	if err == nil {
		err = complete(f)
	}
	if err != nil {
		return nil, bad(s, members, body, "%v", err)
	}
	return f, nil
}

// split finds the members of the one object that body is.
func split(body []byte, into []member) ([]member, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	s := rawjson.New(body)
	for s.Enter('{'); s.Next(); {
		key := s.Key()
		at := s.Skip()
		if s.Err() != nil {
			break
		}
		if len(into) == maxKeys {
			return into, fmt.Errorf("more than %d keys", maxKeys)
		}
		if slices.ContainsFunc(into, func(m member) bool { return bytes.Equal(m.key, key) }) {
			return into, fmt.Errorf("%.40q is given twice", key)
		}
		if at.KindOf(body) != 'n' { // null is as if it were not there
			into = append(into, member{key, at})
		}
	}
	return into, s.End()
}

// check compares the keys with those that there may be and must be.
func (s *shape) check(members []member) error {
	for _, m := range members {
		if !slices.ContainsFunc(s.keys, func(k string) bool { return k == string(m.key) }) {
			return fmt.Errorf("there is no %.40q", m.key)
		}
	}
	for _, k := range s.required {
		if !slices.ContainsFunc(members, func(m member) bool { return k == string(m.key) }) {
			return fmt.Errorf("%s is missing", k)
		}
	}
	return nil
}

// fill decodes the members' values into a frame's fields, which are in the order
// of the shape's keys.
func fill(f Frame, members []member, body []byte) error {
	s, v := f.frame(), reflect.ValueOf(f).Elem()
	for _, m := range members {
		d := json.NewDecoder(bytes.NewReader(m.at.Of(body)))
		d.DisallowUnknownFields()
		field := v.Field(slices.Index(s.keys, string(m.key)))
		if err := d.Decode(field.Addr().Interface()); err != nil {
			return inValue(string(m.key), field.Type(), err)
		}
	}
	return nil
}

// inValue says what is wrong with a value, in the words of JSON.
func inValue(key string, t reflect.Type, err error) error {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return fmt.Errorf("%s: %s", key, strings.TrimPrefix(err.Error(), "json: "))
	}
	if kind.Field != "" {
		key, t = key+"."+kind.Field, kind.Type
	}
	return fmt.Errorf("%s must be %s, not %s", key, kindOf(t), kind.Value)
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	}
	return "an object"
}

// bad is the error of a body that is no frame; it names the call, if that can be
// found.
func bad(s *shape, members []member, body []byte, format string, a ...any) *Error {
	e := &Error{Code: Malformed, Message: fmt.Sprintf(format, a...)}
	if s != nil {
		e.Message = s.name + ": " + e.Message
	}
	for _, m := range members {
		if string(m.key) == "call_id" && m.at.End-m.at.Start <= maxName {
			e.CallID, _ = rawjson.Unquote(m.at.Of(body)) // "" where it is no string
		}
	}
	return e
}
