package cachestate

import (
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

// lookback is how many parts before a marker the provider searches for what an earlier marker stored.
const lookback = 20

// Snapshot is what is remembered of a request that was sent.
type Snapshot struct {
	own, key     Key // the request's own key, and the key of the cache that it used
	skip, stable int // as in the chain
	links        []uint64
	edits        []edit // in the order of their messages
	marks        []llm.Breakpoint

	// State's lock guards these.
	time   time.Time // time of the answer, or of the request while there is no answer
	prompt int       // tokens, as the provider counted; 0: not known
}

// edit is a part that was sent changed.
type edit struct {
	message, part int
	text          uint64 // hash of the sent text
	saved         int    // saved bytes of text, as prefix.TextSize counts it
}

// snapshotOf returns the snapshot of a request that is sent. plan says what was left out; nil: nothing.
func snapshotOf(r *Request, key Key, plan *trim.Plan) *Snapshot {
	n := &Snapshot{
		own: r.Key, key: key, skip: r.Chain.Skip, stable: r.Chain.Stable,
		links: r.Chain.Links, marks: r.Decoded.Caching.Breakpoints, time: r.Time,
	}
	if plan == nil {
		return n
	}
	for i, e := range plan.Edits {
		n.edits = append(n.edits, edit{e.Message, e.Part, xxh3.HashString(e.Text), plan.Omissions[i].Text()})
	}
	return n
}

// shared returns the number of equal links at the beginning of a request and a snapshot. n may be nil.
func shared(links []uint64, n *Snapshot) (common int) {
	for n != nil && common < min(len(n.links), len(links)) && n.links[common] == links[common] {
		common++
	}
	return common
}

// Comparison compares a sent request with the one before, with sizes in bytes of text. The zero value is for a request without one
// before.
type Comparison struct {
	Broke   string // as in record.Cache.Broke
	BrokeAt int    // as in record.Cache.BrokeAt

	again    bool // the whole earlier request was sent again in the same way
	findable bool // the provider can find the end of the kept part in its cache

	preamble int // tools and leading system text
	kept     int // with the messages at the beginning of both that were sent in the same way; at least preamble
	common   int // with all messages at the beginning of both; at least kept
	all      int
}

// Compare compares the request, as it was sent, with the one before. Of a request in another process only tools and system text are
// known.
func (w *Pending) Compare(req *llm.Request) Comparison {
	n, before := w.snapshot, w.verdict.at.before
	var c Comparison
	kept, common := 0, 0
	switch {
	case before != nil:
		kept, common = c.compare(n, before, req)
	case w.verdict.Cache.Changed.Tools:
		c.Broke = record.BrokeTools
	case w.verdict.Cache.Changed.System:
		c.Broke = record.BrokeSystem
	}
	ends := make([]int, len(req.Messages)+1) // ends[i] is the size before message i
	ends[0] = prefix.ToolsSize(req)
	for i := range req.Messages {
		ends[i+1] = prefix.TextSize(&req.Messages[i])
	}
	for _, e := range n.edits {
		ends[e.message+1] -= e.saved
	}
	for i := range req.Messages {
		ends[i+1] += ends[i]
	}
	c.preamble, c.all = ends[n.skip], ends[len(req.Messages)]
	c.kept = max(c.preamble, ends[kept])
	c.common = max(c.kept, ends[common])
	return c
}

// compare finds where n differs from before. It returns how many messages at the beginning of both were sent in the same way, and
// how many are common.
func (c *Comparison) compare(n, before *Snapshot, req *llm.Request) (kept, common int) {
	switch {
	case before.own.Model != n.own.Model:
		c.Broke = record.BrokeModel
		return 0, 0
	case before.own.Tools != n.own.Tools:
		c.Broke = record.BrokeTools
	case before.own.System != n.own.System || before.skip != n.skip:
		c.Broke = record.BrokeSystem
	}
	links := shared(n.links, before)
	common = n.skip + links
	kept = n.sameEdits(before, common)
	parts := 0
	for _, m := range req.Messages[:kept] {
		parts += len(m.Parts)
	}
	whole := links == len(before.links)
	c.findable = len(before.marks) == 0 || n.finds(before, parts)
	switch {
	case c.Broke != "":
	case kept < common:
		c.Broke, c.BrokeAt = record.BrokeStet, kept
	case !whole && links < len(n.links):
		c.Broke, c.BrokeAt = record.BrokeMessage, common
	case whole && !c.findable:
		c.Broke = record.BrokeMarker
	}
	c.again = c.Broke == "" && kept == before.skip+len(before.links)
	return kept, common
}

// sameEdits returns the first of limit messages whose edits differ from before, or limit.
func (n *Snapshot) sameEdits(before *Snapshot, limit int) int {
	for i := 0; ; i++ {
		a, b := n.edit(i), before.edit(i)
		if a == b && a.message < limit {
			continue
		}
		return min(limit, a.message, b.message)
	}
}

// edit returns the i-th edit. After the last one it returns an edit of a message that does not exist.
func (n *Snapshot) edit(i int) edit {
	if i >= len(n.edits) {
		return edit{message: int(^uint(0) >> 1)}
	}
	return n.edits[i]
}

// finds reports whether a marker is close enough for the provider to find, looking back from it, what a marker of the earlier
// request stored of its first parts.
func (n *Snapshot) finds(before *Snapshot, parts int) bool {
	return slices.ContainsFunc(n.marks, func(m llm.Breakpoint) bool {
		return slices.ContainsFunc(before.marks, func(b llm.Breakpoint) bool {
			return b.Blocks <= min(m.Blocks, parts) && m.Blocks-b.Blocks < lookback
		})
	})
}
