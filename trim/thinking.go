package trim

import "github.com/stet-dev/stet/llm"

// Some providers keep the thinking of earlier turns in the prompt, and bill it in each request. At a cold point it leaves, block by
// block from the start of the conversation, up to the newest turns. A loop of tools that has not ended keeps all of its thinking.
// Providers that check what is before thinking accept that: they refuse only a gap between two blocks. So what has left stays away.
//
// A turn leaves whole or not at all: messages of the model that follow one another are one message to the provider, and thinking
// must not begin in the middle of it.

// thinkingTurns is how many of the newest turns with thinking keep it: as many as under the provider's own strategy
// (clear_thinking_20251015), where a client does not ask for another number.
const thinkingTurns = 1

// thought is a block of thinking.
type thought struct {
	at      PartRef
	turn    int  // counts the sequences of messages of the model
	bytes   int  // estimated
	weight  int  // the bytes, or as the text is weighed, if that is more
	results int  // before it
	movable bool // it can be removed from the request
	left    bool
}

// thoughts are the blocks of thinking in a conversation.
type thoughts struct {
	all   []thought
	turns int
	last  llm.Role // of the message before
	ended int      // the loops of tools in the messages before this one have ended
}

// add notes the thinking in the next message of a state.
func (t *thoughts) add(m *llm.Message, st *State) {
	n, inPlace := st.messages, st.engine.config.InPlace
	if m.Role == llm.Assistant {
		if t.last != llm.Assistant {
			t.turns++
		}
		calls := false
		for i := range m.Parts {
			p := &m.Parts[i]
			calls = calls || p.Kind == llm.ToolCall
			if p.Kind != llm.Thinking {
				continue
			}
			b := thought{at: PartRef{n, i}, turn: t.turns, bytes: ThinkingSize(p), results: len(st.results), movable: i+1 < len(m.Parts) && (!inPlace || p.Span.Valid())}
			b.weight = max(b.bytes, st.engine.weight(p.Text))
			if st.given != nil && st.given.of(b.at).why == Thinking {
				b.left = true
			}
			t.all = append(t.all, b)
		}
		if !calls {
			t.ended = n + 1
		}
	}
	t.last = m.Role
}

// ThinkingSize returns about how many bytes of text a block of thinking has. The signature holds the text, encrypted, even if
// the block does not show it.
func ThinkingSize(p *llm.Part) int {
	const overhead = 200 // bytes of a signature without text
	return max(len(p.Text), (len(p.Raw)-len(p.Text))*3/4-overhead, 0)
}

// leaving returns how many of the first blocks may have left, and the weight of those that are still there. The blocks of the first keep
// messages stay as they are.
func (t *thoughts) leaving(keep int) (n, weight int) {
	newest, turn := 0, 0
	end := len(t.all)
	for end > 0 && newest <= thinkingTurns {
		if b := &t.all[end-1]; b.turn != turn {
			if newest++; newest > thinkingTurns {
				break
			}
			turn = b.turn
		}
		end--
	}
	sum := 0
	for i := range t.all[:end] {
		b := &t.all[i]
		if b.at.Message >= t.ended || !b.left && (!b.movable || b.at.Message < keep) {
			break
		}
		if !b.left {
			sum += b.weight
		}
		if i+1 == len(t.all) || t.all[i+1].turn != b.turn {
			n, weight = i+1, sum
		}
	}
	return n, weight
}

// leave has the first n blocks leave.
func (t *thoughts) leave(n int) {
	for i := range t.all[:n] {
		t.all[i].left = true
	}
}

// forgetsThinking reports whether thinking may leave.
func (e *Engine) forgetsThinking() bool {
	return e.config.BillsThinking && e.config.Policy.Clears()
}

// withoutThinking adds to a plan the thinking that has left.
func (st *State) withoutThinking(p *Plan) {
	n := len(p.Edits)
	for i := range st.thoughts.all {
		if b := &st.thoughts.all[i]; b.left {
			p.Edits = append(p.Edits, llm.Edit{Message: b.at.Message, Part: b.at.Part})
			p.Omissions = append(p.Omissions, Omission{Message: b.at.Message, Part: b.at.Part, Reason: Thinking, Before: b.bytes})
		}
	}
	if len(p.Edits) > n {
		p.Sort()
	}
}
