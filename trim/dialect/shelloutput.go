package dialect

import (
	"slices"
	"strings"
)

// What the tools of shells put around the output of a command, and the exit code that they report.

// output is what a shell tool's result says about the command's output.
type output struct {
	body  string // the output
	at    int    // where body is in the result's text; -1 where it was decoded
	exact bool   // the output is as it was, white space at both ends included
	cut   bool   // something was left out, or the command had not ended
	tty   bool   // a terminal ended the lines with a carriage return

	beside string // what the result says next to the output and its usual frame
}

// Gemini CLI puts a frame around what comes from outside.
const (
	frameBegins = "<untrusted_context>\n"
	frameEnds   = "\n</untrusted_context>"
)

// shellOutput strips what shell tools put around an output.
func shellOutput(text string) output {
	o := output{body: text}
	if rest, ok := strings.CutPrefix(o.body, frameBegins); ok {
		o.skip(rest)
		o.body = strings.TrimSuffix(o.body, frameEnds)
	}
	if rest, ok := strings.CutPrefix(o.body, "OBSERVATION:\n"); ok {
		o.skip(rest)
		o.tty = endsInCRLF(rest)
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
		_, before, _ := strings.Cut(head[:i], "</returncode>")
		o.beside = joinNotes(before, o.body[j+len(end):])
		o.skip(o.body[i+len(open):])
		o.body = o.body[:j-i-len(open)]
		o.exact = true
	case strings.HasPrefix(head, "{") && o.decode():
	case strings.HasPrefix(head, "Command: "), strings.HasPrefix(head, "Output: "):
		o.terminal()
	default:
		o.trail()
	}
	if silent(o.body) {
		o.body, o.cut = "", true // white space may be gone
	}
	return o
}

// skip makes rest, the end of the body, the body.
func (o *output) skip(rest string) {
	o.at += len(o.body) - len(rest)
	o.body = rest
}

// decode reads {"output":"…","metadata":{…}}, Codex's older shell, and
// {"stdout":"…","stderr":"…","exitCode":0}. It reports whether the body is one.
func (o *output) decode() bool {
	a, ok := object(o.body)
	v, has := a.get("output", "stdout")
	if !ok || !has {
		return false
	}
	_, told := exitMember(a)
	_, meta := a.get("metadata")
	_, errs := a.get("stderr")
	text, ok := str(v)
	if !ok || !told && !meta && !errs {
		return false
	}
	o.body, o.at = text, -1
	o.exact = meta || strings.HasSuffix(text, "\n")
	o.beside = a.text("stderr")
	return true
}

// exitMember returns the exit code that a member of a JSON object reports, or of
// its metadata.
func exitMember(a args) (int, bool) {
	for _, name := range []string{"exit_code", "exitCode", "returncode", "return_code"} {
		if code, ok := a.number(name); ok {
			return code, true
		}
	}
	if _, ok := a.get("stdout", "stderr", "output"); ok {
		if code, ok := a.number("code"); ok {
			return code, true
		}
	}
	v, _ := a.get("metadata")
	if meta, ok := object(v); ok {
		for _, name := range []string{"exit_code", "exitCode"} {
			if code, ok := meta.number(name); ok {
				return code, true
			}
		}
	}
	return 0, false
}

// terminal reads "Output: …" between lines that report the command and its exit
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
	for _, mark := range []string{"\nProcess Group PGID: ", "\nBackground PIDs: ", "\nSignal: "} {
		if j := strings.LastIndex(o.body, mark); j >= 0 && !strings.Contains(o.body[j+1:], "\n") {
			o.body = o.body[:j]
		}
	}
	if j := strings.LastIndex(o.body, "\nError: "); j >= 0 {
		o.beside, _, _ = strings.Cut(o.body[j+len("\nError: "):], "\nExit Code: ")
		o.beside = except(o.beside, "(none)")
		o.body = o.body[:j]
	} else if j := strings.LastIndex(o.body, "\nExit Code: "); j >= 0 {
		o.body = o.body[:j]
	}
	if o.body == "(empty)" {
		o.body, o.cut = "", true
	}
}

// silences are what shell tools say of a command that printed nothing.
var silences = []string{
	"(no output)", "(empty)", "[no output]", "<no output>", "(no content)", "No output", "Tool ran without output or errors",
	"Your command ran successfully and did not produce any output.",
}

// silent reports whether a body is a tool's word for no output.
func silent(body string) bool {
	body = strings.TrimSpace(body)
	return slices.Contains(silences, body) ||
		len(body) < 100 && strings.HasPrefix(body, "(") && strings.HasSuffix(body, " completed with no output)")
}

// trail strips what is after an output.
func (o *output) trail() {
	for _, mark := range []string{
		"\n<exited with exit code ", "\nShell cwd was reset to ", "\n[The command completed with exit code ",
		"\n[Current working directory: ", "\n[Python interpreter: ", shellFrame,
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
	o.exact = strings.HasSuffix(o.body, "\n")
}

// gap returns where a tool's note that it left out something is in an
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

// shellFrame begins the line that Copilot puts after an output.
const shellFrame = "\n<shellId: "

// exitMarks are how shell tools report the exit code: at the beginning of the
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
	{" completed with exit code ", 's'}, // in the line of Copilot that begins with shellFrame
	{"\nCommand exited with code ", '$'},
}

// exitCode returns the exit code that a shell tool's result reports.
func exitCode(text string) (int, bool) {
	text = strings.TrimPrefix(text, frameBegins)
	head := text[:min(len(text), 400)]
	if i := strings.Index(head, "\nOutput:\n"); i >= 0 {
		if rest := head[i+len("\nOutput:\n"):]; strings.HasPrefix(head, "Wall time: ") && strings.HasPrefix(rest, "Exit code: ") {
			head, text = rest, text[i+len("\nOutput:\n"):]
		} else {
			head = head[:i]
		}
	}
	tail := text[max(0, len(text)-600):]
	if !strings.Contains(tail, "xit") {
		tail = "" // none of the marks that it may have is there
	}
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
		case 's':
			if i := strings.LastIndex(tail, shellFrame); i >= 0 && strings.Count(tail[i+1:], "\n") == 0 {
				in, at = tail[i:], strings.Index(tail[i:], m.mark)
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

// scriptExitCode returns the exit code of the command that a script of Codex's exec ran, if the script shows all that the command's
// tool returned: text(JSON.stringify(r)).
func scriptExitCode(text string) (int, bool) {
	if !strings.HasPrefix(text, "Script completed") {
		return 0, false
	}
	o, ok := object(strings.TrimSpace(shellOutput(text).body))
	if !ok {
		return 0, false
	}
	return exitMember(o)
}
