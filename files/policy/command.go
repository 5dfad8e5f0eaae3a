package policy

import (
	"errors"
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
func (c Command) begins(do Action, words []string) bool {
	if do == Allow {
		if len(words) < len(c.words) {
			return false
		}
		for i, p := range c.words {
			if words[i] == "" || !matchWord(p, words[i]) {
				return false
			}
		}
		return true
	}
	if len(words) == 0 || words[0] != "" && !matchWord(c.words[0], words[0]) {
		return false
	}
	flags, rest := splitOptions(words[1:])
	for _, p := range c.words[1:] {
		if text := p.String(); strings.HasPrefix(text, "-") && !strings.Contains(text, "*") {
			if !hasOption(flags, text) {
				return false
			}
			continue
		}
		i := 0
		for i < len(rest) && rest[i] != "" && !matchWord(p, rest[i]) {
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

func splitOptions(words []string) (options, rest []string) {
	for _, w := range words {
		if strings.HasPrefix(w, "-") {
			options = append(options, w)
		} else {
			rest = append(rest, w)
		}
	}
	return options, rest
}

// hasOption reports whether the options of a command include one, or all letters of a group such as -rf.
func hasOption(options []string, want string) bool {
	if strings.HasPrefix(want, "--") {
		for _, o := range options {
			if name, _, _ := strings.Cut(o, "="); name == want || o == want {
				return true
			}
		}
		return false
	}
	for _, letter := range want[1:] {
		found := false
		for _, o := range options {
			found = found || !strings.HasPrefix(o, "--") && strings.ContainsRune(o[1:], letter)
		}
		if !found {
			return false
		}
	}
	return true
}

// RuledCommand returns the decision of the rules about a command that an agent's own shell is to run. ok is false if no rule matches. words
// are nil if the command line cannot be parsed: then a person is asked, if there is a rule about commands.
func (p *Policy) RuledCommand(tool string, words []string) (d Decision, ok bool) {
	if words == nil {
		for _, rules := range [][]Rule{p.Rules, p.Project} {
			for _, rule := range rules {
				if len(rule.Commands) > 0 {
					return Decision{Action: Ask, Rule: "unclear command"}, true
				}
			}
		}
		return Decision{}, false
	}
	return p.Ruled(Request{Tool: tool, Words: words, Write: true})
}
