package trim

import (
	"cmp"
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Plan is what is left out of one request.
type Plan struct {
	Edits     []llm.Edit // in the order of the messages
	Omissions []Omission // the same decisions with their reasons, one per Edit

	// Cleared are the results that the provider is to clear itself ([Config.Clears]): those of the first ClearedCalls calls of
	// tools. The edits of these results are made all the same.
	Cleared      []Omission
	ClearedCalls int

	Root string // the workspace that the conversation names, or that of the Config; "": it is not known

	Stats
}

// Omission is one result, or the arguments of one call, that was replaced, or thinking that was removed, and
// why.
type Omission struct {
	Message, Part int
	CallID        string
	Paths         []string // the files whose content was left out
	Reason        Reason
	Before, After int // bytes of its text
	Weight        int // of what is left out, as the account of its conversation counts it; 0 of thinking
}

// Text returns how many bytes of text are saved, as Stats.Saved counts them. Thinking is no text.
func (o Omission) Text() int {
	if o.Reason == Thinking {
		return 0
	}
	return o.Before - o.After
}

// Stats counts what a plan saw and did.
type Stats struct {
	Reads    int // successful reads, one per file of a batch
	Repeats  int // reads whose lines were all in view already
	Dangling int // placeholders of content that is nowhere in the request
	Saved    int // bytes of text left out, net of the placeholders; without thinking, whose size is not known
	Breaks   int // warm breaks so far, after each of them the plan changed what had been sent, or the provider clears more (bold)
}

// replaceResult replaces the text of a result.
func (p *Plan) replaceResult(res *toolResult, text string, paths []string, why Reason) {
	p.replace(res.at, res, res.text, text, paths, why)
}

// replaceArguments replaces the arguments of the call of a result.
func (p *Plan) replaceArguments(res *toolResult, args string, paths []string) {
	p.replace(res.call.at, res, res.call.args, args, paths, Arguments)
}

func (p *Plan) replace(at PartRef, res *toolResult, before, text string, paths []string, why Reason) {
	p.Edits = append(p.Edits, llm.Edit{Message: at.Message, Part: at.Part, Text: text})
	p.Omissions = append(p.Omissions, Omission{
		Message: at.Message, Part: at.Part, CallID: res.call.id, Paths: paths,
		Reason: why, Before: len(before), After: len(text), Weight: res.engine.weight(before) - res.engine.weight(text),
	})
	p.Saved += len(before) - len(text)
}

// Sort brings a plan into the order of the messages.
func (p *Plan) Sort() {
	slices.SortFunc(p.Edits, func(a, b llm.Edit) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Part, b.Part))
	})
	slices.SortFunc(p.Omissions, func(a, b Omission) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Part, b.Part))
	})
}

// Clone returns a copy with edits and omissions of its own.
func (p *Plan) Clone() *Plan {
	c := *p
	c.Edits, c.Omissions = slices.Clone(p.Edits), slices.Clone(p.Omissions)
	return &c
}

// paths lists the files of the plan, each once, max at most.
func (p *Plan) paths(max int) []string {
	var out []string
	for _, o := range p.Omissions {
		for _, path := range o.Paths {
			if len(out) < max && !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out
}
