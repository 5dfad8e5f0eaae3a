// Package formats reads the session files of research agents and of recorders, for the figures of this module: mini-swe-agent, SWE-agent,
// OpenHands' evaluations, and claude-trace. All gives them to transcript.Opener.
package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// All returns the formats, in the order in which they are tried.
func All() []transcript.Format {
	return []transcript.Format{
		{Name: "mini-swe-agent-traj", Agent: "mini-swe-agent", Match: isMini, Read: readMini},
		{Name: "swe-agent-traj", Agent: "SWE-agent", Match: isSWEAgent, Read: readSWEAgent},
		{Name: "openhands-output", Agent: "OpenHands", Match: isOpenHands, Read: readOpenHands},
		{Name: "claude-trace-requests", Agent: "Claude Code", Match: isTrace, Read: readTrace},
	}
}

// decode reads JSON into v. A member with an unexpected type stays zero.
func decode(b []byte, v any) error {
	var t *json.UnmarshalTypeError
	if err := json.Unmarshal(b, v); err != nil && !errors.As(err, &t) {
		return err
	}
	return nil
}

// readAll decodes a whole file.
func readAll(file *transcript.File, v any) error {
	all, err := file.All()
	if err != nil {
		return err
	}
	return decode(all, v)
}

// values calls fn with the JSON values of a file, decoded. A value that is a list is decoded into what list returns of a T.
func values[T any](file *transcript.File, fn func(v *T), list func(v *T) any) error {
	all, err := file.All()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(all))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		v := new(T)
		var to any = v
		if raw[0] == '[' && list != nil {
			to = list(v)
		}
		if err := decode(raw, to); err != nil {
			return err
		}
		fn(v)
	}
}

// add appends a message. An answer without parts is billed only.
func add(s *transcript.Session, m llm.Message) {
	if len(m.Parts) > 0 {
		s.Messages = append(s.Messages, m)
		return
	}
	charge(s, transcript.Empty, m)
}

// charge bills an answer that is not in the conversation as it was sent.
func charge(s *transcript.Session, kind transcript.Kind, m llm.Message) {
	if m.Role == llm.Assistant && m.Usage != nil {
		s.Answers = append(s.Answers, transcript.Answer{ID: m.ID, Time: m.Time, Model: m.Model, Kind: kind, Usage: *m.Usage, Message: -1, Parts: m.Parts})
	}
}

// start records that the next message begins a new context, which repeats the system text.
func start(s *transcript.Session) {
	head := 0
	for head < len(s.Messages) && s.Messages[head].Role == llm.System {
		head++
	}
	if n := len(s.Messages); n > head && (len(s.Starts) == 0 || s.Starts[len(s.Starts)-1] < n) {
		s.Starts = append(s.Starts, n)
		s.Messages = append(s.Messages, s.Messages[:head]...)
	}
}

// text returns a text part, or none for an empty text.
func text(s string) []llm.Part {
	if s == "" {
		return nil
	}
	return []llm.Part{{Text: s}}
}

func result(id, text string, failed bool) llm.Part {
	return llm.Part{Kind: llm.ToolResult, CallID: id, Text: text, IsError: failed}
}

// stringOf returns the value of a JSON string, or "" for anything else.
func stringOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // s stays empty
	return s
}

// timeOf reads an RFC 3339 time, with or without a time zone.
func timeOf(s string) time.Time {
	raw, _ := json.Marshal(s) // a string can always be encoded
	return transcript.Timestamp(raw)
}

// object returns a JSON object with one string member.
func object(key, value string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{key: value}) // encoding a map of strings never fails
	return strings.TrimSuffix(b.String(), "\n")
}
