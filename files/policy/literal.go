package policy

import (
	"regexp"
	"regexp/syntax"
)

// RequiredText returns the longest known text that every match of re contains; "" if none is known.
func RequiredText(re *regexp.Regexp) string {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	return required(tree)
}

func required(tree *syntax.Regexp) (longest string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			longest = string(tree.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		longest = required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			longest = required(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, part := range tree.Sub {
			if l := required(part); len(l) > len(longest) {
				longest = l
			}
		}
	}
	return longest
}
