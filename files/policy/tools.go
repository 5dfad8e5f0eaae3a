package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/tool"
)

// Effect is what a tool does with a file. A tool may do several things.
type Effect uint8

// The effects.
const (
	Shows   Effect = 1 << iota // what is in it
	Lists                      // its name
	Changes                    // it
)

type ownTool struct {
	name        string
	named, does Effect
}

// ownTools are stet's tools. A rule that names one is about named; a call of it does all of does. The result of an edit shows what
// was there, and a search names files.
var ownTools = []ownTool{
	{"Read", Shows, Shows}, {"read_file", Shows, Shows}, {"search_text", Shows, Shows | Lists},
	{"list_files", Lists, Lists}, {"LS", Lists, Lists}, {"find_files", Lists, Lists}, {"file_info", 0, 0},
	{"write_file", Changes, Changes}, {"edit_file", Changes, Changes | Shows}, {"undo", Changes, Changes},
}

// effectOf returns what a call of a tool does. Of a tool that is not stet's it is known only whether it changes something.
func effectOf(r Request) Effect {
	for _, t := range ownTools {
		if t.name == r.Tool && (r.Write || t.does&Changes == 0) {
			if slices.Contains(r.Notes, tool.Merged) {
				return t.does | Shows // the result tells what another program wrote
			}
			return t.does
		}
	}
	if r.Write {
		return Changes
	}
	return Shows // also of a write that failed or would change nothing: its words may quote the file
}

// Names reports whether one of the rule's patterns matches the tool.
func (rule Rule) Names(tool string) bool { return matchesAny(rule.Do, rule.Tools, tool) }

// about returns what the rule is about, by the tools of stet that it names.
func (rule Rule) about() (all Effect) {
	for _, t := range ownTools {
		if rule.Names(t.name) {
			all |= t.named
		}
	}
	return all
}

// ForTools checks the names of the rule's tools: each pattern has to match a tool of stet, or one of others, which maps the tools
// of agents and MCP servers to what they do. A rule that asks or denies, and names another's tool, is returned with stet's tools
// of the same effect.
func (rule Rule) ForTools(others map[string]Effect) (Rule, error) {
	given := rule.Tools
	for _, p := range given {
		one := Rule{Tools: []Pattern{p}, Do: rule.Do}
		known := slices.ContainsFunc(ownTools, func(t ownTool) bool { return one.Names(t.name) })
		var effects Effect
		for name, does := range others {
			if one.Names(name) {
				known, effects = true, effects|does
			}
		}
		if !known {
			return rule, fmt.Errorf("no tool has the name %q: stet's own are %s; those of an MCP server begin with mcp__SERVER__", p, ownNames())
		}
		for _, t := range ownTools {
			if rule.Do != Allow && t.named&effects != 0 && !one.Names(t.name) {
				exactly, err := ParsePattern(t.name)
				if err != nil {
					return rule, err
				}
				rule.Tools = append(slices.Clip(rule.Tools), exactly)
			}
		}
	}
	if about := rule.about(); rule.Do != Allow && (rule.On == Read && about == Changes || rule.On == Write && about != 0 && about&Changes == 0) {
		return rule, fmt.Errorf("it would match nothing: these tools do not %s; leave out on = %q", rule.On, rule.On)
	}
	return rule, nil
}

func ownNames() string {
	var names []string
	for _, t := range ownTools {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}
