package dialect

import (
	"regexp"
	"slices"
	"strings"
)

// looking reports whether a command only looks.
func looking(words []string) bool {
	name, operands := words[0], 0
	for _, w := range words[1:] {
		group := len(w) > 1 && w[0] == '-' && w[1] != '-' // of options of one letter
		switch {
		case !strings.HasPrefix(w, "-"):
			operands++
		case name == "find" && (strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-fprint") || w == "-fls" || w == "-delete"),
			name == "sort" && (group && strings.Contains(w, "o") || strings.HasPrefix(w, "--o")),
			name == "tree" && group && strings.Contains(w, "o"),
			name == "date" && (group && strings.Contains(w, "s") || strings.HasPrefix(w, "--s")),
			name == "git" && strings.HasPrefix(w, "--output"):
			return false
		}
	}
	switch name {
	case "git":
		return gitLooks(words)
	case "sed":
		return !scriptMay(words[1:], sedWrites)
	case "awk":
		return !scriptMay(words[1:], awkWrites)
	case "uniq":
		return operands < 2 // the second one is written
	}
	return lookers[name]
}

// gitLooks reports whether a command of git only looks.
func gitLooks(words []string) bool {
	for i, w := range words[1:] {
		if w != unknown && w[0] != '-' && words[i] != "-C" && words[i] != "-c" {
			return slices.Contains([]string{"log", "show", "diff", "status", "blame", "grep", "ls-files", "rev-parse"}, w)
		}
	}
	return false
}

// scriptMay reports whether sed or awk may change something: by one of its options, by its
// program, or by one that stands in a file. A program with variables of the shell in it is taken not to.
func scriptMay(words []string, may func(script string) bool) bool {
	given := false // the program, as the value of an option
	for i := 0; i < len(words); i++ {
		w := words[i]
		script, long := strings.CutPrefix(w, "--expression=")
		switch {
		case long:
			given = true
		case strings.HasPrefix(w, "--"):
			if len(w) > 2 && strings.IndexByte("efil", w[2]) >= 0 { // --in-place, --file, --include and the like, which may be cut short
				return true
			}
			continue
		case len(w) > 1 && w[0] == '-':
			at := strings.IndexAny(w, "efFvi") // what follows is the value of the option
			if at < 0 {
				continue
			}
			if w[at] == 'f' || w[at] == 'i' {
				return true
			}
			value := w[at+1:]
			if value == "" && i+1 < len(words) {
				i++
				value = words[i]
			}
			if w[at] != 'e' {
				continue
			}
			script, given = value, true
		case given:
			continue
		default:
			given = true
		}
		if may(script) {
			return true
		}
	}
	return false
}

// sedWrites reports whether a program of sed writes to a file or runs a command: by the commands w, W and e, or the flags w and e
// of a replacement.
func sedWrites(script string) bool {
	behind := func(i int, end byte) int { // the next end, and one more
		for ; i < len(script) && script[i] != end; i++ {
			if script[i] == '\\' {
				i++
			}
		}
		return i + 1
	}
	for i := 0; i < len(script); {
		switch c := script[i]; {
		case c == '/': // an address
			i = behind(i+1, '/')
		case c == '\\' && i+1 < len(script):
			i = behind(i+2, script[i+1])
		case (c == 's' || c == 'y') && i+1 < len(script):
			for i = behind(behind(i+2, script[i+1]), script[i+1]); i < len(script) && strings.IndexByte(";}\n", script[i]) < 0; i++ {
				if c == 's' && (script[i] == 'w' || script[i] == 'e') {
					return true
				}
			}
		case c == 'w' || c == 'W' || c == 'e':
			return true
		case strings.IndexByte("aicrR", c) >= 0: // a text, or a file that is read
			i = behind(i+1, '\n')
		case strings.IndexByte("btT:", c) >= 0: // a label
			for i < len(script) && script[i] != ';' && script[i] != '\n' {
				i++
			}
		default:
			i++
		}
	}
	return false
}

var (
	awkText    = regexp.MustCompile(`"(?:\\.|[^"\\])*"`)
	awkPattern = regexp.MustCompile(`/(?:\\.|[^/\\\n])*/`)
	awkPrints  = regexp.MustCompile(`\bprintf?\b(?:[^;}\n]|,\s*\n)*(?:>|[^|]\|[^|])`)
	awkRuns    = regexp.MustCompile(`\bsystem\s*\(|(?:^|[^|])\|(?:[^|]|$)`)
)

// awkWrites reports whether a program of awk writes to a file or runs a command: by system, a bar, or print with a redirection.
// A slash may begin a pattern or divide, and a quote may stand in a pattern: what one reading of them finds is enough.
func awkWrites(script string) bool {
	noTexts := awkText.ReplaceAllString(script, `""`)
	noPatterns := awkText.ReplaceAllString(awkPattern.ReplaceAllString(script, `""`), `""`)
	both := awkPattern.ReplaceAllString(noTexts, `""`)
	return awkPrints.MatchString(noTexts) || awkPrints.MatchString(noPatterns) || awkRuns.MatchString(both) || awkRuns.MatchString(noPatterns)
}
