package main

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay/bench"
)

// benchPolicies are the compared policies. The module bench compares those of other tools too.
func benchPolicies() []bench.Policy {
	var all []bench.Policy
	for _, p := range trim.Policies() {
		if ours, err := bench.Ours(trim.Config{Policy: p}); err == nil && p != trim.Off {
			all = append(all, ours)
		}
	}
	return all
}

// chosenPolicies returns the policies of these names in the order of the table; without names, all.
func chosenPolicies(names []string) ([]bench.Policy, error) {
	all := benchPolicies()
	if len(names) == 0 {
		return all, nil
	}
	asked := make(map[string]bool)
	for _, name := range names {
		asked[name] = true
	}
	delete(asked, string(trim.Off)) // it is always included
	var chosen []bench.Policy
	known := []string{string(trim.Off)}
	for _, p := range all {
		known = append(known, p.Name)
		if asked[p.Name] {
			chosen = append(chosen, p)
			delete(asked, p.Name)
		}
	}
	for _, name := range names {
		if asked[name] {
			return nil, fmt.Errorf("unknown policy %q: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
