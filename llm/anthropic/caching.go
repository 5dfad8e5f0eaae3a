package anthropic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// marked is a cache marker, with the index of its part or one of the constants below. The parts of the messages come before
// those of the system text.
type marked struct {
	at   rawjson.Span
	part int
}

// Places of markers that are not on a part.
const (
	onTool = -1
	onAll  = -2 // on the request itself: the provider chooses the last possible part
)

// breakpoint records the marker at a span, if there is one.
func (d *decoder) breakpoint(at rawjson.Span, part int) {
	if at.KindOf(d.Body) == '{' {
		d.marked = append(d.marked, marked{at, part})
	}
}

var markerKeys = [2]string{"type", "ttl"}

// caching sets req.Caching from the recorded markers, when all parts are decoded.
func (d *decoder) caching(req *llm.Request, all, management rawjson.Span) {
	d.breakpoint(all, onAll)
	c := &req.Caching
	for _, m := range d.marked {
		var f [2]rawjson.Span
		s := rawjson.At(d.Body, m.at)
		s.Object(markerKeys[:], f[:])
		b := llm.Breakpoint{Blocks: d.blocks(m.part)}
		switch {
		case d.OneOf(f[1], "1h"):
			b.Lifetime = time.Hour
		case d.OneOf(f[1], "5m"):
			b.Lifetime = 5 * time.Minute
		}
		c.Lifetime = max(c.Lifetime, b.Lifetime)
		c.Breakpoints = append(c.Breakpoints, b)
	}
	slices.SortStableFunc(c.Breakpoints, func(a, b llm.Breakpoint) int { return cmp.Compare(a.Blocks, b.Blocks) })
	c.Clears = d.summarized > 0 || d.manages(management)
}

var (
	managementKeys = [1]string{"edits"}
	editKeys       = [1]string{"type"}
)

// manages reports whether the request tells the provider to change the prompt itself, other than by removing thinking.
func (d *decoder) manages(management rawjson.Span) bool {
	if management.KindOf(d.Body) != '{' {
		return false
	}
	var edits [1]rawjson.Span
	s := rawjson.At(d.Body, management)
	s.Object(managementKeys[:], edits[:])
	if edits[0].KindOf(d.Body) != '[' {
		return false
	}
	s = rawjson.At(d.Body, edits[0])
	for s.Enter('['); s.Next(); {
		var f [1]rawjson.Span
		if s.Object(editKeys[:], f[:]).IsZero() || !strings.HasPrefix(d.Word(f[0]), "clear_thinking_") {
			return true
		}
	}
	return false
}

// blocks returns the number of prompt parts up to and including the given part. The system text comes before the messages.
func (d *decoder) blocks(part int) int {
	system := d.shared + len(d.Parts) - d.said
	switch {
	case part == onTool:
		return 0
	case part == onAll:
		return d.shared + len(d.Parts)
	case part < d.said:
		return system + part + 1
	}
	return part - d.said + 1
}
