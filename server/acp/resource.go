package acp

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// named returns the model's name for a resource: its path if it is a file in the workspace, or else its URI. It keeps the
// fragment, because editors put line numbers there.
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

// linkTo returns a link to a resource, for the model.
func linkTo(s *session, name, uri string) string {
	at := named(s, uri)
	if name == "" || name == at || name == path.Base(at) {
		return "[" + at + "]"
	}
	return "[" + name + "](" + at + ")"
}

// embedded returns a resource with its text, for the model. An end tag in the text is escaped.
func embedded(s *session, uri, text string) string {
	text = strings.ReplaceAll(text, "</resource>", `<\/resource>`)
	return "<resource name=\"" + strings.ReplaceAll(named(s, uri), `"`, "%22") + "\">\n" + strings.TrimSuffix(text, "\n") + "\n</resource>"
}

// relative returns a path in the form that the tools use. It is relative if it is in the workspace, by the directory's real name
// or by the name that the client uses.
func (s *session) relative(name string) string {
	for _, dir := range []string{s.dir, s.space.Agent.Dir} {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name
}

// absolute converts a path of the tools to the form that the client uses.
func (s *session) absolute(name string) string {
	if name = s.relative(filepath.FromSlash(name)); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.dir, filepath.FromSlash(name))
}
