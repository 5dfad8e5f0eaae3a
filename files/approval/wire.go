package approval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frame is a message of the protocol between a Server and its clients: JSON objects, one on each line, in UTF-8, over a stream
// socket. Each has a "type".
//
// The server begins with
//
//	{"type":"hello","version":1,"root":"/home/me/project"}
//
// and sends, first for each open question and then for each new event,
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
// if a line is not such an object or is too long, or the client is another user or too slow. Unknown fields are ignored. An unknown
// type gets an error reply if it has an n, and is ignored otherwise.
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
	version = 1        // version of the protocol
	maxLine = 64 << 20 // limit of a line in bytes: enough for a write of 5 MB with its diff
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

// badLine is the error for a line that is not a frame.
type badLine struct{ err error }

func (b badLine) Error() string { return "not a message: " + b.err.Error() }

// encode returns a frame as a line.
func encode(f frame) ([]byte, error) {
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}
