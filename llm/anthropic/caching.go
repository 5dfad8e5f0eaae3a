package anthropic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Values of Marker.Part for markers that are not on a part.
const (
	onTool = -1
	onAll  = -2 // on the request itself: the provider chooses the last possible part
)

// breakpoint records the marker at a span, if there is one.
func (d *decoder) breakpoint(at rawjson.Span, part int) {
	if at.KindOf(d.Body) == '{' {
		d.Markers = append(d.Markers, llm.Marker{At: at, Part: part})
	}
}

// caching sets req.Caching from the recorded markers, when all parts are decoded.
func (d *decoder) caching(req *llm.Request, all, management rawjson.Span) {
	d.breakpoint(all, onAll)
	c := &req.Caching
	for _, m := range d.Markers {
		b := llm.Breakpoint{Blocks: d.blocks(m.Part)}
		switch d.Word(rawjson.Member(d.Body, m.At, "ttl")) {
		case "1h":
			b.Lifetime = time.Hour
		case "5m":
			b.Lifetime = 5 * time.Minute
		}
		c.Lifetime = max(c.Lifetime, b.Lifetime)
		c.Breakpoints = append(c.Breakpoints, b)
	}
	slices.SortStableFunc(c.Breakpoints, func(a, b llm.Breakpoint) int { return cmp.Compare(a.Blocks, b.Blocks) })
	c.Clears = d.Summarized > 0 || d.manages(management)
}

// manages reports whether the request asks the provider to change the prompt itself, other than by removing thinking.
func (d *decoder) manages(management rawjson.Span) bool {
	for edit := range rawjson.Elements(d.Body, rawjson.Member(d.Body, management, "edits")) {
		if !strings.HasPrefix(d.Word(rawjson.Member(d.Body, edit, "type")), "clear_thinking_") {
			return true
		}
	}
	return false
}

// blocks returns the number of prompt parts up to and including the given part. The system text comes before the messages.
func (d *decoder) blocks(part int) int {
	system := d.Decoded() - d.Said
	switch {
	case part == onTool:
		return 0
	case part == onAll:
		return d.Decoded()
	case part < d.Said:
		return system + part + 1
	}
	return part - d.Said + 1
}
