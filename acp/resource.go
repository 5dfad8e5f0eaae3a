package acp

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// named is what the model calls a resource: its path in the workspace where it
// is a file there, else its URI. The fragment, which editors name lines by,
// stays.
func named(s *session, uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return uri
	}
	name := s.relative(filepath.FromSlash(u.Path))
	if u.Fragment != "" {
		name += "#" + u.Fragment
	}
	return name
}

// linkTo is a link to a resource, for the model.
func linkTo(s *session, name, uri string) string {
	at := named(s, uri)
	if name == "" || name == at || name == path.Base(at) {
		return "[" + at + "]"
	}
	return "[" + name + "](" + at + ")"
}

// embedded is a resource with its text, for the model. The text cannot end it.
func embedded(s *session, uri, text string) string {
	text = strings.ReplaceAll(text, "</resource>", `<\/resource>`)
	return "<resource name=\"" + strings.ReplaceAll(named(s, uri), `"`, "%22") + "\">\n" + strings.TrimSuffix(text, "\n") + "\n</resource>"
}

// relative is a path as the tools have it: below the workspace if it is there,
// by the directory's real name or the one that the client gave it.
func (s *session) relative(name string) string {
	for _, dir := range []string{s.dir, s.space.Agent.Dir} {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name
}

// absolute is a path of the tools as the client has it.
func (s *session) absolute(name string) string {
	if name = s.relative(filepath.FromSlash(name)); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.dir, filepath.FromSlash(name))
}
