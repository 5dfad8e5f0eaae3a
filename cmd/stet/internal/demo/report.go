package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/llmtest"
)

// Report compares what the agent sent with what the model received.
type Report struct {
	words          string // the model's last text
	rows           []row
	sent, received int // bytes of all requests
}

// row is one request.
type row struct {
	news           string // the calls whose results are new in it
	sent, received int    // bytes
	lines          []string
}

// compare fills in the report from the bodies on both sides. That anything but results of tools differs is an error.
func (r *Report) compare(sent [][]byte, received []llmtest.Request) error {
	if len(sent) != len(received) {
		return fmt.Errorf("the agent sent %d requests and the model received %d", len(sent), len(received))
	}
	shown := map[string]bool{} // shortened results, by call
	for i, body := range sent {
		before, err := anthropic.Messages{}.Decode(body)
		if err != nil {
			return err
		}
		after, err := anthropic.Messages{}.Decode(received[i].Body)
		if err != nil {
			return err
		}
		row := row{news: news(before), sent: len(body), received: len(received[i].Body)}
		var edits []llm.Edit
		for j, m := range before.Messages {
			for k, p := range m.Parts {
				if p.Kind != llm.ToolResult || j >= len(after.Messages) || k >= len(after.Messages[j].Parts) || after.Messages[j].Parts[k].Text == p.Text {
					continue
				}
				text := after.Messages[j].Parts[k].Text
				edits = append(edits, llm.Edit{Message: j, Part: k, Text: text})
				if !shown[p.CallID] {
					shown[p.CallID] = true
					row.lines = append(row.lines, text)
				}
			}
		}
		proof, err := anthropic.Messages{}.Patch(nil, body, before, edits)
		if err != nil {
			return err
		}
		if !bytes.Equal(proof, received[i].Body) {
			return fmt.Errorf("request %d reached the model with more changed than results", i+1)
		}
		r.rows, r.sent, r.received = append(r.rows, row), r.sent+row.sent, r.received+row.received
	}
	return nil
}

// news names the calls that the model made last.
func news(r *llm.Request) string {
	var all []string
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			all = nil
		}
		for _, p := range m.Parts {
			var args struct{ Path string }
			if p.Kind == llm.ToolCall && json.Unmarshal([]byte(p.Args), &args) == nil {
				all = append(all, p.Name+" "+args.Path)
			}
		}
	}
	if len(all) == 0 {
		return "(the task)"
	}
	return strings.Join(all, ", ")
}

// Print writes the report.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", report.Bold("stet demo: agent -> stet -> scripted model"))
	fmt.Fprintln(w, report.Faint(fmt.Sprintf("%3s  %-22s  %12s  %12s", "", "new in the request", "agent sent", "model got")))
	for i, row := range r.rows {
		less := ""
		if row.received != row.sent {
			less = report.Good("  " + report.Change(row.sent, row.received))
		}
		fmt.Fprintf(w, "%3d  %-22s  %10s B  %10s B%s\n", i+1, report.Cropped(row.news, 22), report.Grouped(row.sent), report.Grouped(row.received), less)
		for _, line := range row.lines {
			fmt.Fprintf(w, "%s\n", report.Good("     sent in its place: ")+report.OneLine(line))
		}
	}
	fmt.Fprintf(w, "\n%s\n", report.Bold(fmt.Sprintf("%s: %s B from the agent, %s B to the model: %s",
		report.Count(len(r.rows), "request"), report.Grouped(r.sent), report.Grouped(r.received), report.Change(r.sent, r.received))))
	fmt.Fprintln(w, "Every other byte reached the model as it was sent. The model's last words: "+r.words)
}
