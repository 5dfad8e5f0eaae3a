package dialect

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The working directory that a system prompt or a first message names.

// rootLabels are what is before the path of the directory that an agent works in,
// in lower case, with a space for "-" and "_": a label with a colon, a bracket, a quote or "is" after it. (An equals
// sign there is mostly an example of how a tool is called.) Where a text has several,
// the one that comes first here counts: relative paths start from the working
// directory.
var rootLabels = []string{
	"working directory", "workingdirectory", "working dir", "workdir", "cwd", "pwd", "workspace directory", "workspace directories",
	"工作目录", "工作目錄", "作業ディレクトリ", "рабочий каталог", "рабочая директория", "рабочая папка", "arbeitsverzeichnis", "arbeitsordner",
	"répertoire de travail", "directorio de trabajo", "diretório de trabalho", "작업 디렉터리", "작업 디렉토리",
	"current directory", "当前目录", "當前目錄", "目前目錄", "当前路径", "текущий каталог", "текущая директория", "текущая папка", "aktuelles verzeichnis",
	"working in the directory", "working in the following directories", // Gemini CLI, with a list after it
	"following root directories",           // Zed
	"workspace with the following folders", // Copilot in VS Code
	"project root", "projectroot", "project root path", "project root directory", "project directory", "project base directory", "project path",
	"项目根目录", "项目目录", "项目路径", "项目根路径", "专案根目录", "專案根目錄", "專案目錄", "工程目录", "プロジェクトルート",
	"корень проекта", "корневой каталог проекта", "корневая директория проекта", "каталог проекта", "директория проекта", "папка проекта",
	"projektverzeichnis", "projektordner", "projektpfad", "projektwurzel", "projektstamm", "projektstammverzeichnis", "projekt stammverzeichnis",
	"stammverzeichnis des projekts", "wurzelverzeichnis des projekts", "hauptverzeichnis des projekts", "racine du projet", "raíz del proyecto",
	"workspace root", "workspaceroot", "workspace path", "workspace folder", "workspacefolder", "workspace root folder", "workspace",
	"工作区", "工作区目录", "工作区根目录", "工作区路径", "工作空间", "工作區", "рабочее пространство", "arbeitsbereich",
	"uploaded files",
}

// rootPhrases are the same with nothing between them and the path.
var rootPhrases = []string{
	"repository in the directory", "working in the directory", "вы работаете в каталоге", "вы работаете в директории", "im verzeichnis",
	"工作目录位于", "项目位于",
}

// isWords are what is between a label and a path in a sentence.
var isWords = []string{" is", " ist", " lautet", " est", " es", "是", "为", "為"}

// rootBehind is what is after the path in mini-SWE-agent's task.
const rootBehind = "(this is the working directory"

// Root returns the working directory that a system prompt or an agent's first
// message names, as it names it; "" where it names none. Only absolute paths
// count, and not the root of the file system: nothing is outside it.
func Root(text string) string {
	root, best := "", noRank
	for at := range absolutePaths(text) {
		rank := rootRank(text[max(0, at-96):at])
		if _, after, _ := strings.Cut(text[at:], " "); strings.HasPrefix(after, rootBehind) {
			rank = 0
		}
		if rank < best && !strings.HasPrefix(text[at:], "/path/to/") { // an example
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			if dir := rootAt(before, text[at:]); dir != "" {
				root, best = dir, rank
			}
		}
	}
	return strings.Clone(root)
}

// absolutePaths yields where absolute paths may begin in a text: with a slash or a
// drive's letter, after white space, a quote, a bracket or the like.
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
				if at >= 2 && text[at-1] == ':' && isLetter(text[at-2]) && (at == 2 || !isWord(text[at-3])) {
					begin -= 2
				} else if slash == '\\' {
					continue
				}
				if begin > 0 && beginsPath(text[begin-1], text[begin:]) && !yield(begin) {
					return
				}
			}
		}
	}
}

// beginsPath reports whether a path may begin after a byte.
func beginsPath(before byte, path string) bool {
	return before >= utf8.RuneSelf || strings.IndexByte(beforePath, before) >= 0 || before == ':' && !strings.HasPrefix(path, "//")
}

// What may be between a label and a path, and which of it says that the path belongs to the label.
const (
	beforePath = " \t\r\n`'\"([>*]|"
	labelMarks = ":(>\"'`|" + wideMarks
	wideMarks  = "：（「『“”„‘’«»《【】"
)

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// noRank is the rank of a path without a label or phrase before it.
const noRank = 1 << 10

// rootRank returns the index of the label or phrase that a text ends with, labels
// before phrases.
func rootRank(before string) int {
	words := strings.TrimRight(before, beforePath+":-—–"+wideMarks)
	between := before[len(words):]
	words = strings.ToLower(wordBreaks.Replace(words))
	if i := strings.LastIndexAny(words, "(（"); i > 0 && strings.TrimRight(words, ")）") != words { // "working directory (cwd): /a"
		words = strings.TrimRight(words[:i], beforePath)
	}
	rest, is := words, false
	for _, w := range isWords {
		if r, ok := strings.CutSuffix(words, w); ok {
			rest, is = r, true
		}
	}
	is = is || strings.ContainsAny(between, labelMarks)
	for i, label := range rootLabels {
		if (is || label[0] >= utf8.RuneSelf && strings.ContainsAny(between, "—–")) && endsInWord(rest, label) {
			return i
		}
	}
	for i, phrase := range rootPhrases {
		if endsInWord(words, phrase) && strings.Trim(between, " `'\"") == "" {
			return len(rootLabels) + i
		}
	}
	return noRank
}

// wordBreaks are written as a space in rootLabels.
var wordBreaks = strings.NewReplacer("-", " ", "_", " ")

// endsInWord reports whether s ends with words, and these begin a word. Chinese has no spaces between words.
func endsInWord(s, words string) bool {
	rest, ok := strings.CutSuffix(s, words)
	if !ok || rest == "" || words[0] >= firstWide {
		return ok
	}
	r, _ := utf8.DecodeLastRuneInString(rest)
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '/'
}

// firstWide is the first byte of Chinese, Japanese and Korean characters in UTF-8.
const firstWide = 0xe3

// closers are what ends a path by the character before it.
var closers = map[rune]string{
	'`': "`", '\'': "'", '"': `"`, '(': ")", '[': "]", '>': "<",
	'（': "）", '「': "」", '『': "』", '“': "”", '„': "“", '‘': "’", '«': "»", '《': "》", '【': "】",
}

// rootAt returns the path that s begins with, after a character: up to what closes
// that character, else to the end of the line or of the sentence.
func rootAt(before rune, s string) string {
	ends := []string{"\r", "\n", "<"}
	if end, ok := closers[before]; ok {
		ends = append(ends, end)
	} else {
		ends = append(ends, ". ", ", ", "; ", " (", "**", "。", "，", "；", "（", " — ", " |")
	}
	dir := s
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
