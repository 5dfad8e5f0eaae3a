package dialect

import (
	"slices"
	"strings"
)

// reading is a result about to be read.
type reading struct {
	action Action
	row    *row
	text   string
}

// target returns the call's only target, or the zero Target.
func (in *reading) target() Target {
	if len(in.action.Targets) == 1 {
		return in.action.Targets[0]
	}
	return Target{}
}

// section returns a section over the whole text for the call's only target.
func (in *reading) section() Section {
	return Section{Path: in.target().Path, End: len(in.text)}
}

// oneSection is the result of a read that shows one file.
func oneSection(s Section) (Result, bool) { return Result{Sections: []Section{s}}, true }

// forgetEnd takes back what the section says of the end of its file.
func (s *Section) forgetEnd() { s.Total, s.Said, s.Final = 0, 0, FinalUnknown }

// A format reads results of one shape. It reports false where the text is not
// of that shape.
type format func(in *reading) (Result, bool)

// formats are the known shapes of results.
var formats = map[string]format{
	"envelope":  readEnvelope,
	"operation": readOperation,
	"sections":  readSections,
	"numbered":  readPlainNumbers,
	"pieces":    readPieces,
	"opencode":  readOpencode,
	"contentof": readContentOf,
	"showing":   readShowing,
	"raw":       readRaw,
	"noted":     readNoted,
	"files":     readFiles,
	"view":      readView,
	"bare":      readBareView,
	"window":    readWindow,
	"many":      readMany,
	"fenced":    readFenced,
	"listing":   readListing,
	"shell":     readShell,
	"commands":  readCommands,
}

func defaultFormats(op Op) []format {
	switch op {
	case Read:
		return []format{readSections, readPlainNumbers, readRaw}
	case List:
		return []format{readListing}
	case Shell:
		return []format{readShell}
	}
	return nil
}

// Result returns what the result of a call says. text is the result's text,
// several blocks joined by line breaks; isError is the wire format's own flag,
// which many agents do not set: the text decides too.
func (t *Table) Result(a Action, text string, isError bool) Result {
	r := a.row
	if r == nil {
		if r = t.byName[a.Row]; r == nil {
			return Result{Failed: isError || strings.HasPrefix(text, "Error:")}
		}
		if a.Op == Read && len(r.Command) > 0 && len(a.excerpts) == 0 {
			a.excerpts = r.commandLine(Action{Row: a.Row}, a.Command, "").excerpts
		}
	}
	in := &reading{action: a, row: r, text: text}
	if n := toolHead(text); n > 0 && len(r.Command) == 0 {
		in.text = text[n:]
		return in.result(isError).shifted(n).ofCall(a)
	}
	return in.result(isError).ofCall(a)
}

// ofCall takes back what no file can be named for: the call names none, and a path in the text of a result counts for ByContent
// alone.
func (r Result) ofCall(a Action) Result {
	if len(a.Targets) == 0 {
		r.Sections = nil
	}
	return r.withoutAbsurdLines()
}

// maxLine is the highest number of a line that is believed.
const maxLine = 50_000_000

// withoutAbsurdLines takes back lines whose numbers cannot be.
func (r Result) withoutAbsurdLines() Result {
	for i := range r.Sections {
		if s := &r.Sections[i]; s.First > maxLine {
			s.First, s.Lines, s.Total, s.Said, s.Final, s.Cut = 0, nil, 0, 0, FinalUnknown, true
		}
	}
	return r
}

// toolHead returns the size of the head that Codex puts before the results of
// other servers' tools.
func toolHead(text string) int {
	if !strings.HasPrefix(text, "Wall time: ") {
		return 0
	}
	const end = "\nOutput:\n"
	if i := strings.Index(text[:min(len(text), 200)], end); i > 0 {
		return i + len(end)
	}
	return 0
}

