package strictmodel

import (
	"regexp"
	"strings"
)

// Model rules from the provider's page "Preserved thinking". A name that is in neither list counts as one of the newest models.

// unchecked lists models that do not check the content before a block of thinking.
var unchecked = []string{
	"claude-3", "claude-opus-4", "claude-sonnet-4", "claude-haiku-4", "claude-opus-5", "claude-sonnet-5", "claude-fable-5", "claude-mythos-preview",
}

// minor matches the rest of a name that belongs to another model than the entry of the list.
var minor = regexp.MustCompile(`^-[0-9]{1,2}([^0-9]|$)`)

// newest lists models with preserved thinking. Most of their names begin like the name of an earlier model.
var newest = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2"}

// family returns the list entry for a model's name, or else the name itself.
func family(model string) string {
	model = strings.ToLower(strings.ReplaceAll(model, ".", "-"))
	for _, list := range [][]string{newest, {"claude-mythos-5"}, unchecked} {
		for _, name := range list {
			_, rest, found := strings.Cut(model, name)
			if found && (!minor.MatchString(rest) || strings.HasSuffix(name, "-4") || strings.HasSuffix(name, "-3") || name == "claude-mythos-5") {
				return name
			}
		}
	}
	return model
}

// checks reports whether a model checks the content before a block of thinking. The Mythos models record it without a check.
func checks(model string) bool {
	f := family(model)
	if strings.HasPrefix(f, "claude-mythos") {
		return false
	}
	for _, name := range unchecked {
		if f == name {
			return false
		}
	}
	return true
}

// records reports whether a model's signatures record the content before the block.
func records(model string) bool { return checks(model) || family(model) == "claude-mythos-5" }

// reads reports whether a model can read the thinking of another one.
func reads(model, other string) bool {
	to, from := family(model), family(other)
	top := func(f string) bool { return strings.HasPrefix(f, "claude-fable-5-") || f == "claude-mythos-5" }
	switch {
	case to == from, from == "claude-haiku-5-5": // thinking of Haiku 5.5 can be read by all models
		return true
	case top(to):
		return true
	case to == "claude-haiku-5-5":
		return false
	case !strings.HasPrefix(to, "claude-") || !strings.HasPrefix(from, "claude-"):
		return true // a model name made up by a test
	}
	return !records(from) && !strings.HasPrefix(from, "claude-fable")
}
