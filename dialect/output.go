package dialect

import "strings"

// output is what a shell tool's result says about the command's output.
type output struct {
	body  string // the output
	at    int    // where body stands in the result's text; -1 where it was decoded
	exact bool   // the output stands as it was, white space at both ends included
	cut   bool   // something was left out, or the command had not ended
	tty   bool   // a terminal ended the lines with a carriage return
}

// shellOutput strips what shell tools put around an output.
func shellOutput(text string) output {
	o := output{body: text}
	if rest, ok := strings.CutPrefix(o.body, "OBSERVATION:\n"); ok {
		o.skip(rest)
		o.tty = strings.Contains(rest, "\r\n")
	}
	head := o.body[:min(len(o.body), 600)]
	switch {
	case strings.HasPrefix(head, "Chunk ID: "), strings.HasPrefix(head, "Wall time: "), strings.HasPrefix(head, "Exit code: "):
		i := strings.Index(head, "\nOutput:\n")
		if i < 0 {
			o.cut = true
			break
		}
		o.skip(o.body[i+len("\nOutput:\n"):])
		o.exact = true
		o.cut = strings.Contains(head[:i], "Process running")
		if strings.HasPrefix(o.body, "Total output lines: ") {
			o.cut = true
			_, rest, _ := strings.Cut(o.body, "\n\n")
			o.skip(rest)
		}
	case strings.HasPrefix(head, "Script "):
		i := strings.Index(head, "\nOutput:\n")
		if i < 0 || !strings.HasPrefix(head, "Script completed") {
			o.cut = true
			break
		}
		// The head is a block of its own, joined by a line break.
		o.skip(strings.TrimPrefix(o.body[i+len("\nOutput:\n"):], "\n"))
		o.exact = true
	case strings.HasPrefix(head, "<returncode>"):
		const open, end = "\n<output>\n", "</output>"
		i, j := strings.Index(head, open), strings.LastIndex(o.body, end)
		if i < 0 || j < i+len(open) {
			_, o.body, _ = strings.Cut(o.body, "<output_head>\n")
			o.body, _, _ = strings.Cut(o.body, "</output_head>")
			o.body = o.body[:strings.LastIndexByte(strings.TrimSuffix(o.body, "\n"), '\n')+1] // the last line is clipped
			o.at, o.cut = -1, true
			break
		}
		o.skip(o.body[i+len(open):])
		o.body = o.body[:j-i-len(open)]
		o.exact = true
	case strings.HasPrefix(head, `{"output":`), strings.HasPrefix(head, `{"metadata":`):
		o.decode()
	case strings.HasPrefix(head, "Command: "), strings.HasPrefix(head, "Output: "):
		o.terminal()
	default:
		o.trail()
	}
	return o
}

// skip makes rest, the end of the body, the body.
func (o *output) skip(rest string) {
	o.at += len(o.body) - len(rest)
	o.body = rest
}

// decode reads {"output":"…","metadata":{…}}, Codex's older shell.
func (o *output) decode() {
	a, ok := object(o.body)
	v, ok2 := a.get("output")
	if !ok || !ok2 {
		o.cut = true
		return
	}
	o.body, _ = str(v)
	o.at, o.exact = -1, true
}

// terminal reads "Output: …" between lines that tell the command and its exit
// code (Gemini, Qwen). It was drawn on a terminal: tabs became spaces, and
// white space at line ends is gone.
func (o *output) terminal() {
	i := strings.Index(o.body, "\nOutput: ")
	if strings.HasPrefix(o.body, "Output: ") {
		i = -1
	} else if i < 0 {
		o.cut = true
		return
	}
	o.skip(o.body[i+1+len("Output: "):])
	if j := strings.LastIndex(o.body, "\nError: "); j >= 0 {
		o.body = o.body[:j]
	} else if j := strings.LastIndex(o.body, "\nExit Code: "); j >= 0 {
		o.body = o.body[:j]
	}
	if o.body == "(empty)" {
		o.body, o.cut = "", true
	}
}

// trail strips what stands behind an output.
func (o *output) trail() {
	for _, mark := range []string{
		"\n<exited with exit code ", "\nShell cwd was reset to ", "\n[The command completed with exit code ",
		"\n[Current working directory: ", "\n[Python interpreter: ", "\n<shellId: ",
	} {
		tail := max(0, len(o.body)-1000)
		if i := strings.LastIndex(o.body[tail:], mark); i >= 0 {
			if strings.Count(o.body[tail+i:], "\n") <= 4 {
				o.body = o.body[:tail+i]
			}
		}
	}
	if strings.Contains(o.body, "<bash_metadata>") || strings.HasPrefix(o.body, "<persisted-output>") {
		o.cut = true
	}
	// What ends with a line break was not trimmed.
	o.exact = strings.HasSuffix(o.body, "\n") && !strings.HasPrefix(o.body, "(no output)")
}

// gap returns where a tool's note that it left out something stands in an
// output, or -1. A file that holds such a note counts as cut: that is safe.
func gap(body string) int {
	for _, word := range []string{"truncated", "omitted", "elided"} {
		for at := 0; ; {
			i := strings.Index(body[at:], word)
			if i < 0 {
				break
			}
			i += at
			before, after := body[max(0, i-60):i], body[i+len(word):min(len(body), i+len(word)+60)]
			if j := strings.LastIndexAny(before, "…[.<("); j >= 0 && strings.ContainsAny(after, "…].>)") && !strings.Contains(before[j:], "\n") {
				line := strings.LastIndexByte(body[:i], '\n') + 1
				return max(line, 0)
			}
			at = i + len(word)
		}
	}
	return -1
}

// exitMarks are how shell tools tell the exit code: at the beginning of the
// result, in its head, or at its end.
var exitMarks = []struct {
	mark  string
	where byte
}{
	{"Exit code: ", '^'},
	{"Exit code ", '^'},
	{"<returncode>", '^'},
	{"[Command exited with code ", '^'},
	{"\nProcess exited with code ", 'h'},
	{"\nExit Code: ", 'o'}, // only below "Output: "
	{"[The command completed with exit code ", 'e'},
	{"<exited with exit code ", 'e'},
	{"\nCommand exited with code ", '$'},
}

// exitCode returns the exit code that a shell tool's result tells.
func exitCode(text string) (int, bool) {
	head := text[:min(len(text), 400)]
	if i := strings.Index(head, "\nOutput:\n"); i >= 0 {
		if rest := head[i+len("\nOutput:\n"):]; strings.HasPrefix(head, "Wall time: ") && strings.HasPrefix(rest, "Exit code: ") {
			head, text = rest, text[i+len("\nOutput:\n"):]
		} else {
			head = head[:i]
		}
	}
	tail := text[max(0, len(text)-600):]
	for _, m := range exitMarks {
		at := -1
		in := head
		switch m.where {
		case '^':
			if strings.HasPrefix(head, m.mark) {
				at = 0
			}
		case 'h':
			at = strings.Index(head, m.mark)
		case 'o':
			if strings.HasPrefix(head, "Command: ") || strings.HasPrefix(head, "Output: ") {
				in, at = tail, strings.LastIndex(tail, m.mark)
			}
		default:
			in, at = tail, strings.LastIndex(tail, m.mark)
		}
		if at < 0 {
			continue
		}
		rest := in[at+len(m.mark):]
		minus := strings.HasPrefix(rest, "-")
		rest = strings.TrimPrefix(rest, "-")
		n, end := number(rest)
		if end == 0 || m.where == '$' && strings.TrimSpace(rest[end:]) != "" {
			continue
		}
		if minus {
			n = -n
		}
		return n, true
	}
	return 0, false
}
