package anthropic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// marked is a cache marker and the index of the part it stands on, the messages'
// before the system text's, or where else it stands.
type marked struct {
	at   rawjson.Span
	part int
}

// The places of markers that stand on no part.
const (
	onTool = -1
	onAll  = -2 // on the request itself: the provider chooses the last part that it can
)

// breakpoint notes the marker at a span, if there is one.
func (d *decoder) breakpoint(at rawjson.Span, part int) {
	if at.KindOf(d.Body) == '{' {
		d.marked = append(d.marked, marked{at, part})
	}
}

var markerKeys = [2]string{"type", "ttl"}

// caching tells what was noted of the cache, once all parts are there.
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
	c.Clears = d.summedUp > 0 || d.manages(management)
}

var (
	managementKeys = [1]string{"edits"}
	editKeys       = [1]string{"type"}
)

// manages reports whether the provider is told to change the prompt by itself:
// in any way but that thoughts leave.
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

// blocks is how many parts the prompt has up to and with index part: the
// system text goes before the messages.
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
