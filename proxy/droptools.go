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

// Config.DropTools leaves tools out of the list that a request offers to the model. The tools stand at the beginning of the prompt: the
// provider's cache begins with them, and thinking is bound to them. So the decision is made at the first request of a conversation and is
// kept, even if the configuration changes later. A conversation that began with all its tools keeps them.
//
// Before the model's first tool call, a conversation is identified by its messages. From then on it is identified by these messages
// together with that answer, because two conversations may begin with the same words.

// maxToolPatterns is how many conversations are held in memory. Others are read from the store again.
const maxToolPatterns = 4096

// toolPatterns remembers the patterns by which each conversation leaves out tools.
type toolPatterns struct {
	store record.Store // nil: no conversation leaves out tools
	now   []string     // for new conversations

	mu    sync.Mutex
	known map[uint64][]string // by place; empty: the conversation leaves out no tools
}

// of returns the patterns for a place. ok is false if the place is not known.
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

// note remembers the patterns for a place and returns the rows to be stored.
func (t *toolPatterns) note(place uint64, patterns []string, now time.Time) record.Batch {
	t.hold(place, patterns)
	var h prefix.Hasher
	text := strings.Join(patterns, "\n")
	h.Text("tools left out")
	h.Text(text)
	form := record.SentForm{ID: max(h.Sum64(), 1), Edits: []byte(text)}
	return record.Batch{Forms: []record.SentForm{form}, Places: []record.SentPlace{{Place: place, Form: form.ID, Time: now}}}
}

// beginning holds the places at which the tools of a conversation are decided and looked up. An agent may write the first words of the
// model itself. So a conversation counts as beginning until the model has called a tool.
type beginning struct {
	thought uint64 // while it begins: the place before the model's first thinking; 0: no thinking yet
	before  uint64 // the place before the first answer that calls a tool; while it begins: after all messages
	behind  uint64 // the place after that answer; 0: no tool was called yet
	second  bool   // there is no later answer of the model
}

// toolPlace makes the places of tools different from other places.
const toolPlace = 0x7d0c4b1e92a5f386

func beginningOf(d *reading) (b beginning) {
	messages := d.request.Messages[d.chain.Skip:]
	place := func(n int) uint64 { // the place after n messages
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
	for from > 0 && messages[from-1].Role == llm.Assistant { // one answer may be several messages
		from--
	}
	b.before = place(from)
	var h prefix.Hasher
	h.Number(b.before)
	for messages = messages[from:]; len(messages) > 0 && messages[0].Role == llm.Assistant; messages = messages[1:] {
		for i := range messages[0].Parts { // a client may leave thinking out later
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

// dropTools decides which tools are left out of a request, and stores the decision before the request goes out.
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
		return // the conversation begins with all its tools
	}
	if !known && x.api != record.CountTokens {
		p.writer.wait(p.store(p.tools.note(place, patterns, x.row.Time), nil))
	}
	d.without, x.body.without = names, names
	if len(names) > 0 && d.forms.checks {
		p.conversations.bind()
	}
}

// matching returns the names of the tools that match a pattern. A tool that the model has to search for is not in the prompt, so it
// stays. If every tool would be left out, all stay and the result is nil.
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
