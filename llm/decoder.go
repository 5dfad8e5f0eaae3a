package llm

import (
	"bytes"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Decoder is what the codecs have in common: it decodes the values of one body and builds the messages of a request or an answer.
type Decoder struct {
	rawjson.Decoder
	Builder
	Layout
	Earlier Layout // of the earlier request; zero: there is none
	Shared  int    // number of parts in Builder.Before
}

// Layout has the spans of a request's parts in its body. A codec uses it to decode a body that begins alike, see [Codec]. It does not
// hold the body.
type Layout struct {
	Walked        rawjson.Walk // of the messages
	First         int          // number of messages before those of the walk: 1 with a system text of its own, else 0
	Tools, System rawjson.Span
	Said          int      // number of parts of the walked messages; the parts of the system text come after them
	Markers       []Marker // cache markers, in the order of decoding

	// Summarized is the number of parts up to and including a summary by the provider that covers tool calls; 0: no summary.
	Summarized int
}

// Marker is a cache marker in a body. Part is the index of its part, or a negative number that the codec chooses.
type Marker struct {
	At   rawjson.Span
	Part int
}

// NewDecoder returns a Decoder of body.
func NewDecoder(body []byte) Decoder { return Decoder{Decoder: rawjson.NewDecoder(body)} }

// Resume returns where to go on decoding after the messages that the body shares with an earlier one, which go to Builder.Before. It
// returns nil if there are none.
func (d *Decoder) Resume(earlier *Request, earlierBody []byte, same int) *rawjson.Scanner {
	if earlier == nil || earlier.Layout == nil {
		return nil
	}
	d.Earlier = *earlier.Layout
	s, walk, ok := d.Earlier.Walked.Resume(d.Body, earlierBody, same)
	if !ok {
		return nil
	}
	d.Walked = walk
	at := walk.Last()
	first := d.Earlier.First
	d.Before, d.Shared = earlier.Messages[first:first+at.Messages:first+at.Messages], at.Parts
	if d.Earlier.Summarized <= at.Parts {
		d.Summarized = d.Earlier.Summarized
	}
	for _, m := range d.Earlier.Markers {
		if m.Part >= 0 && m.Part < at.Parts {
			d.Markers = append(d.Markers, m)
		}
	}
	d.Few()
	return &s
}

// Cut records that s is between two messages.
func (d *Decoder) Cut(s *rawjson.Scanner) { d.Walked.Cut(s, len(d.Before)+d.Len(), d.Decoded()) }

// Decoded returns the number of parts so far.
func (d *Decoder) Decoded() int { return d.Shared + len(d.Parts) }

// Summary records that the last part is the provider's summary of what comes before it.
func (d *Decoder) Summary() {
	if d.Summarized == 0 && d.Called() {
		d.Summarized = d.Decoded()
	}
}

// Same compares the bytes at was in the earlier body with those at is. If they are equal, ok is true, and move is the
// distance between the spans.
func (d *Decoder) Same(was, is rawjson.Span, earlierBody []byte) (move int, ok bool) {
	return is.Start - was.Start, !was.IsZero() && bytes.Equal(was.Of(earlierBody), is.Of(d.Body))
}

// SameTools gives req the tools of the earlier request if they have the same bytes as those at Tools.
func (d *Decoder) SameTools(req, earlier *Request, earlierBody []byte) bool {
	_, ok := d.Same(d.Earlier.Tools, d.Tools, earlierBody)
	if ok {
		req.Tools = earlier.Tools
	}
	return ok
}

// Finish gives req its messages, and the layout for a later body.
func (d *Decoder) Finish(req *Request) (*Request, error) {
	layout := d.Layout // a copy, so that the request does not keep the decoder and the body
	req.Messages, req.Layout = d.Messages(), &layout
	return req, d.Err()
}

// AddText adds a part for the string at span.
func (d *Decoder) AddText(at rawjson.Span) {
	text, span := d.Text(at)
	d.Add(Part{Text: text, Span: Span(span)})
}

// ByCode reports whether the caller of a call, an object at span, is not the model itself.
func (d *Decoder) ByCode(caller rawjson.Span) bool {
	return caller.KindOf(d.Body) == '{' && !d.OneOf(rawjson.Member(d.Body, caller, "type"), "direct")
}
