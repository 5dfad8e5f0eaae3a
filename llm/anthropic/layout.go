package anthropic

import (
	"bytes"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// layout is where a request stands in its body.
type layout struct {
	walk     rawjson.Walk // of the messages
	marked   []marked     // in the order in which they were found
	toolsAt  rawjson.Span
	systemAt rawjson.Span
	said     int // parts of the messages; those of the system text follow

	// summedUp is how many parts the messages have up to and with a summary that
	// the provider made of them, calls of tools among them; 0: there is none.
	summedUp int
}

// resume goes on behind the messages that the body has in common with an
// earlier one. It is nil if there are none.
func (d *decoder) resume(earlier *llm.Request, earlierBody []byte) *rawjson.Scanner {
	if earlier == nil {
		return nil
	}
	before, ok := earlier.Layout.(*layout)
	if !ok {
		return nil
	}
	d.before = *before
	s, walk, ok := before.walk.Resume(d.Body, earlierBody)
	if !ok {
		return nil
	}
	d.walk = walk
	at := d.walk.Last()
	messages := earlier.Messages
	if !before.systemAt.IsZero() {
		messages = messages[1:]
	}
	d.Before, d.shared = messages[:at.Messages:at.Messages], at.Parts
	if before.summedUp <= at.Parts {
		d.summedUp = before.summedUp
	}
	for _, m := range before.marked {
		if m.part >= 0 && m.part < at.Parts {
			d.marked = append(d.marked, m)
		}
	}
	d.Few()
	return &s
}

// messages reads the messages that are left of the array that s is in.
func (d *decoder) messages(s *rawjson.Scanner) {
	for s.Next() && d.Err() == nil {
		d.message(s)
		d.walk.Cut(s, len(d.Before)+d.Len(), d.shared+len(d.Parts))
	}
}

// same returns what is to be added to the places of what stood at was in the
// earlier body; false if it is not written the same way at is.
func (d *decoder) same(was, is rawjson.Span, earlierBody []byte) (move int, ok bool) {
	return is.Start - was.Start, !was.IsZero() && bytes.Equal(was.Of(earlierBody), is.Of(d.Body))
}

// retake takes over the markers of the earlier request that pick chooses.
func (d *decoder) retake(move, part int, pick func(m marked) bool) {
	for _, m := range d.before.marked {
		if pick(m) {
			m.at.Start, m.at.End = m.at.Start+move, m.at.End+move
			if m.part >= 0 {
				m.part += part
			}
			d.marked = append(d.marked, m)
		}
	}
}

// retakeTools takes over the earlier tools, if they are written the same way.
func (d *decoder) retakeTools(earlierBody []byte) bool {
	move, ok := d.same(d.before.toolsAt, d.toolsAt, earlierBody)
	if ok {
		d.retake(move, 0, func(m marked) bool { return m.part == onTool })
	}
	return ok
}

// retakeSystem takes over the earlier system text, if it is written the same
// way. Its parts have other places.
func (d *decoder) retakeSystem(earlier *llm.Request, earlierBody []byte) bool {
	move, ok := d.same(d.before.systemAt, d.systemAt, earlierBody)
	if !ok {
		return false
	}
	for _, p := range earlier.Messages[0].Parts {
		if p.Span.Valid() {
			p.Span.Start, p.Span.End = p.Span.Start+move, p.Span.End+move
		}
		d.Add(p)
	}
	d.EndFirst(llm.System)
	d.retake(move, d.said-d.before.said, func(m marked) bool { return m.part >= d.before.said })
	return true
}
