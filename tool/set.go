package tool

import (
	"fmt"
	"sort"
)

// Set is the registry of tools, by name. The zero Set is empty; it must not
// be added to while it is in use.
type Set struct {
	tools   map[string]Tool
	aliases map[string]string
}

// Add registers tools. Two of one name are an error.
func (s *Set) Add(tools ...Tool) error {
	if s.tools == nil {
		s.tools = make(map[string]Tool)
	}
	for _, t := range tools {
		name := t.Spec().Name
		if _, ok := s.tools[name]; ok {
			return fmt.Errorf("tool %s: registered twice", name)
		}
		s.tools[name] = t
	}
	return nil
}

// Alias makes the tool called of answer to another name too, under which it is
// listed too, with a short description. A tool that has this name comes first.
func (s *Set) Alias(name, of string) {
	if s.aliases == nil {
		s.aliases = make(map[string]string)
	}
	s.aliases[name] = of
}

// Get returns the tool of that name.
func (s *Set) Get(name string) (Tool, bool) {
	t, ok := s.tools[name]
	if !ok {
		t, ok = s.tools[s.aliases[name]]
	}
	return t, ok
}

// Specs lists the tools in the order of their names.
func (s *Set) Specs() []Spec {
	out := make([]Spec, 0, len(s.tools))
	for _, t := range s.tools {
		out = append(out, t.Spec())
	}
	for name, of := range s.aliases {
		t, ok := s.tools[of]
		if _, taken := s.tools[name]; !ok || taken {
			continue
		}
		spec := t.Spec()
		spec.Name, spec.Description = name, "The same as "+of+"."
		out = append(out, spec)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
