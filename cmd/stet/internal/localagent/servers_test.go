package localagent

import (
	"context"
	"testing"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// named is a tool with a name, which is all that rules look at.
type named string

func (n named) Spec() tool.Spec { return tool.Spec{Name: string(n)} }
func (n named) Plan(_ context.Context, c tool.Call) (*tool.Plan, error) {
	return &tool.Plan{Call: c}, nil
}

// A rule about a tool that no connected server has is refused.
func TestCheckRules(t *testing.T) {
	set := new(tool.Set)
	if err := set.Add(named("mcp__docs__find"), named("mcp__docs__put")); err != nil {
		t.Fatal(err)
	}
	for pattern, ok := range map[string]bool{"mcp__docs__find": true, "mcp__docs__*": true, "mcp__docs__fnid": false, "mcp__other__*": false, "Read": true} {
		p, err := policy.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkRules([]policy.Rule{{Tools: []policy.Pattern{p}, Do: policy.Deny}}, set); (err == nil) != ok {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
