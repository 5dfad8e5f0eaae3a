package anthropic

import (
	"bytes"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// layout has the places of a request's parts in its body.
type layout struct {
	walk     rawjson.Walk // of the messages
	marked   []marked     // in the order of decoding
	toolsAt  rawjson.Span
	systemAt rawjson.Span
	said     int // number of parts of the messages; the parts of the system text come after them

	// summarized is the number of message parts up to and including a summary by the provider that covers tool calls; 0: no summary.
	summarized int
}

// resume starts decoding after the messages that the body shares with an earlier one. It returns nil if there are none.
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
	if before.summarized <= at.Parts {
		d.summarized = before.summarized
	}
	for _, m := range before.marked {
		if m.part >= 0 && m.part < at.Parts {
			d.marked = append(d.marked, m)
		}
	}
	d.Few()
	return &s
}

// messages reads the remaining messages of the array that s is in.
func (d *decoder) messages(s *rawjson.Scanner) {
	for s.Next() && d.Err() == nil {
		d.message(s)
		d.walk.Cut(s, len(d.Before)+d.Len(), d.shared+len(d.Parts))
	}
}

// same compares the bytes at was in the earlier body with those at is. If they are equal, ok is true, and move is the
// distance between the places.
func (d *decoder) same(was, is rawjson.Span, earlierBody []byte) (move int, ok bool) {
	return is.Start - was.Start, !was.IsZero() && bytes.Equal(was.Of(earlierBody), is.Of(d.Body))
}

// reuseMarkers copies the markers of the earlier request for which pick returns true.
func (d *decoder) reuseMarkers(move, part int, pick func(m marked) bool) {
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

// reuseTools reuses the markers of the earlier tools if the tools have the same bytes. It reports whether they have.
func (d *decoder) reuseTools(earlierBody []byte) bool {
	move, ok := d.same(d.before.toolsAt, d.toolsAt, earlierBody)
	if ok {
		d.reuseMarkers(move, 0, func(m marked) bool { return m.part == onTool })
	}
	return ok
}

// reuseSystem reuses the earlier system text if it has the same bytes. The places of its parts are moved.
func (d *decoder) reuseSystem(earlier *llm.Request, earlierBody []byte) bool {
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
	d.reuseMarkers(move, d.said-d.before.said, func(m marked) bool { return m.part >= d.before.said })
	return true
}
