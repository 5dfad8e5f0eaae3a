package openai

import (
	"bytes"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// layout has the places of a request's parts in its body.
type layout struct {
	walk    rawjson.Walk // of the messages or items
	first   int          // number of messages before those of the walk
	toolsAt rawjson.Span

	// summarized is the number of messages up to and including a summary by the provider that covers tool calls; 0: no summary.
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
	n := d.walk.Last().Messages
	d.Before = earlier.Messages[before.first : before.first+n : before.first+n]
	if before.summarized <= n {
		d.summarized = before.summarized
	}
	d.Few()
	return &s
}

// cut records that s is between two messages.
func (d *decoder) cut(s *rawjson.Scanner) { d.walk.Cut(s, len(d.Before)+d.Len(), 0) }

// reuseTools gives req the tools of the earlier request if they have the same bytes.
func (d *decoder) reuseTools(req, earlier *llm.Request, earlierBody []byte) bool {
	was := d.before.toolsAt
	if was.IsZero() || !bytes.Equal(was.Of(earlierBody), d.toolsAt.Of(d.Body)) {
		return false
	}
	req.Tools = earlier.Tools
	return true
}

// setLayout sets the layout of req. first is the number of messages before those of the walk.
func (d *decoder) setLayout(req *llm.Request, first int) {
	layout := d.layout // a copy, so that the request does not keep the decoder and the body
	layout.first = first
	req.Layout = &layout
}
