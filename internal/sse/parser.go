// Package sse reads server-sent events.
package sse

import (
	"bytes"

	"github.com/stet-dev/stet/internal/invisible"
)

// maxEvent is the default limit of an event, in bytes.
const maxEvent = 8 << 20

// Parser reads a stream of server-sent events while its bytes pass. It calls Event for each complete event with data. Bytes after
// the last empty line are not an event, so a stream that was cut ends with its last complete event.
//
// A Parser holds at most one event. It skips an event larger than Max bytes and continues. It must be used by one goroutine at a
// time.
type Parser struct {
	// Event gets an event's name, or an empty one, and its data lines joined with \n. Both are valid only during the call.
	Event func(name, data []byte)
	Max   int // limit of an event in bytes; 0: maxEvent
	Lost  int // events skipped so far

	line    []byte // the beginning of an incomplete line
	name    []byte
	data    []byte
	size    int  // bytes of the event's complete lines
	lines   int  // data lines
	skip    bool // the event is too large
	cr      bool // the last byte was \r: a following \n belongs to it
	started bool // the first line, which may have a byte order mark, was read
}

// Write reads all of p and returns no error.
func (p *Parser) Write(chunk []byte) (int, error) {
	rest := chunk
	for len(rest) > 0 {
		if p.cr {
			p.cr = false
			if rest[0] == '\n' {
				rest = rest[1:]
				continue
			}
		}
		n := lineEnd(rest)
		if n < 0 {
			p.hold(rest)
			break
		}
		line := rest[:n]
		p.cr = rest[n] == '\r'
		rest = rest[n+1:]
		if len(p.line) > 0 {
			p.hold(line)
			line = p.line
		}
		p.field(line)
		p.line = p.line[:0]
	}
	return len(chunk), nil
}

// lineEnd returns the index of the first \r or \n, or -1. It searches in steps, so that many short lines do not each cost a search
// of the whole buffer.
func lineEnd(b []byte) int {
	const step = 1 << 10
	for from := 0; from < len(b); from += step {
		part := b[from:min(from+step, len(b))]
		n := bytes.IndexByte(part, '\n')
		if n >= 0 {
			part = part[:n]
		}
		if r := bytes.IndexByte(part, '\r'); r >= 0 {
			return from + r
		}
		if n >= 0 {
			return from + n
		}
	}
	return -1
}

func (p *Parser) max() int {
	if p.Max > 0 {
		return p.Max
	}
	return maxEvent
}

// hold keeps the beginning of a line. Of a line that is too long, it keeps only enough to know that it is not empty.
func (p *Parser) hold(b []byte) {
	if p.size+len(p.line)+len(b) > p.max() {
		p.skip = true
		b = b[:max(0, min(len(b), 16-len(p.line)))]
	}
	p.line = append(p.line, b...)
}

// field handles one complete line.
func (p *Parser) field(line []byte) {
	if p.size += len(line); p.size > p.max() {
		p.skip = true
	}
	if !p.started {
		p.started = true
		line = invisible.SkipMark(line)
	}
	if len(line) == 0 {
		p.dispatch()
		return
	}
	if p.skip {
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		p.name = append(p.name[:0], value...)
	case "data":
		if p.lines > 0 {
			p.data = append(p.data, '\n')
		}
		p.data = append(p.data, value...)
		p.lines++
	}
}

func (p *Parser) dispatch() {
	switch {
	case p.skip:
		p.Lost++
	case p.lines > 0 && p.Event != nil:
		p.Event(p.name, p.data)
	}
	p.name, p.data = p.name[:0], p.data[:0]
	if cap(p.data) > 1<<20 { // do not keep the memory of one large event
		p.data, p.line = nil, nil
	}
	p.size, p.lines, p.skip = 0, 0, false
}
