// Package gitignore says which paths git's ignore rules exclude. It reads no files: the caller passes the text of the rules, and
// says whether a path is a directory.
package gitignore

import (
	"bytes"
	"strings"

	"github.com/stet-dev/stet/internal/invisible"
)

// Rules are the patterns of one file and of the files in the directories above it. The patterns of the lower file have precedence.
// Rules are immutable and may be used concurrently. A nil *Rules ignores nothing.
type Rules struct {
	above    *Rules
	base     string // "" or "dir/": the patterns apply to paths below it
	patterns []pattern
}

type pattern struct {
	text     string
	negated  bool
	dirOnly  bool
	nameOnly bool // compare only with the last component
	prefix   int  // length of text before the first wildcard
}

// maxPatterns is the limit of used patterns of one file.
const maxPatterns = 20_000

// Add returns rules in which the lines of data have precedence over above. dir is the directory of the lines: "" for the root,
// otherwise without a slash at the end.
func Add(above *Rules, dir string, data []byte) *Rules {
	r := &Rules{above: above}
	if dir != "" {
		r.base = dir + "/"
	}
	for line := range bytes.SplitSeq(invisible.SkipMark(data), []byte("\n")) {
		if p, ok := parse(string(bytes.TrimSuffix(line, []byte("\r")))); ok && len(r.patterns) < maxPatterns {
			r.patterns = append(r.patterns, p)
		}
	}
	if len(r.patterns) == 0 {
		return above
	}
	return r
}

func parse(line string) (pattern, bool) {
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	line = trimSpaces(line)
	var p pattern
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		p.negated, line = true, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		p.dirOnly, line = true, rest
	}
	p.nameOnly = !strings.Contains(line, "/")
	p.text = strings.TrimPrefix(line, "/")
	if p.prefix = strings.IndexAny(p.text, `*?[\`); p.prefix < 0 {
		p.prefix = len(p.text)
	}
	return p, p.text != ""
}

// trimSpaces drops spaces at the end, except for those after a backslash.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(s))
	}
	return s[:end]
}

// Ignored reports whether the last rule that matches the path ignores it. The path is relative to the root. Everything below an
// ignored directory is ignored, whatever the rules say: the caller has to check the directories.
func (r *Rules) Ignored(path string, dir bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; r != nil; r = r.above {
		below, ok := strings.CutPrefix(path, r.base)
		if !ok {
			continue
		}
		for i := len(r.patterns) - 1; i >= 0; i-- {
			p := &r.patterns[i]
			if p.dirOnly && !dir {
				continue
			}
			if p.matches(below, name) {
				return !p.negated
			}
		}
	}
	return false
}

func (p *pattern) matches(below, name string) bool {
	if p.nameOnly {
		below = name
	}
	if p.prefix == len(p.text) {
		return p.text == below
	}
	if p.nameOnly {
		return match(p.text, below)
	}
	// Git removes the prefix from both before it looks at the stars, so that "c**/b" is "c" followed by "**/b".
	rest, ok := strings.CutPrefix(below, p.text[:p.prefix])
	return ok && match(p.text[p.prefix:], rest)
}
