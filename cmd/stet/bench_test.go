package main

import (
	"strings"
	"testing"
)

// Every policy of another tool names its source, and has a unique name.
func TestBenchPolicies(t *testing.T) {
	seen := make(map[string]bool)
	for i, p := range benchPolicies() {
		if seen[p.Name] || p.Name == "" {
			t.Errorf("%q is there twice", p.Name)
		}
		seen[p.Name] = true
		if ours := i < 4 || strings.HasPrefix(p.Name, "bound-"); ours != (p.Source == "") {
			t.Errorf("%s: source %q", p.Name, p.Source)
		}
	}
	if len(seen) != 14 {
		t.Errorf("%d policies", len(seen))
	}
}
