package agent

import (
	"context"
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
		parts = append(parts, reminder("What the person said last, in their own words:\n"+asked))
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

// tail returns the messages that are taken along as they are: what the person
// said, if it is not answered yet; or the newest answer with the results of its
// calls, which never part, if it waits for more and is small. Where the person's
// words are not among them, asked has them.
func (r *run) tail(st session.State) (tail []llm.Message, asked string) {
	messages := history.Normalize(st.Messages)
	end := len(messages)
	if end == 0 || messages[end-1].Role == llm.Assistant {
		return nil, "" // all is answered
	}
	from := end
	for from > 0 && messages[from-1].Role == llm.User {
		from--
	}
	if from > 0 && messages[from-1].Role == llm.Tool {
		from -= 2 // the results and the calls
	}
	from = max(from, 0)
	tail = messages[from:]
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

// saidIn is what the person said in a message.
func saidIn(m llm.Message) string {
	if m.Role != llm.User {
		return ""
	}
	var own llm.Message
	for _, p := range m.Parts {
		if !IsReminder(p) {
			own.Parts = append(own.Parts, p)
		}
	}
	return words(own)
}
