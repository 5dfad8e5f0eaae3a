package trim

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// newest is how many messages at the end of a conversation Fit leaves whole.
const newest = 4

// Fit returns the messages of a conversation as a provider accepts them (see
// [Normalize]), trimmed to budget tokens as c counts them, and their size.
// Nothing is trimmed that need not be. What has the lowest priority leaves
// first, and of that the oldest: results of tools, which leave a placeholder; then
// messages of the assistant with their calls and results; then the user's. System
// messages stay, and so do the newest messages with the user's message
// before them. Where these alone are larger than budget, size is larger too.
//
// The messages given are not changed, and the same ones give the same
// answer. Fit comes before [Engine.Plan], whose pointers then name nothing that was
// taken out.
func Fit(messages []llm.Message, budget int, c tokens.Counter) (fitted []llm.Message, size int) {
	f := fitting{messages: Normalize(messages), counter: c}
	f.sizes = make([]int, len(f.messages))
	for i := range f.messages {
		f.sizes[i] = tokens.CountMessage(&f.messages[i], c)
		f.size += f.sizes[i]
	}
	stays := f.stays()
	for _, trim := range []func(i int){f.result, f.assistant, f.user} {
		for i := range f.messages {
			if f.size <= budget {
				break
			}
			if !stays[i] {
				trim(i)
			}
		}
	}
	takenOut := func(m llm.Message) bool { return m.Parts == nil }
	return slices.DeleteFunc(f.messages, takenOut), f.size
}

// fitting is a conversation that is being trimmed. A message that is taken out has no
// parts; all others have some.
type fitting struct {
	messages []llm.Message
	sizes    []int // of the messages, in tokens
	size     int   // of all of them
	counter  tokens.Counter
}

// stays says which messages are never trimmed: system text, the newest ones, and the
// user's message that these follow. A call is not taken apart from its result.
func (f *fitting) stays() []bool {
	stays := make([]bool, len(f.messages))
	tail := max(0, len(f.messages)-newest)
	if tail < len(f.messages) && f.messages[tail].Role == llm.Tool {
		tail--
	}
	for i := range f.messages {
		stays[i] = i >= tail || f.messages[i].Role == llm.System
	}
	for i := tail; i >= 0 && i < len(f.messages); i-- {
		if f.messages[i].Role == llm.User {
			stays[i] = true
			break
		}
	}
	return stays
}

// result puts a placeholder in the place of each result in message i, and takes out
// what came with them. A result that is shorter than the placeholder stays.
func (f *fitting) result(i int) {
	m := &f.messages[i]
	if m.Role != llm.Tool {
		return
	}
	short := *m
	short.Parts = nil
	for _, p := range m.Parts {
		if p.Kind != llm.ToolResult {
			continue
		}
		if line := f.counter.Count(unfitPlaceholder); line < f.counter.Count(p.Text) {
			p.Text = unfitPlaceholder
		}
		short.Parts = append(short.Parts, p)
	}
	f.replace(i, short)
}

// assistant takes out message i, if it is the assistant's, and its results.
func (f *fitting) assistant(i int) {
	if f.messages[i].Role != llm.Assistant {
		return
	}
	f.replace(i, llm.Message{})
	if i+1 < len(f.messages) && f.messages[i+1].Role == llm.Tool {
		f.replace(i+1, llm.Message{})
	}
}

func (f *fitting) user(i int) {
	if f.messages[i].Role == llm.User {
		f.replace(i, llm.Message{})
	}
}

func (f *fitting) replace(i int, m llm.Message) {
	n := 0
	if m.Parts != nil {
		n = tokens.CountMessage(&m, f.counter)
	}
	f.size += n - f.sizes[i]
	f.messages[i], f.sizes[i] = m, n
}
