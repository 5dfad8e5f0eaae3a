package policy

import (
	"errors"
	"slices"
	"strings"
)

// Command is a pattern for the beginning of a command, word by word: "git push" matches "git push --force origin". In a word, * stands for anything.
// The options of a rule that asks or denies match in any order and spelling: "rm -rf" matches "rm -r -f" and "rm -fr".
type Command struct {
	text  string
	words []Pattern
}

// ParseCommand parses a pattern.
func ParseCommand(s string) (Command, error) {
	c := Command{text: s}
	for _, w := range strings.Fields(s) {
		p, err := ParsePattern(w)
		if err != nil {
			return Command{}, err
		}
		c.words = append(c.words, p)
	}
	if len(c.words) == 0 {
		return Command{}, errors.New("a command is empty: name at least a program")
	}
	return c, nil
}

func (c Command) String() string { return c.text }

// MarshalText returns the pattern's text.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// UnmarshalText parses a pattern.
func (c *Command) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCommand(string(text))
	return err
}

// begins reports whether a command begins as the pattern says. Of a rule that allows, each word has to be there in its place. Of one that
// asks or denies, options stand anywhere, and a word that is not known before the command runs may be any.
//
// unsure says that such a word may also be each option.
func (c Command) begins(do Action, words []string, unsure bool) bool {
	if do == Allow {
		if len(words) < len(c.words) {
			return false
		}
		for i, p := range c.words {
			// A word of a pattern is no path: go does not allow /tmp/go.
			if words[i] == "" || !matchWord(p, words[i]) || p.String() != "*" && strings.Contains(words[i], "/") && !strings.Contains(p.String(), "/") {
				return false
			}
		}
		return true
	}
	if len(words) == 0 || words[0] != "" && !matchWord(c.words[0], words[0]) {
		return false
	}
	options, rest := splitOptions(words[1:])
	unsure = unsure && slices.Contains(words, "")
	for _, p := range c.words[1:] {
		if text := p.String(); strings.HasPrefix(text, "-") && !strings.Contains(text, "*") {
			if !unsure && !hasOption(options, text) {
				return false
			}
			continue
		}
		i := 0
		if unsure && words[0] == "" {
			return true
		}
		for i < len(rest) && rest[i].text != "" && !matchWord(p, rest[i].text) {
			if !rest[i].value {
				return false
			}
			i++
		}
		if i == len(rest) {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

func matchWord(p Pattern, w string) bool {
	return p.String() == "*" || p.String() == w || p.Match(w)
}

// word is a word of a command that is no option.
type word struct {
	text  string
	value bool // it comes after an option, and may be its value
}

func splitOptions(words []string) (options []string, rest []word) {
	value := false
	for _, w := range words {
		if strings.HasPrefix(w, "-") {
			options = append(options, w)
			value = !strings.Contains(w, "=")
			continue
		}
		rest = append(rest, word{w, value})
		value = false
	}
	return options, rest
}

// spellings are the long names of options that most programs write with these letters.
var spellings = map[rune]string{'r': "--recursive", 'R': "--recursive", 'f': "--force"}

// hasOption reports whether the options of a command include one, in any spelling, or all letters of a group such as -rf.
func hasOption(options []string, want string) bool {
	long := func(want string) bool {
		return slices.ContainsFunc(options, func(o string) bool {
			name, _, _ := strings.Cut(o, "=")
			return name == want || o == want || len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(want, name)
		})
	}
	short := func(letters string) bool {
		return slices.ContainsFunc(options, func(o string) bool { return !strings.HasPrefix(o, "--") && strings.ContainsAny(o[1:], letters) })
	}
	if long(want) {
		return true
	}
	if strings.HasPrefix(want, "--") {
		for letter, name := range spellings {
			if name == want && short(string(letter)) {
				return true
			}
		}
		return false
	}
	if len(want) > 4 { // a word such as -delete, not letters
		return false
	}
	for _, letter := range want[1:] {
		letters, name := string(letter), spellings[letter]
		if name == spellings['r'] && name != "" {
			letters = "rR"
		}
		if !short(letters) && (name == "" || !long(name)) {
			return false
		}
	}
	return true
}

// RuledUnclear returns the decision about a command that cannot be parsed. A person is asked if there is a rule that might deny it, or allow commands.
func (p *Policy) RuledUnclear() (d Decision, ok bool) {
	for _, rules := range [][]Rule{p.Rules, p.Project} {
		for _, rule := range rules {
			if len(rule.Commands) > 0 || rule.Do != Allow {
				return Decision{Action: Ask, Rule: "unclear command"}, true
			}
		}
	}
	return Decision{}, false
}
