package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/rawjson"
)

// Encoded is an encoded frame in three pieces. Body is the arguments of a call, or the result. It shares the frame's memory, so a
// large payload is not copied. The other frames have only a Head.
type Encoded struct{ Head, Body, Tail []byte }

// Size returns the number of bytes.
func (e Encoded) Size() int { return len(e.Head) + len(e.Body) + len(e.Tail) }

// Bytes returns the three pieces joined. The result may be Head itself.
func (e Encoded) Bytes() []byte {
	if len(e.Body)+len(e.Tail) == 0 {
		return e.Head
	}
	return slices.Concat(e.Head, e.Body, e.Tail)
}

// hole replaces a payload while the rest of its frame is encoded.
var hole = json.RawMessage("null")

// Encode encodes a frame. The payload, arguments or result, has to be a JSON object or empty. Encode does not copy it, so it must
// not be changed afterwards.
func Encode(f Frame) (Encoded, error) {
	var payload json.RawMessage
	var key string
	envelope := f
	switch f := f.(type) {
	case *ToolCall:
		own := *f
		key, payload, own.Arguments, envelope = `"arguments":`, f.Arguments, hole, &own
		if len(payload) == 0 {
			payload = json.RawMessage("{}")
		}
	case *ToolResult:
		if len(f.Result) > 0 {
			own := *f
			key, payload, own.Result, envelope = `"result":`, f.Result, hole, &own
		}
	case *Part:
		if f.Data == nil { // data is a string, even an empty one
			own := *f
			own.Data, envelope = []byte{}, &own
		}
	}
	body, err := json.Marshal(envelope)
	if err != nil {
		return Encoded{}, fmt.Errorf("%s: %w", TypeOf(f), err)
	}
	head := append(make([]byte, 0, len(body)+32), `{"type":"`...)
	head = append(append(head, TypeOf(f)...), '"')
	if len(body) > len("{}") {
		head = append(head, ',')
	}
	head = append(head, body[1:]...)
	if payload == nil {
		return Encoded{Head: head}, nil
	}
	// The key cannot occur elsewhere: in a string its quotes would be escaped.
	at := bytes.Index(head, []byte(key)) + len(key)
	return Encoded{Head: head[:at], Body: payload, Tail: head[at+len(hole):]}, nil
}

// Codes of errors about frames, not about calls.
const (
	Malformed   = "invalid_argument" // it is not a valid frame
	Unsupported = "unsupported"      // version, role or capability
	Forbidden   = "permission_denied"
)

// maxKeys is the limit of a frame's keys. It is more than any type has.
const maxKeys = 32

// member is a key of the frame's object, and its raw value.
type member struct{ key, value []byte }

// Decode reads a frame. Its arguments or result share the memory of body, which must not be changed afterwards. An error is an
// *Error that can be sent as the answer.
func Decode(body []byte) (Frame, error) {
	members, err := split(body)
	if err != nil {
		return nil, malformed("", members, err)
	}
	i := slices.IndexFunc(members, func(m member) bool { return string(m.key) == "type" })
	if i < 0 {
		return nil, malformed("", members, errors.New("type is missing"))
	}
	name, err := rawjson.Unquote(members[i].value)
	if err != nil {
		return nil, malformed("", members, errors.New("type must be a string"))
	}
	s := findShape(name)
	if s == nil {
		return nil, malformed("", members, fmt.Errorf("unknown type %.40q", name))
	}
	f := s.empty()
	if err := s.fill(f, slices.Delete(members, i, i+1)); err != nil {
		return nil, malformed(s.name+": ", members, err)
	}
	if err := limits.Strings(f); err != nil {
		return nil, malformed(s.name+": ", members, err)
	}
	if err := check(f); err != nil {
		return nil, malformed(s.name+": ", members, err)
	}
	return f, nil
}

// split finds the members of the one object in body. encoding/json is not used because it would accept repeated keys and keys in
// another case.
func split(body []byte) ([]member, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	members := make([]member, 0, 16)
	s := rawjson.New(body)
	for s.Enter('{'); s.Next(); {
		key := s.Key()
		value := s.Skip()
		if s.Err() != nil {
			break
		}
		if len(members) == maxKeys {
			return members, fmt.Errorf("more than %d keys", maxKeys)
		}
		if slices.ContainsFunc(members, func(m member) bool { return bytes.Equal(m.key, key) }) {
			return members, fmt.Errorf("%.40q is given twice", key)
		}
		if value.KindOf(body) != 'n' { // null means the same as a missing member
			members = append(members, member{key, value.Of(body)})
		}
	}
	return members, s.End()
}

// fill decodes the members' values into a frame's fields. The fields are in the order of the shape's keys.
func (s *shape) fill(f Frame, members []member) error {
	fields := reflect.ValueOf(f).Elem()
	given := map[string]bool{}
	for _, m := range members {
		i := slices.Index(s.keys, string(m.key))
		if i < 0 {
			return fmt.Errorf("there is no %.40q", m.key)
		}
		given[s.keys[i]] = true
		if err := fillField(fields.Field(i), m.value); err != nil {
			return inValue(s.keys[i], fields.Field(i).Type(), err)
		}
	}
	for _, key := range s.required {
		if !given[key] {
			return fmt.Errorf("%s is missing", key)
		}
	}
	return nil
}

var errKind = errors.New("a value of another kind")

// fillField decodes a value into a field. Most bytes are payloads and part data. Payloads are not copied, and part data is decoded
// once.
func fillField(field reflect.Value, value []byte) error {
	switch to := field.Addr().Interface().(type) {
	case *json.RawMessage:
		if value[0] != '{' {
			return errKind
		}
		*to = value
		return nil
	case *[]byte:
		if value[0] != '"' {
			return errKind
		}
		text := value[1 : len(value)-1]
		out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Strict().Decode(out, text)
		if err != nil {
			return errKind
		}
		*to = out[:n]
		return nil
	case *string, *bool:
		return json.Unmarshal(value, to)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	err := d.Decode(field.Addr().Interface())
	if err == nil && field.CanInt() && field.Int() < 0 {
		return errKind
	}
	return err
}

// inValue describes a wrong value in the words of JSON.
func inValue(key string, t reflect.Type, err error) error {
	if errors.Is(err, errKind) {
		return fmt.Errorf("%s must be %s", key, kindOf(t))
	}
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
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "an object"
	case t == reflect.TypeFor[[]byte]():
		return "a base64 string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// malformed returns the error for an invalid frame. It names the call if the body does.
func malformed(frame string, members []member, err error) *Error {
	e := &Error{Code: Malformed, Message: frame + err.Error()}
	for _, m := range members {
		if string(m.key) == "call_id" && len(m.value) <= limits.Name {
			e.CallID, _ = rawjson.Unquote(m.value) // "" if it is not a string
		}
	}
	return e
}
