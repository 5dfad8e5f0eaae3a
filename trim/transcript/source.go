package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// File is a file that is being read.
type File struct {
	path    string
	format  string
	product string // Session.Product
	r       io.Reader
	size    int // in bytes; 0: not known
	damaged []Damage

	unknownUsage map[string]int  // Session.UnknownUsage
	allKnown     map[string]bool // usage, without its digits, in which the reader knows all members
}

// All reads the rest of the file.
func (src *File) All() ([]byte, error) {
	if src.size > 0 && src.size <= mostText {
		var b bytes.Buffer
		b.Grow(src.size + bytes.MinRead) // so the buffer need not grow
		_, err := b.ReadFrom(src.r)
		return b.Bytes(), err
	}
	var all []byte
	var c cutter
	defer func() { src.noteCut(0, c.cut) }()
	chunk := make([]byte, 256<<10)
	for {
		n, err := src.r.Read(chunk)
		all = c.append(all, chunk[:n])
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
	}
}

// noteCut records that texts of a line were cut.
func (src *File) noteCut(line, n int) {
	if n > 0 {
		src.damage(line, fmt.Sprintf("a text of more than %d MB is cut: no request can have held it", mostText>>20))
	}
}

// damage records a line that was skipped. It records at most 10,000 lines, so that a completely damaged file does not fill
// the memory.
func (src *File) damage(line int, reason string) {
	const most = 10_000
	if len(src.damaged) < most {
		src.damaged = append(src.damaged, Damage{Line: line, Reason: reason})
	}
}

// lines calls fn with every line that is not blank, without NULs and byte order marks around it. The slice is valid
// only during the call. If fn returns a syntax error,
// the line may be several JSON values without line breaks between them: lines calls fn with each of them. A rest that
// cannot be read, and any other error, is recorded as damage. A line may have any length. Of a long line only the members of
// the struct like are read.
func (src *File) lines(like any, fn func(line []byte) error) error {
	in := bufio.NewReaderSize(src.r, 1<<20)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			c := cutter{read: namesOf(reflect.TypeOf(like))}
			long := c.append(nil, line)
			for errors.Is(err, bufio.ErrBufferFull) {
				line, err = in.ReadSlice('\n')
				long = c.append(long, line)
			}
			line = long
			src.noteCut(n, c.cut)
		}
		if line := bytes.TrimSpace(line); len(line) > 0 {
			if rest := bytes.Trim(line, "\ufeff\x00"); len(rest) > 0 {
				line = rest
			}
			src.line(n, line, fn)
		}
		switch {
		case errors.Is(err, errCut):
			src.damage(n, err.Error())
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// linesOf calls fn with every line of a file, decoded. Of a long line only the members of T are read.
func linesOf[T any](src *File, fn func(l *T) error) error {
	return src.lines(*new(T), decoded(fn))
}

// elementsOf calls fn with every element of an array, decoded.
func elementsOf[T any](src *File, raw []byte, fn func(e *T) error) { src.Elements(raw, decoded(fn)) }

// decoded returns a function that decodes JSON and calls fn with the value.
func decoded[T any](fn func(v *T) error) func(raw []byte) error {
	return func(raw []byte) error {
		var v T
		if err := decode(raw, &v); err != nil {
			return err
		}
		return fn(&v)
	}
}

func (src *File) line(n int, line []byte, fn func([]byte) error) {
	err := fn(line)
	var syntax *json.SyntaxError
	if err == nil {
		return
	}
	if !errors.As(err, &syntax) {
		src.damage(n, err.Error())
		return
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	for {
		var raw json.RawMessage
		if e := dec.Decode(&raw); errors.Is(e, io.EOF) {
			return
		} else if e != nil {
			src.damage(n, e.Error())
			return
		}
		if e := fn(raw); e != nil {
			src.damage(n, e.Error())
		}
	}
}

// decode reads JSON into v. A member with an unexpected type stays zero, so that small changes of a format do not lose a
// whole line.
func decode(b []byte, v any) error {
	var unexpected *json.UnmarshalTypeError
	if err := json.Unmarshal(b, v); err != nil && !errors.As(err, &unexpected) {
		return err
	}
	return nil
}

// finish completes the sessions read from the file, and drops those without messages.
func (src *File) finish(sessions []*Session) ([]*Session, error) {
	var kept []*Session
	for _, s := range sessions {
		if len(s.Messages) == 0 && len(s.Answers) == 0 {
			continue
		}
		if len(kept) == 0 {
			s.Damaged, s.UnknownUsage = src.damaged, src.unknownUsage
		}
		s.File, s.Format, s.Product = src.path, src.format, src.product
		s.complete()
		kept = append(kept, s)
	}
	if len(kept) > 0 {
		return kept, nil
	}
	if len(src.damaged) > 0 {
		d := src.damaged[0]
		return nil, fmt.Errorf("read session %s: %w: %d damaged, the first in line %d: %s",
			src.path, ErrEmpty, len(src.damaged), d.Line, d.Reason)
	}
	return nil, fmt.Errorf("read session %s: %w", src.path, ErrEmpty)
}

// complete sets the fields that follow from the messages, and a missing ID.
func (s *Session) complete() {
	count := map[string]int{}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Role == llm.System {
			s.HasSystem = true
		}
		if m.Role != llm.Assistant || m.Local || m.Model == "" {
			continue
		}
		count[m.Model]++
		if count[m.Model] > count[s.Model] {
			s.Model = m.Model
		}
	}
	if s.ID == "" {
		s.ID, _, _ = strings.Cut(s.File[strings.LastIndexAny(s.File, `/\`)+1:], ".")
	}
	s.Bill()
}
