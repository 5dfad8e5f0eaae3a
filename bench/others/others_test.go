package others

import (
	"strings"
	"testing"
)

// Every policy of another tool names its source, and has a unique name.
func TestPolicies(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range Policies() {
		if seen[p.Name] || p.Name == "" {
			t.Errorf("%q is there twice", p.Name)
		}
		seen[p.Name] = true
		if bound := strings.HasPrefix(p.Name, "bound-"); bound != (p.Source == "") {
			t.Errorf("%s: source %q", p.Name, p.Source)
		}
	}
}
