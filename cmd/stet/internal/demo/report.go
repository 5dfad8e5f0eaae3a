package demo

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/server/proxy"
)

// Report compares what the agent sent with what the model received.
type Report struct {
	base          string
	policy        string
	words         string // the model's last text
	turns         []row
	totals        proxy.Totals
	before, after size // of all requests
}

// size is the size of a request: the bytes of its body, and the estimated tokens of its messages.
type size struct{ bytes, tokens int }

// row is one request.
type row struct {
	calls         []string
	before, after size
	lines         []string // placeholders that appear in this request for the first time
	again         bool     // a result is whole because the agent asked again
}

// compare fills in the report from the bodies on both sides.
func (r *Report) compare(sent []turn, received []llmtest.Request) error {
	if len(sent) != len(received) {
		return fmt.Errorf("the agent sent %d requests and the model received %d", len(sent), len(received))
	}
	shown := map[string]bool{}     // shortened results, by call
	shortened := map[string]bool{} // shortened calls, by their text in the report
	for i := range sent {
		row := row{calls: sent[i].calls}
		before, err := decode(sent[i].body, &row.before)
		if err != nil {
			return err
		}
		after, err := decode(received[i].Body, &row.after)
		if err != nil {
			return err
		}
		edits, err := differences(before, after)
		if err != nil {
			return err
		}
		proof, err := anthropic.Messages{}.Patch(nil, sent[i].body, before, edits)
		if err != nil {
			return err
		}
		if !bytes.Equal(proof, received[i].Body) {
			return fmt.Errorf("request %d reached the model with more changed than results", i+1)
		}
		for _, e := range edits {
			if call := before.Messages[e.Message].Parts[e.Part].CallID; !shown[call] {
				shown[call] = true
				row.lines = append(row.lines, e.Text)
			}
		}
		for _, c := range row.calls {
			row.again = row.again || shortened[c] && len(row.lines) == 0
			shortened[c] = len(row.lines) > 0
		}
		r.turns = append(r.turns, row)
		r.before.bytes += row.before.bytes
		r.before.tokens += row.before.tokens
		r.after.bytes += row.after.bytes
		r.after.tokens += row.after.tokens
	}
	return nil
}

// decode decodes the body of a request, and measures it.
func decode(body []byte, is *size) (*llm.Request, error) {
	req, err := anthropic.Messages{}.Decode(body)
	if err == nil {
		*is = size{len(body), tokens.CountMessages(req.Messages, tokens.Estimate{})}
	}
	return req, err
}

// differences returns the edits that change before into after: both must have the same parts, and only results of tools may differ.
func differences(before, after *llm.Request) ([]llm.Edit, error) {
	var edits []llm.Edit
	if len(before.Messages) != len(after.Messages) {
		return nil, fmt.Errorf("%d messages became %d", len(before.Messages), len(after.Messages))
	}
	for i, m := range before.Messages {
		for j, p := range m.Parts {
			if j >= len(after.Messages[i].Parts) {
				return nil, fmt.Errorf("message %d lost a part", i)
			}
			if text := after.Messages[i].Parts[j].Text; p.Kind == llm.ToolResult && text != p.Text {
				edits = append(edits, llm.Edit{Message: i, Part: j, Text: text})
			}
		}
	}
	return edits, nil
}

// Print writes the report for a screen with width columns.
func (r *Report) Print(w io.Writer, width int) {
	fmt.Fprintf(w, "%s  agent -> stet (%s, policy %s) -> scripted model\n", report.Bold("stet demo"), r.base, r.policy)
	fmt.Fprintln(w, "The agent repairs a small project. The output of commands is recorded; the rest is real.")
	fmt.Fprintln(w)
	call := 9
	for _, row := range r.turns {
		for _, c := range row.calls {
			call = max(call, len([]rune(c)))
		}
	}
	if width > 0 {
		call = min(call, max(20, width-58))
	}
	fmt.Fprintln(w, report.Faint(fmt.Sprintf("%3s  %-*s  %12s  %12s  %15s", "", call, "new in the request", "agent sent", "model got", "tokens")))
	for i, row := range r.turns {
		for j, c := range row.calls {
			if j < len(row.calls)-1 {
				fmt.Fprintf(w, "%3s  %-*s\n", "", call, report.Cropped(c, call))
				continue
			}
			left := ""
			if row.after.bytes < row.before.bytes {
				left = report.Good("  " + report.Change(row.before.tokens, row.after.tokens))
			}
			fmt.Fprintf(w, "%3d  %-*s  %10s B  %10s B  %6s -> %5s%s\n", i+1, call, report.Cropped(c, call),
				report.Grouped(row.before.bytes), report.Grouped(row.after.bytes), report.Grouped(row.before.tokens), report.Grouped(row.after.tokens), left)
		}
		if row.again {
			fmt.Fprintln(w, report.Faint("     sent whole: the agent asked again"))
		}
		for _, line := range row.lines {
			fmt.Fprintf(w, "%s\n", report.Good("     sent in its place: ")+report.OneLine(line))
		}
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%s\n", report.Bold(fmt.Sprintf("%s: %s B from the agent, %s B to the model: %s",
		report.Count(len(r.turns), "request"), report.Grouped(r.before.bytes), report.Grouped(r.after.bytes), report.Change(r.before.bytes, r.after.bytes))))
	fmt.Fprintf(w, "Estimated tokens of the messages: %s -> %s (%s). %s of files, %s left out; every other byte reached the model as it was sent.\n",
		report.Grouped(r.before.tokens), report.Grouped(r.after.tokens), report.Change(r.before.tokens, r.after.tokens),
		report.Count(r.totals.Reads, "read"), cmp.Or(report.LeftOut(r.totals.Shortened), "nothing"))
	fmt.Fprintf(w, "%s\n", report.Faint("The model's last words: "+r.words))
}
