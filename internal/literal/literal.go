// Package literal finds a text that stands in everything a regular expression matches. Looking for a text is many times
// as fast as matching, so a search that looks for it first is.
package literal

import (
	"regexp"
	"regexp/syntax"
)

// Required returns the longest text that is known to stand in every match of re; "" if none is known.
func Required(re *regexp.Regexp) string {
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
