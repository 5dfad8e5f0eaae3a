package proxy

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/cachestate"
	"github.com/stet-dev/stet/internal/prefix"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// Config.DropTools leaves tools out of what requests offer to the model. The tools stand before everything else: a provider's cache
// begins with them, and thinking is bound to them. So they are left out from the first request of a conversation on, by the
// patterns of that time, whatever the configuration says later. A conversation that began with all its tools keeps them.
//
// A conversation is known by its messages before the model's first call of a tool, and from then on by these together
// with that answer: two conversations may begin with the same words.

// maxToolPatterns is how many conversations are held. Others are looked up again.
const maxToolPatterns = 4096

// toolPatterns remembers by which patterns conversations leave out tools.
type toolPatterns struct {
	store record.Store // nil: no conversation leaves out any
	now   []string     // for conversations that begin

	mu    sync.Mutex
	known map[uint64][]string // by place; none: the conversation leaves out no tools
}

// of returns the patterns of a place. ok is false if nothing is known of it.
func (t *toolPatterns) of(ctx context.Context, place uint64) (patterns []string, ok bool, err error) {
	t.mu.Lock()
	patterns, ok = t.known[place]
	t.mu.Unlock()
	if ok {
		return patterns, true, nil
	}
	at, forms, err := t.store.SentForms(ctx, []uint64{place})
	if err != nil || len(at) == 0 { // the newest is first
		return nil, false, err
	}
	for _, f := range forms {
		if f.ID == at[0].Form {
			patterns = strings.Split(string(f.Edits), "\n")
		}
	}
	t.hold(place, patterns)
	return patterns, true, nil
}

func (t *toolPatterns) hold(place uint64, patterns []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxToolPatterns {
		t.known = map[uint64][]string{}
	}
	t.known[place] = patterns
}

// note remembers the patterns of a place, and returns what a store is to keep of that.
func (t *toolPatterns) note(place uint64, patterns []string, now time.Time) record.Batch {
	t.hold(place, patterns)
	var h prefix.Hasher
	text := strings.Join(patterns, "\n")
	h.Text("tools left out")
	h.Text(text)
	form := record.SentForm{ID: max(h.Sum64(), 1), Edits: []byte(text)}
	return record.Batch{Forms: []record.SentForm{form}, Places: []record.SentPlace{{Place: place, Form: form.ID, Time: now}}}
}

// beginning is where a conversation's tools are decided: at its first request. An agent may write the first words of the model itself,
// so a conversation begins until the model has called a tool.
type beginning struct {
	thought uint64 // while it begins: the place before the model's first thinking; 0: it has not thought
	before  uint64 // the place before the first answer that calls a tool; while it begins: behind all messages
	behind  uint64 // the place behind that answer; 0: it begins
	second  bool   // that answer is the only one
}

// toolPlace tells a place of tools from other places.
const toolPlace = 0x7d0c4b1e92a5f386

func beginningOf(d *reading) (b beginning) {
	messages := d.request.Messages[d.chain.Skip:]
	place := func(n int) uint64 { // behind n messages
		if n == 0 {
			return toolPlace
		}
		return d.chain.Links[n-1] ^ toolPlace
	}
	from := slices.IndexFunc(messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.ToolCall })
	})
	if from < 0 {
		b.before = place(len(messages))
		if i := cachestate.FirstThinking(d.request) - d.chain.Skip; i >= 0 {
			b.thought = place(i)
		}
		return b
	}
	for from > 0 && messages[from-1].Role == llm.Assistant { // an answer may be several messages
		from--
	}
	b.before = place(from)
	var h prefix.Hasher
	h.Number(b.before)
	for messages = messages[from:]; len(messages) > 0 && messages[0].Role == llm.Assistant; messages = messages[1:] {
		for i := range messages[0].Parts { // thinking may be left out later
			if p := &messages[0].Parts[i]; p.Kind != llm.Thinking {
				h.Text(p.Text)
				h.Text(p.CallID)
			}
		}
	}
	b.behind = max(h.Sum64(), 1)
	b.second = !slices.ContainsFunc(messages, func(m llm.Message) bool { return m.Role == llm.Assistant })
	return b
}

// dropTools decides which tools are left out of a request, and has it stored before the request goes out.
func (p *Proxy) dropTools(x *exchange, d *reading) {
	if d.request == nil || len(d.request.Tools) == 0 || len(d.chain.Links) == 0 || p.tools.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.base, maxLookUp)
	defer cancel()
	b := beginningOf(d)
	place, patterns, known := b.before, p.tools.now, false
	var err error
	switch {
	case b.behind != 0:
		place = b.behind
		if patterns, known, err = p.tools.of(ctx, b.behind); err == nil && !known && b.second {
			patterns, _, err = p.tools.of(ctx, b.before)
		}
		if len(patterns) == 0 && err == nil {
			p.tools.hold(b.behind, nil)
		}
	case b.thought != 0:
		patterns, _, err = p.tools.of(ctx, b.thought)
	}
	if err != nil {
		p.log.Warn("which tools a conversation leaves out is not known: it goes with all", "conversation", x.row.Conversation, "error", err)
		return
	}
	if len(patterns) == 0 {
		return
	}
	names := matching(d.request, patterns)
	if names == nil && b.behind == 0 {
		return // it begins with all
	}
	if !known && x.api != record.CountTokens {
		p.writer.wait(p.store(p.tools.note(place, patterns, x.row.Time), nil))
	}
	d.without, x.body.without = names, names
	if len(names) > 0 && d.forms.checks {
		p.conversations.bind()
	}
}

// matching are the names of the tools that one of the patterns names. A tool that the model has to search for is no part of the prompt,
// and stays. If no tool would be left, all stay: nil.
func matching(req *llm.Request, patterns []string) map[string]bool {
	names, left := map[string]bool{}, 0
	for i := range req.Tools {
		t := &req.Tools[i]
		if !t.Deferred && slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, t.Name); return ok }) {
			names[t.Name] = true
		} else {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	return names
}
