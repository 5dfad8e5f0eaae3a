// Package sse reads server-sent events.
package sse

import "bytes"

const mark = "\ufeff" // byte order mark

// maxEvent is the default bound on the size of an event, in bytes.
const maxEvent = 8 << 20

// Parser reads a stream of server-sent events as its bytes pass by. Event is
// called for each whole event that has data. What follows the last empty line
// is not an event: a stream that was cut ends with the last whole one.
//
// A Parser holds at most one event. One larger than Max bytes is skipped and
// the stream goes on. It is for one goroutine at a time.
type Parser struct {
	// Event gets an event's name, empty where it has none, and its data, the
	// lines joined with \n. Both are valid during the call only.
	Event func(name, data []byte)
	Max   int // bytes of an event; 0 is maxEvent
	Lost  int // events skipped so far

	line    []byte // the beginning of a line whose end is yet to come
	name    []byte
	data    []byte
	size    int  // bytes of the event's whole lines
	lines   int  // of data
	skip    bool // the event is too large
	cr      bool // the last byte was \r: a \n that follows belongs to it
	started bool // the first line is past, and with it a byte order mark
}

// Write takes all of p and returns no error.
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

// lineEnd returns the place of the first \r or \n, -1 where there is none. It
// looks in steps, so that many short lines do not each cost a look at all.
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

// hold keeps the beginning of a line. Of one that is too long enough is kept
// to tell that it is not empty.
func (p *Parser) hold(b []byte) {
	if p.size+len(p.line)+len(b) > p.max() {
		p.skip = true
		b = b[:max(0, min(len(b), 16-len(p.line)))]
	}
	p.line = append(p.line, b...)
}

// field takes one whole line.
func (p *Parser) field(line []byte) {
	if p.size += len(line); p.size > p.max() {
		p.skip = true
	}
	if !p.started {
		p.started = true
		line = bytes.TrimPrefix(line, []byte(mark))
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
	if cap(p.data) > 1<<20 { // one large event is no reason to keep so much
		p.data, p.line = nil, nil
	}
	p.size, p.lines, p.skip = 0, 0, false
}
