package rawjson

import "encoding/json"

// Merge returns the object body with the members of the object extra. A member of the same name is replaced; the others are
// appended; a null member in extra removes it. Kept bytes of body do not change. Keys are compared as they are written.
func Merge(body, extra []byte) ([]byte, error) {
	if !json.Valid(extra) {
		return nil, errSyntax
	}
	given := make(map[string]bool)
	s := New(extra)
	for s.Enter('{'); s.Next(); s.Skip() {
		given[string(s.Key())] = true
	}
	if err := s.End(); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(body)+len(extra)), '{')
	out, err := appendMembers(out, body, func(key string, _ Kind) bool { return !given[key] })
	if err == nil {
		out, err = appendMembers(out, extra, func(_ string, k Kind) bool { return k != 'n' })
	}
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// appendMembers appends those members of object that keep accepts.
func appendMembers(out, object []byte, keep func(key string, k Kind) bool) ([]byte, error) {
	s := New(object)
	for s.Enter('{'); s.Next(); {
		key := string(s.Key())
		kind := s.Kind()
		value := s.Skip()
		if s.Err() != nil || !keep(key, kind) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), key...), '"', ':')
		out = append(out, value.Of(object)...)
	}
	return out, s.End()
}
