package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim"
)

// A conversation is compacted: a summary, and what is carried over besides it.

// SummaryAsked is the beginning of the text that asks the model for a summary.
const SummaryAsked = "Write a summary of this conversation"

// summaryTask asks for a summary.
const summaryTask = SummaryAsked + `, which will take its place: the agent that continues will see only your summary and the files as they are on disk. Do not call tools, and do not go on with the work.

Say, as far as there is something to say:
1. what the person wants, in their own words where these matter, and what they forbade or prefer;
2. what was done, and what was found out: decisions with their reasons, errors and how they were solved, what did not work;
3. which files matter, by path, and what of them: names of functions, lines that were changed, text that has to be known exactly;
4. what is being done right now, and the next step;
5. what is still open.

Be exact and brief. Leave out what can be read again in a file.`

// retryTask is added if the first answer could not be used.
const retryTask = "\n\nYour last answer to this could not be used: %s. Answer with the text of the summary alone."

// summaryHead precedes the summary in the new session.
const summaryHead = "This conversation continues an earlier one that has become too long. Its summary:\n\n"

// errNoSummary is the error of a compaction without a usable summary.
var errNoSummary = errors.New("no usable summary")

// Compact replaces the conversation by a summary, in a new session that is linked to this one. focus says what the
// summary must keep; it may be empty. If the model gives no usable summary, the conversation does not change, and Compact
// returns an error.
func (c *Conversation) Compact(ctx context.Context, focus string, each func(Event)) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	r := &run{Conversation: c, each: each}
	if _, err := r.follow(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if len(r.State().Messages) == 0 {
		return fmt.Errorf("compact: %w: nothing was said yet", errNoSummary)
	}
	c.backoff.reset()
	return r.compact(ctx, focus)
}

// prepare makes the next request and makes sure that it fits into the window. If it exceeds the limit, the conversation is
// compacted. If that is not possible, the least important messages are left out.
func (r *run) prepare(ctx context.Context) (built, error) {
	b := r.next()
	if share := r.a.Limits.Compact; share >= 0 && b.size >= r.narrowed(r.a.limit()) && r.backoff.free(b.size) {
		if err := r.compact(ctx, ""); ctx.Err() != nil {
			return b, err
		}
		b = r.next()
	}
	if most := r.narrowed(r.a.maxPrompt()); b.size > most {
		b = r.fit(most)
	}
	return b, nil
}

// compact asks for a summary and continues with it in a new session.
func (r *run) compact(ctx context.Context, focus string) error {
	st := r.State()
	b := r.build()
	r.tell(Event{Kind: Compacting, Fill: r.fill(b)})
	text, err := r.summary(ctx, b, focus)
	if err != nil {
		r.backoff.failed(b.size, r.a.window())
		r.a.log().Warn("not compacted", "session", st.ID, "err", err)
		r.tell(Event{Kind: NotCompacted, Err: err})
		return fmt.Errorf("compact: %w", err)
	}
	carried, known := r.carryOver(ctx, st, text)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	next, err := r.session().Compact(ctx, carried...)
	if err != nil {
		r.tell(Event{Kind: NotCompacted, Err: err})
		return err
	}
	r.mu.Lock()
	r.before = r.before.plus(billOf(r.ses.State()))
	r.ses, r.fitted, r.pending, r.thinkingFrom = next, nil, nil, len(next.State().Messages)
	r.mu.Unlock()
	if t := r.tracker(); t != nil {
		t.Restore(known)
	}
	r.a.mu.Lock()
	r.meter = tokens.Meter{Calibration: &r.a.calibration}
	r.a.mu.Unlock()
	r.backoff.compacted(r.build().size, r.narrowed(r.a.limit()), r.a.window())
	r.tell(Event{Kind: Compacted, To: next.ID(), Text: text, Fill: r.Fill()})
	return nil
}

// summary asks the model for a summary, at most twice.
//
// The request is the next request of the conversation with the question after it. Tools, system text and messages are the
// same, byte for byte. So the provider reads everything except the question from its cache, at a tenth of the price.
// Another request would cost the full price, and the conversation is longest at this time.
func (r *run) summary(ctx context.Context, b built, focus string) (string, error) {
	task := summaryTask
	if focus != "" {
		task += "\n\nThe person asks that above all this be kept: " + focus
	}
	// A summary is short, so that nothing need be left out of what it is of.
	question := r.a.counter.Count(task)
	if most := r.narrowed(r.a.window() - r.a.window()/25 - question - r.a.window()/50); b.size > most {
		b = r.fit(most)
	}
	b.req.MaxTokens = max(min(r.a.output(), r.a.window()-b.size-question-r.a.window()/100), 1)
	why := ""
	for range 2 {
		if why != "" {
			task += fmt.Sprintf(retryTask, why)
		}
		req := *b.req
		req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], llm.Message(newMessage(llm.User, llm.Part{Kind: llm.Text, Text: task})))
		res, err := r.a.Model.Stream(ctx, &req, nil)
		if res != nil && !res.Usage.IsZero() {
			if stored := r.append(ctx, session.Usage{Model: r.a.Name, Used: res.Usage}); stored != nil {
				return "", stored
			}
			r.out.Usage = r.out.Usage.Add(res.Usage)
		}
		if err != nil {
			return "", err
		}
		text := strings.TrimSpace(textOf(res.Message))
		if why = r.unusable(res, text, b); why == "" {
			return text, nil
		}
	}
	return "", fmt.Errorf("%w: %s", errNoSummary, why)
}

// unusable returns why an answer cannot be used as a summary, or "".
func (r *run) unusable(res *llm.Response, text string, b built) string {
	was := tokens.CountMessages(b.req.Messages[len(r.system):], r.a.counter)
	switch stop := res.Stop(); {
	case len(callsOf(res.Message)) > 0:
		return "it called a tool"
	case text == "":
		return "it was empty"
	case stop == llm.StopLimit:
		return "it was cut off at the limit of its length"
	case stop != llm.StopDone:
		return "it did not come to its end"
	case r.a.counter.Count(text) >= was:
		return "it was as long as what it should replace"
	}
	return ""
}

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
