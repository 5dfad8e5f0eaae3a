package dialect

import (
	"iter"
	"strings"
)

// rootLabels are what stands before the path of the directory that an agent works in,
// in lower case: a label with a colon, a bracket, a quote or "is" behind it. (An equals
// sign there is mostly an example of how a tool is called.) Where a text has several,
// the one that comes first here counts: relative paths start from the working
// directory.
var rootLabels = []string{
	"working directory", "working_directory", "working dir", "working_dir", "cwd", "workspace directory", "workspace_directory",
	"current directory", "working in the directory", "working in the following directories", // Gemini CLI, with a list behind it
	"project root", "project_root", "project root directory", "project directory", "project base directory", "project path",
	"workspace root", "workspace_root", "workspace path", "workspace_path", "workspace folder", "workspace root folder", "workspace",
	"uploaded_files",
}

// rootPhrases are the same with nothing between them and the path.
var rootPhrases = []string{"repository in the directory", "working in the directory"}

// rootBehind is what stands behind the path in mini-SWE-agent's task.
const rootBehind = "(this is the working directory"

// Root returns the working directory that a system prompt or an agent's first
// message names, as it names it; "" where it names none. Only absolute paths
// count, and not the root of the file system: nothing is outside it.
func Root(text string) string {
	root, best := "", noRank
	for at := range absolutePaths(text) {
		rank := rootRank(text[max(0, at-64):at])
		if _, behind, _ := strings.Cut(text[at:], " "); strings.HasPrefix(behind, rootBehind) {
			rank = 0
		}
		if rank < best {
			if dir := rootAt(text[at-1:]); dir != "" {
				root, best = dir, rank
			}
		}
	}
	return strings.Clone(root)
}

// absolutePaths yields where absolute paths may begin in a text: with a slash or a
// drive's letter, behind white space, a quote, a bracket or the like.
func absolutePaths(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, slash := range []byte{'/', '\\'} {
			for at := 0; ; at++ {
				i := strings.IndexByte(text[at:], slash)
				if i < 0 {
					break
				}
				at += i
				begin := at
				if at >= 2 && text[at-1] == ':' && isLetter(text[at-2]) {
					begin -= 2
				} else if slash == '\\' {
					continue
				}
				if begin > 0 && strings.IndexByte(beforePath, text[begin-1]) >= 0 && !yield(begin) {
					return
				}
			}
		}
	}
}

const beforePath = " \t\n`'\"([>*"

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// noRank is the rank of a path that no label or phrase stands before.
const noRank = 1 << 10

// rootRank returns the place of the label or phrase that a text ends with, labels
// before phrases.
func rootRank(before string) int {
	words := strings.TrimRight(before, beforePath+":-")
	between := before[len(words):]
	words = strings.ToLower(words)
	rest, is := strings.CutSuffix(words, " is")
	if is || strings.ContainsAny(between, ":(>\"'`") {
		for i, label := range rootLabels {
			if endsInWord(rest, label) {
				return i
			}
		}
	}
	for i, phrase := range rootPhrases {
		if endsInWord(words, phrase) && strings.Trim(between, " `'\"") == "" {
			return len(rootLabels) + i
		}
	}
	return noRank
}

// endsInWord reports whether s ends with words, and these begin a word.
func endsInWord(s, words string) bool {
	rest, ok := strings.CutSuffix(s, words)
	return ok && (rest == "" || !isWord(rest[len(rest)-1]))
}

// closers are what ends a path by what it begins behind.
var closers = map[byte]string{'`': "`", '\'': "'", '"': `"`, '(': ")", '[': "]", '>': "<"}

// rootAt returns the path in s, which begins behind the first byte: up to what closes
// that byte, else to the end of the line or of the sentence.
func rootAt(s string) string {
	ends := []string{"\r", "\n", "<"}
	if end, ok := closers[s[0]]; ok {
		ends = append(ends, end)
	} else {
		ends = append(ends, ". ", ", ", "; ", " (", "**")
	}
	dir := s[1:]
	for _, end := range ends {
		dir, _, _ = strings.Cut(dir, end)
	}
	dir = strings.TrimRight(dir, " \t`'\".,;:)")
	if len(dir) > 1024 || strings.Trim(dir, "/") == "" {
		return ""
	}
	return dir
}

// Paths yields the words of a text that may be paths: those with a slash that
// are no addresses of the web.
func Paths(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`()<>[]{},;|&=", r) }) {
			word = strings.TrimRight(word, ".:!?")
			if strings.Contains(word, "/") && len(word) < 1024 && !strings.Contains(word, "://") && !yield(word) {
				return
			}
		}
	}
}
