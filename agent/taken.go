package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tokens"
)

// taken is what the session that goes on begins with: the summary, files as they
// are on disk now, and the newest messages. known is what is known of files then.
func (r *run) taken(ctx context.Context, st session.State, text string) (taken []session.Body, known []observation) {
	parts := []llm.Part{{Kind: llm.Text, Text: summaryHead + text}}
	attached, known := r.attached(ctx)
	parts = append(parts, attached...)
	tail, asked := r.tail(st)
	if asked != "" {
		parts = append(parts, reminder(askedHead+asked))
	}
	taken = append(taken, spoken(llm.User, parts...))
	for _, m := range tail {
		taken = append(taken, session.Message(m))
	}
	for _, o := range known {
		taken = append(taken, session.File(o))
	}
	return taken, known
}

// askedHead stands before the person's words in the reminder that carries them
// over a compaction.
const askedHead = "What the person said last, in their own words:\n"

// tail returns the messages that are taken along as they are: what the person
// said, if it is not answered yet; or the newest answer with the results of its
// calls, which never part, if it waits for more and is small; or an answer that
// was cut off, with the note that says so. Where the person's words are not among
// them, asked has them. A summary is never taken along: the new one has it.
func (r *run) tail(st session.State) (tail []llm.Message, asked string) {
	messages := history.Normalize(st.Messages)
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
		return nil, "" // all is answered
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
		tail[i].Usage = nil // it was the size of another window
		if tail[i].Time.IsZero() {
			tail[i].Time = time.Now()
		}
	}
	return tail, asked
}

// open is the index of the first of the messages at the end that wait for an
// answer: the user's, and before them the newest calls with their results.
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

// saidIn is what the person said in a message, or said before the compaction
// that carried it over to this message.
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
	return words(own)
}
