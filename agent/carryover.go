package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim"
)

// carryOver makes the first events of the session after a compaction: the summary, files in their current content on disk,
// and the newest messages. known is what the new session knows about files.
func (r *run) carryOver(ctx context.Context, st session.State, text string) (carried []session.Body, known []observation) {
	parts := []llm.Part{{Kind: llm.Text, Text: summaryHead + text}}
	attached, known := r.attached(ctx)
	parts = append(parts, attached...)
	tail, asked := r.tail(st)
	if asked != "" {
		parts = append(parts, reminder(askedHead+asked))
	}
	carried = append(carried, newMessage(llm.User, parts...))
	for _, m := range tail {
		carried = append(carried, session.Message(m))
	}
	for _, o := range known {
		carried = append(carried, session.File(o))
	}
	return carried, known
}

// askedHead precedes the person's words in the reminder that repeats them after a compaction.
const askedHead = "What the person said last, in their own words:\n"

// tail returns the newest messages, which are carried over unchanged. There are three cases. The person's message is not
// answered: it is carried over. The newest calls have results that the model has not answered: the calls and results are
// carried over. The answer was cut off: it is carried over with its note. In each case the messages must be small. If the
// person's last message is not carried over, asked is its text. An earlier summary is not carried over, because the new one
// includes it.
func (r *run) tail(st session.State) (tail []llm.Message, asked string) {
	messages := trim.Normalize(st.Messages)
	end := len(messages)
	if end == 0 {
		return nil, ""
	}
	from := end
	switch note := cutOffNote(st); {
	case messages[end-1].Role != llm.Assistant:
		from = open(messages)
		tail = slices.Clone(messages[from:])
	case note != nil:
		from = end - 1
		tail = []llm.Message{messages[from], *note}
	default:
		return nil, "" // everything is answered
	}
	if tokens.CountMessages(tail, r.a.counter) > r.a.window()/10 {
		tail = nil
	}
	for i := end - 1; i >= 0; i-- {
		if said := saidIn(messages[i]); said != "" {
			if i < from || tail == nil {
				asked = said
			}
			break
		}
	}
	for i := range tail {
		tail[i].Usage = nil // it was measured for another request
		if tail[i].Time.IsZero() {
			tail[i].Time = time.Now()
		}
	}
	return tail, asked
}

// open returns the index of the first message without an answer: the user's messages at the end, and the newest calls with
// their results before them.
func open(messages []llm.Message) int {
	from := len(messages)
	for from > 0 && messages[from-1].Role == llm.User && !slices.ContainsFunc(messages[from-1].Parts, IsSummary) {
		from--
	}
	if from > 0 && messages[from-1].Role == llm.Tool {
		from -= 2 // the results and the calls
	}
	return max(from, 0)
}

// saidIn returns the person's words in a message, including words that an earlier compaction carried over.
func saidIn(m llm.Message) string {
	if m.Role != llm.User {
		return ""
	}
	var own llm.Message
	for _, p := range m.Parts {
		if IsReminder(p) {
			text := strings.TrimSuffix(strings.TrimPrefix(p.Text, reminderOpen), reminderClose)
			var carried bool
			if p.Text, carried = strings.CutPrefix(text, askedHead); !carried {
				continue
			}
		}
		if !IsSummary(p) {
			own.Parts = append(own.Parts, p)
		}
	}
	return textOf(own)
}
