package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// coding says how the strings of a body are written.
type coding struct {
	Strings string `json:"strings,omitempty"`
}

func (c *coding) written() *coding { return c }

// asBytes means that every character of a string is one byte.
const asBytes = "bytes"

// wire is a body in its written form.
type wire interface {
	written() *coding
	each(fn func(*string)) // calls fn with all strings that may hold any bytes
	body() (Body, error)
}

// Encode returns the body of an event as JSON, on one line. It is valid UTF-8 without NUL. It is an error if the format cannot express
// the body (for example an unknown kind of part, or a year after 9999).
func Encode(b Body) ([]byte, error) {
	if u, ok := b.(Unknown); ok {
		return []byte(u.JSON), nil
	}
	w, err := wireOf(b)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", b, err)
	}
	valid := true
	w.each(func(s *string) { valid = valid && utf8.ValidString(*s) })
	if !valid {
		w.written().Strings = asBytes
		w.each(func(s *string) { *s = bytesToChars(*s) })
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("encode %s: %w", b.kind(), err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads the body of an event with the given kind and version of the format. A body of a newer version is returned as Unknown. An
// error means that the body is damaged.
func Decode(kind Kind, version int, raw []byte) (Body, error) {
	w := wireFor(kind)
	if w == nil || version > Format {
		return Unknown{Kind: kind, JSON: string(raw)}, nil
	}
	if err := json.Unmarshal(raw, w); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	switch w.written().Strings {
	case "":
	case asBytes:
		w.each(func(s *string) { *s = charsToBytes(*s) })
	default:
		return nil, fmt.Errorf("decode %s: strings are written in an unknown way, %q", kind, w.written().Strings)
	}
	return w.body()
}

// wireOf returns a body in its written form. Its strings that each changes are not shared with b.
func wireOf(b Body) (wire, error) {
	switch b := b.(type) {
	case Opening:
		return &wireOpening{
			Dir: b.Dir, Source: b.Source, Session: b.From.Session, Seq: b.From.Seq,
			Relation: string(b.From.Relation), Carried: b.Carried,
		}, nil
	case Message:
		return wireOfMessage(b)
	case Usage:
		return &wireUsage{Model: b.Model, Usage: wireUsed(b.Used)}, nil
	case Rewind:
		return &wireRewind{To: b.To}, nil
	case Compaction:
		return &wireCompaction{To: b.To}, nil
	case Title:
		return &wireTitle{Title: string(b)}, nil
	case File:
		return wireOfFile(b), nil
	case Approval:
		return &wireApproval{
			Call: b.CallID, Tool: b.Tool, Path: b.Path, Decision: b.Decision, By: b.By, Grant: b.Grant, Words: b.Words,
		}, nil
	}
	return nil, errors.New("no event has such a body")
}

// wireFor returns an empty body of a kind to decode into, or nil for an unknown kind.
func wireFor(kind Kind) wire {
	switch kind {
	case KindOpening:
		return &wireOpening{}
	case KindMessage:
		return &wireMessage{}
	case KindUsage:
		return &wireUsage{}
	case KindRewind:
		return &wireRewind{}
	case KindCompaction:
		return &wireCompaction{}
	case KindTitle:
		return &wireTitle{}
	case KindFile:
		return &wireFile{}
	case KindApproval:
		return &wireApproval{}
	}
	return nil
}

// bytesToChars returns a string with one character for each byte of s.
func bytesToChars(s string) string {
	out := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		out = utf8.AppendRune(out, rune(s[i]))
	}
	return string(out)
}

// charsToBytes reverses spread.
func charsToBytes(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, byte(r))
	}
	return string(out)
}