// shifted moves the sections n bytes on. That of a single one begins with the
// text.
func (r Result) shifted(n int) Result {
	for i := range r.Sections {
		r.Sections[i].Start += n
		r.Sections[i].End += n
	}
	if len(r.Sections) == 1 {
		r.Sections[0].Start = 0
	}
	return r
}

// result says what the text says.
func (in *reading) result(isError bool) Result {
	a, r, text := in.action, in.row, in.text
	if isError || failed(in) {
		return in.failure()
	}
	if a.Op != Read && a.Op != List {
		return Result{}
	}
	if unchanged(text) {
		s := in.section()
		s.Unchanged = true
		out := Result{Unchanged: true}
		if s.Path != "" {
			out.Sections = []Section{s}
		}
		return out
	}
	if !pruned(text) {
		for _, f := range r.formats {
			if out, ok := f(in); ok {
				return out
			}
		}
	}
	if in.target().Path == "" {
		return Result{}
	}
	s := in.section()
	s.Cut = true
	return Result{Sections: []Section{s}}
}

// failure is the result of a call that failed as a whole.
func (in *reading) failure() Result {
	out := Result{Failed: true}
	if (in.action.Op == Read || in.action.Op == List) && in.target().Path != "" {
		s := in.section()
		s.Failed = true
		out.Sections = []Section{s}
	}
	return out
}

// unchangedMarks are how agents say that a file is as the model saw it last.
var unchangedMarks = []struct{ begin, within string }{
	{"Wasted call", "unchanged since"},
	{"File unchanged since last read", "unchanged"},
	{"[File ", " unchanged since last read"},
	{"[File previously read: ", "unchanged since last read"},
}

func unchanged(text string) bool {
	if len(text) > 2000 || !strings.HasPrefix(text, "[File ") && !strings.HasPrefix(text, "Wasted") && !strings.HasPrefix(text, "File un") {
		return false
	}
	for _, m := range unchangedMarks {
		if strings.HasPrefix(text, m.begin) && strings.Contains(text, m.within) {
			return true
		}
	}
	return false
}

// pruneMarks begin what agents leave where they took an old result out of
// their history, whatever follows.
var pruneMarks = []string{
	"<tool_output_masked>", "<persisted-output>", "[Old tool result content cleared", "[[NOTE] This file read has been removed",
	"[该文件的历史读取内容已压缩",
}

// pruneWords are what the others have in a single line in brackets: what was
// done, and to what.
var pruneWords = [2][]string{
	{"cleared", "pruned", "removed", "omitted", "elided", "compacted", "compressed", "trimmed", "masked", "stet:"},
	{"tool", "output", "result", "observation", "context", "history", "read", "content"},
}

// pruned reports whether a text is no result but what an agent left in place
// of one.
func pruned(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '[' && text[0] != '<' && text[0] != 'O' {
		return false
	}
	for _, m := range pruneMarks {
		if strings.HasPrefix(text, m) {
			return true
		}
	}
	if len(text) > 400 || strings.Contains(text, "\n") {
		return false
	}
	if text == "<MASKED>" || strings.HasPrefix(text, "Old environment output: (") {
		return true
	}
	text = strings.ToLower(text)
	return text[0] == '[' && text[len(text)-1] == ']' && containsAny(text, pruneWords[0]) && containsAny(text, pruneWords[1])
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// placeholders begin what tools without line numbers say in place of what is
// no text.
var placeholders = []string{
	"Read image file", "Read PDF file", "Read audio file", "Read video file", "Image read successfully", "PDF read successfully",
	"Binary content provided", "[Image", "PDF file read: ",
}

// placeholder reports whether a text without line numbers is in place of
// what is no text.
func placeholder(text string) bool {
	if len(text) > 400 || strings.Contains(strings.TrimSpace(text), "\n") {
		return false
	}
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.HasPrefix(text, p) })
}

