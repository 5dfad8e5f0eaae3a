package openai

import (
	"bytes"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// layout is where a request stands in its body.
type layout struct {
	walk    rawjson.Walk // of the messages or items
	first   int          // messages that go before those of the walk
	toolsAt rawjson.Span

	// summedUp is how many messages the walk has up to and with a summary that
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
	n := d.walk.Last().Messages
	d.Before = earlier.Messages[before.first : before.first+n : before.first+n]
	if before.summedUp <= n {
		d.summedUp = before.summedUp
	}
	d.Few()
	return &s
}

// cut notes that s stands between two messages.
func (d *decoder) cut(s *rawjson.Scanner) { d.walk.Cut(s, len(d.Before)+d.Len(), 0) }

// retakeTools gives req the tools of the earlier request, if they are written
// the same way.
func (d *decoder) retakeTools(req, earlier *llm.Request, earlierBody []byte) bool {
	was := d.before.toolsAt
	if was.IsZero() || !bytes.Equal(was.Of(earlierBody), d.toolsAt.Of(d.Body)) {
		return false
	}
	req.Tools = earlier.Tools
	return true
}

// laidOut gives req its layout. first is how many messages go before those of
// the walk.
func (d *decoder) laidOut(req *llm.Request, first int) {
	layout := d.layout // alone: the decoder has the body
	layout.first = first
	req.Layout = &layout
}
