package trim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// forms has the fmt format of a line's number and text for each read tool. "" prints only the text.
var forms = map[string]string{"filesystem-read": "%d→%s", "Read": "%6d\t%s", "read": "%d: %s", "exec_command": "", "mcp__stet__Read": "%6d | %s"}

// look adds a read of a file with the tool of a random agent.
func (w *world) look(t *rapid.T, name string) { w.lookAll(t, name) }

// lookAll adds one message with several reads.
func (w *world) lookAll(t *rapid.T, names ...string) {
	var seen []exposure
	var requests []request
	for _, name := range names {
		x, r := w.sight(t, name)
		seen, requests = append(seen, x), append(requests, r)
	}
	first := w.batch(requests...)
	for i, x := range seen {
		w.truth[first+i], w.asked[first+i] = []exposure{x}, first-1
	}
}

// sight draws what a read of a file shows, with the tool of a random agent.
func (w *world) sight(t *rapid.T, name string) (exposure, request) {
	x, text := w.expose(t, name)
	last := x.first + len(x.lines) - 1
	args := map[string]any{"filePath": name, "startLine": x.first, "endLine": last}
	form := "filesystem-read"
	if len(x.lines) > 0 {
		form = rapid.SampledFrom([]string{"filesystem-read", "Read", "read", "exec_command", "mcp__stet__Read"}).Draw(t, "agent")
	}
	var rows strings.Builder
	for k, line := range x.lines {
		if f := forms[form]; f != "" {
			line = fmt.Sprintf(f, x.first+k, line)
		}
		rows.WriteString(line + "\n")
	}
	switch form {
	case "Read":
		args = map[string]any{"file_path": name, "offset": x.first, "limit": len(x.lines)}
		text = strings.TrimSuffix(rows.String(), "\n")
	case "read":
		args = map[string]any{"filePath": name, "offset": x.first, "limit": len(x.lines)}
		text = fmt.Sprintf("<path>%s</path>\n<type>file</type>\n<content>\n%s\n(Showing lines %d-%d of %d. Use offset=%d to continue.)\n</content>",
			name, rows.String(), x.first, last, len(w.files[name]), last+1)
	case "mcp__stet__Read":
		args = map[string]any{"path": name, "start_line": x.first, "limit": len(x.lines)}
		content, _ := json.Marshal(strings.TrimSuffix(rows.String(), "\n"))
		text = fmt.Sprintf(`{"status":"success","data":{"content":%s,"truncated":false},"text":"Read %d lines","stats":{"total_lines":%d}}`, content, len(x.lines), len(w.files[name]))
	case "exec_command":
		args = map[string]any{"cmd": fmt.Sprintf("sed -n '%d,%dp' %s", x.first, last, name)}
		text = "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n" + rows.String()
	}
	x.form = form
	return x, request{form, args, text}
}

// numberedOrCounted reports whether a text has line k of the exposure with its number, or as many lines after a number, or after a pointer, as
// the line has.
func numberedOrCounted(text, form string, x exposure, k int) bool {
	n := 0 // the number of the last line
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n > 0 {
			n++
		}
		if n == x.first+k && line == x.lines[k] {
			return true
		}
		for j, shown := range x.lines {
			if line == fmt.Sprintf(form, x.first+j, shown) {
				if n = x.first + j; j == k {
					return true
				}
			}
		}
		if own := ownLine.FindStringSubmatch(line); own != nil {
			n, _ = strconv.Atoi(own[3])
		}
	}
	return false
}

// visible reports whether the result still shows line k of the exposure.
func visible(m llm.Message, x exposure, k int) bool {
	text := "\n" + m.Parts[0].Text + "\n"
	if x.form == "mcp__stet__Read" {
		var envelope struct{ Data struct{ Content string } }
		if json.Unmarshal([]byte(m.Parts[0].Text), &envelope) != nil {
			return false
		}
		text = "\n" + envelope.Data.Content + "\n"
	}
	if x.path != outputName && x.form != "exec_command" {
		return numberedOrCounted(text, forms[cmp.Or(x.form, "filesystem-read")], x, k)
	}
	if _, output, ok := strings.Cut(text, "\nOutput:\n"); ok {
		text = output
	} else {
		text = text[1:]
	}
	n := x.first // the number of the line; a pointer names the numbers behind it
	for line := range strings.Lines(text) {
		if own := ownLine.FindStringSubmatch(line); own != nil {
			n, _ = strconv.Atoi(own[3])
		} else if n == x.first+k {
			return line == x.lines[k]+"\n"
		}
		n++
	}
	return false
}