// failures are how the results of failed calls begin, over all agents. They
// count only for short texts: the content of a file may begin so too.
var failures = []string{
	"ERROR:", "Error ", "<tool_use_error>", "File not found", "File does not exist", "ENOENT", "EISDIR", "EACCES",
	"Failed to ", "Could not ", "No replacement was performed", "apply_patch verification failed", "Path is a directory",
	"Cannot display content of binary file", "Cannot read ", "String to replace not found", "old_str not found",
	"oldString not found", "Edit at index ", "Access denied", "Permission denied", "Path not found", "No such file",
	"Path does not exist", "Invalid `path` parameter", "The path ", "File content (", "File too large", "File is too large",
	"Tool execution failed", "invalid tool parameters", "Ran into the following error", "The tool call was rejected",
	"The user doesn't want", "[Request interrupted", "Found 0 ", "Found multiple matches",
}

// failed reports whether the text says that the call failed.
func failed(in *reading) bool {
	text := in.text
	if strings.HasPrefix(text, "Error:") {
		return true
	}
	if len(text) > 0 && text[0] == '{' {
		if failed, known := failedJSON(in); known {
			return failed
		}
	}
	if len(text) < 4096 {
		for _, p := range in.row.Errors {
			if strings.HasPrefix(text, p) {
				return true
			}
		}
	}
	op := in.action.Op
	if in.shell() {
		code, ok := exitCode(text)
		if !ok {
			code, ok = scriptExitCode(text)
		}
		return ok && code != 0 || strings.HasPrefix(text, "Error executing tool") || strings.HasPrefix(text, "<tool_use_error>")
	}
	if op == Edit || op == Write {
		if code, ok := exitCode(text); ok && code != 0 {
			return true
		}
		text = strings.TrimPrefix(text, "OBSERVATION:\n")
	}
	if len(text) > 2000 || op == Read && strings.Count(text, "\n") > 4 {
		return false
	}
	for _, p := range failures {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return op == Read && len(text) < 1000 && strings.Count(text, "\n") < 2 &&
		(strings.HasSuffix(text, ": no such file or directory") || strings.Contains(text, "ENOENT: "))
}

// shell reports whether a shell was called.
func (in *reading) shell() bool {
	return in.action.Op == Shell || in.action.Op == Read && len(in.action.excerpts) > 0
}

// failedJSON reports whether a result that is a JSON object says that it
// failed, and whether it is one.
func failedJSON(in *reading) (failed, known bool) {
	text, op := in.text, in.action.Op
	if len(text) > 4096 && !in.shell() {
		// The members that say so are at either end.
		head, tail := text[:1024], text[len(text)-1024:]
		if !strings.Contains(head, `"status"`) && !strings.Contains(head, `"success"`) && !strings.Contains(tail, `"success"`) {
			return false, true
		}
	}
	o, ok := object(text)
	if !ok {
		return false, false
	}
	if op != Read || in.shell() {
		// A file may have such members of its own.
		if code, ok := exitMember(o); ok && (code != 0 || in.shell()) {
			return code != 0, true
		}
	}
	if v, ok := o.get("error"); ok && len(o) == 1 && v != `""` {
		return true, true
	}
	if _, ok := o.get("stdout", "stderr", "output"); op == Read && in.shell() && !ok {
		return false, true // the file that was printed
	}
	if v, ok := o.get("status"); ok && v == `"error"` {
		return true, true
	}
	v, ok := o.get("success")
	return ok && v == "false", true
}

// ByContent reads a result whose call is missing by what it looks like: a
// header that begins with 📄, or lines that begin with "123→". Numbered
// lines alone do not name their file.
func (t *Table) ByContent(text string) (Result, bool) {
	in := &reading{action: Action{Op: Read}, row: &row{}, text: text}
	if out, ok := readSections(in); ok {
		return out.withoutAbsurdLines(), true
	}
	n, ok := readNumbered(text, "→")
	if !ok {
		return Result{}, false
	}
	s := Section{End: n.size, First: n.first, Lines: n.lines, Cut: n.clip || !trailer(text[n.size:]), Beside: strings.TrimSpace(text[n.size:])}
	return Result{Sections: []Section{s}}.withoutAbsurdLines(), true
}
