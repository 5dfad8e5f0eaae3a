package dialect

import "strings"

// sieve is a command that prints what it reads. Without the name of a file it
// prints what stands before the bar, which is looked at for itself.
type sieve struct {
	operands int    // that are no files
	values   string // letters of the options that take a value
	script   bool   // its operand is a program: it is one of a few
}

var sieves = map[string]sieve{
	"cat": {}, "head": {values: "nc"}, "tail": {values: "nc"}, "sort": {values: "kt"}, "uniq": {values: "fsw"}, "tac": {}, "rev": {},
	"cut": {values: "dfcb"}, "tr": {operands: 2}, "column": {values: "ts"}, "nl": {}, "fold": {values: "w"}, "less": {}, "more": {},
	"grep": {operands: 1, values: "ABCm"}, "egrep": {operands: 1, values: "ABCm"}, "fgrep": {operands: 1, values: "ABCm"},
	"sed": {operands: 1, script: true}, "awk": {operands: 1, values: "F", script: true}, "jq": {operands: 1},
}

// quiet reports whether a sieve reads nothing but what comes before it. An
// option that is not known may name a file.
func (f sieve) quiet(words []string) bool {
	operands := 0
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-i" && f.script && f.values == "": // in place: it prints nothing
			return true
		case w == "-":
		case strings.HasPrefix(w, "--"):
			if !harmless[w] && !strings.HasPrefix(w, "--color") {
				return false
			}
		case strings.HasPrefix(w, "-"):
			if strings.ContainsAny(w, "rRfe") && f.operands == 1 && !(f.script && (w == "-r" || w == "-E")) {
				return false // through directories, or a pattern from elsewhere
			}
			if strings.IndexByte(f.values, w[len(w)-1]) >= 0 {
				i++
			}
		default:
			if operands++; operands > f.operands || f.script && !plainScript(w) {
				return false
			}
		}
	}
	return true
}

// countsOrNames reports whether an option makes a search print names of files or
// figures alone.
func countsOrNames(option string) bool {
	switch option {
	case "--files", "--files-with-matches", "--files-without-match", "--count", "--quiet":
		return true
	}
	return strings.HasPrefix(option, "-") && strings.ContainsAny(option, "lLcq") && strings.Trim(option[1:], "lLcqinrRswvFEPx") == ""
}

// harmless are options of sieves that name no file.
var harmless = set("--lines --bytes --line-buffered --invert-match --ignore-case --count --only-matching --unique --reverse --numeric-sort --quiet --raw-output")

// plainScript reports whether a program of sed or awk reads no file of its own:
// a range of lines, one replacement, or fields printed.
func plainScript(s string) bool {
	switch rest := strings.Trim(s, "0123456789,$ ;"); {
	case rest == "p" || rest == "d" || rest == "q":
		return true
	case len(s) > 3 && s[0] == 's' && strings.IndexByte("/|#,:@!", s[1]) >= 0:
		return strings.Count(s, s[1:2]) == 3 && strings.Trim(s[strings.LastIndexByte(s, s[1])+1:], "gpiI0123456789") == ""
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "NR"):
		return strings.Contains(s, "print") && !strings.Contains(s, "getline") && !strings.Contains(s, "system")
	}
	return false
}
