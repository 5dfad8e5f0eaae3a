package main

import (
	"slices"
	"strings"
)

// keyVariables hold what is for nobody but a model's provider, and a gateway.
var keyVariables = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STET_TOKEN"}

// environForOthers is the environment for programs that are not ours and need no
// key of ours. One that does is given it by name.
func (p *program) environForOthers() []string {
	return slices.DeleteFunc(slices.Clone(p.env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(keyVariables, name)
	})
}
