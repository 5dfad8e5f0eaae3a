package approval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frame is a message of the protocol by which a queue is served to another process:
// JSON objects, one a line, in UTF-8, over a stream socket. Each has a "type".
//
// The server begins with
//
//	{"type":"hello","version":1,"root":"/home/me/project"}
//
// and says, first for each question that is open and then as it happens,
//
//	{"type":"question","question":{…}}   see Question; without content
//	{"type":"closed","closed":{"id":…,"how":…,"by":…}}
//
// The client may ask, with a number n of its own,
//
//	{"type":"answer","n":1,"id":…,"answer":{…}}   see Answer
//	{"type":"content","n":2,"id":…}               what Edit begins with
//
// and gets one reply to each, in any order:
//
//	{"type":"reply","n":1}                                  done
//	{"type":"reply","n":2,"content":"…"}                    base64
//	{"type":"reply","n":1,"code":"answered","error":"…"}
//
// The codes are "answered" and "unknown" (ErrAnswered, ErrUnknown) and "invalid".
// A connection ends after
//
//	{"type":"error","error":"…"}
//
// if a line is no such object or too long, or the client is not the server's user or
// too slow. Unknown fields are ignored. An unknown type gets a reply that says so if
// it has an n, and is ignored otherwise.
//
// The diff of a question is its text: see tool.Diff.
type frame struct {
	Type     string    `json:"type"`
	Version  int       `json:"version,omitempty"`
	Root     string    `json:"root,omitempty"`
	N        int64     `json:"n,omitempty"`
	ID       string    `json:"id,omitempty"`
	Question *Question `json:"question,omitempty"`
	Closed   *Closing  `json:"closed,omitempty"`
	Answer   *Answer   `json:"answer,omitempty"`
	Content  []byte    `json:"content,omitempty"`
	Code     string    `json:"code,omitempty"`
	Error    string    `json:"error,omitempty"`
}

const (
	version = 1        // of the protocol
	maxLine = 64 << 20 // bytes of a line: room for a write of 5 MB with its diff, and some more
)

var errLong = fmt.Errorf("a line of more than %d bytes", maxLine)

// lines reads frames.
type lines struct{ in *bufio.Scanner }

func newLines(r io.Reader) *lines {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 32<<10), maxLine)
	return &lines{in}
}

// next reads a frame. The end of the stream is io.EOF.
func (l *lines) next() (frame, error) {
	if !l.in.Scan() {
		if err := l.in.Err(); errors.Is(err, bufio.ErrTooLong) {
			return frame{}, errLong
		} else if err != nil {
			return frame{}, err
		}
		return frame{}, io.EOF
	}
	var f frame
	if err := json.Unmarshal(l.in.Bytes(), &f); err != nil {
		return frame{}, badLine{err}
	}
	return f, nil
}

// badLine is a line that is no frame.
type badLine struct{ err error }

func (b badLine) Error() string { return "not a message: " + b.err.Error() }

// encode is a frame as a line.
func encode(f frame) ([]byte, error) {
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}
