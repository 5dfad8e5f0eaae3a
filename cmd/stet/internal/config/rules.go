package config

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/trim/dialect"
)

// parseRules reads [[rule]] tables.
func parseRules(v any) ([]policy.Rule, error) {
	rows, _ := v.([]any)
	if len(rows) == 0 {
		return nil, nil
	}
	rules, err := decode[[]policy.Rule](ruleKey, rows, "a rule has tools, paths, commands, on and do", "")
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		m, _ := row.(map[string]any)
		if m["do"] == nil {
			return nil, fmt.Errorf("rule %d does not say what to do: want do = \"allow\", \"ask\" or \"deny\"", i+1)
		}
		for _, key := range []string{"tools", "paths", "commands"} {
			if list, ok := m[key].([]any); ok && len(list) == 0 {
				return nil, fmt.Errorf("rule %d: %s is empty: leave it out if the rule is for all %s", i+1, key, key)
			}
		}
	}
	return rules, nil
}

// loadRules reads the rules of both files. A rule that can match nothing is an error, except a user's rule about another workspace.
func (c *Config) loadRules(s Source, project, user layer) (err error) {
	if c.Rules, err = c.rulesOf(s, user, true); err != nil {
		return err
	}
	if c.ProjectRules, err = c.rulesOf(s, project, false); err != nil {
		return err
	}
	for i, r := range c.ProjectRules {
		if r.Do == policy.Allow {
			return fmt.Errorf("%s: rule %d: a project may deny or ask, and allow nothing: "+
				"allow it in your own configuration", project.name, i+1)
		}
	}
	return nil
}

// rulesOf reads the rules of one file. A user's file has the rules for all workspaces. A path of another workspace allows nothing in
// this one. In a rule that denies or asks it is also about the file of that name below the root, as "/docs" might be meant.
func (c *Config) rulesOf(s Source, l layer, user bool) ([]policy.Rule, error) {
	rules, err := parseRules(l.values[ruleKey])
	if err != nil {
		return nil, fmt.Errorf("%s: rule: %w", l.name, err)
	}
	for i := range rules {
		r := &rules[i]
		var paths []policy.Pattern
		for _, p := range r.Paths {
			in, err := s.inWorkspace(p)
			if other := (*elsewhereError)(nil); user && errors.As(err, &other) && other.certain {
				if in, err = other.below, nil; r.Do == policy.Allow {
					in = policy.Pattern{} // matches nothing
				}
			}
			if err != nil {
				return nil, fmt.Errorf("%s: rule %d: paths: %w", l.name, i+1, err)
			}
			paths = append(paths, in)
			if to, ok := s.linked(in); ok && r.Do != policy.Allow {
				paths = append(paths, to)
			}
		}
		r.Paths = paths
		if *r, err = r.ForTools(c.toolsOfOthers(s, *r)); err != nil {
			return nil, fmt.Errorf("%s: rule %d: tools: %w", l.name, i+1, err)
		}
	}
	return rules, nil
}

// elsewhereError is the error of a pattern for an absolute path that is not below the workspace.
type elsewhereError struct {
	why     string
	certain bool           // no path below the workspace is meant
	below   policy.Pattern // the place of that name below the root of the workspace
}

func (e *elsewhereError) Error() string { return e.why }

// effects are what the tools of agents do, by their op.
var effects = map[dialect.Op]policy.Effect{dialect.Read: policy.Shows, dialect.List: policy.Lists, dialect.Edit: policy.Changes, dialect.Write: policy.Changes}

var notInToolName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// toolsOfOthers returns the tools of agents, and those that the rule names of MCP servers: their names are not known before they
// are connected.
func (c *Config) toolsOfOthers(s Source, r policy.Rule) map[string]policy.Effect {
	others := map[string]policy.Effect{}
	table := c.Dialects
	if table == nil {
		table = dialect.Default()
	}
	for name, ops := range table.Tools() {
		for _, op := range ops {
			others[name] |= effects[op]
		}
	}
	for _, p := range r.Tools {
		rest, ok := strings.CutPrefix(p.String(), "mcp__")
		server, _, _ := strings.Cut(rest, "__")
		if ok && (s.Servers || strings.ContainsAny(server, "*?[{") || slices.ContainsFunc(c.MCP, func(m MCPServer) bool {
			return notInToolName.ReplaceAllString(m.Name, "_") == server
		})) {
			others[p.String()] = 0
		}
	}
	return others
}

var (
	drive       = regexp.MustCompile(`^[a-zA-Z]:[\\/]`) // begins an absolute path of Windows
	absInBraces = regexp.MustCompile(`[{,][/~]`)
	rooted      = regexp.MustCompile(`^(~|\$HOME|\$\{HOME\}|%USERPROFILE%|[a-zA-Z]:)`) // what makes a pattern absolute, besides a slash
)

// inWorkspace makes a pattern for an absolute path, or one in the home directory, relative to the workspace. A pattern that no
// path in the workspace can match is an error, which says how to write it.
func (s Source) inWorkspace(p policy.Pattern) (policy.Pattern, error) {
	text := p.String()
	switch {
	case text != strings.TrimSpace(text) && !strings.HasSuffix(text, `\ `):
		return p, fmt.Errorf(`%q begins or ends with a space: take it out, or write a backslash in front if the name has one`, text)
	case strings.HasPrefix(text, "!"):
		return p, fmt.Errorf(`%q: a rule has no exceptions: for one put a rule with do = "allow" in front; \! is the sign in a name`, text)
	case strings.HasPrefix(text, "{") && strings.ContainsAny(text, "/~") && absInBraces.MatchString(text):
		return p, fmt.Errorf("%q: an absolute path is written without braces: write one pattern for each", text)
	case strings.HasPrefix(text, "/**"), text == "/*", strings.HasPrefix(text, "/*/"):
		return p, nil
	}
	abs := text
	if drive.MatchString(text) || strings.HasPrefix(text, `~\`) || strings.HasPrefix(text, `\\`) {
		abs = strings.ReplaceAll(text, `\`, "/")
	}
	for _, home := range []string{"~", "$HOME", "${HOME}", "%USERPROFILE%"} {
		if rest, ok := strings.CutPrefix(abs, home); ok && (rest == "" || strings.ContainsAny(rest[:1], `/\`)) {
			abs = filepath.ToSlash(s.Home) + strings.ReplaceAll(rest, `\`, "/")
			if s.Home == "" {
				abs = "/" + strings.TrimLeft(rest, `/\`)
			}
		}
	}
	if !strings.HasPrefix(abs, "/") && !drive.MatchString(abs) && !(strings.HasPrefix(abs, "~") && strings.Contains(abs, "/")) {
		return p, nil
	}
	rel, ok := below(s.Workspace, abs)
	if !ok {
		plain := strings.TrimLeft(rooted.ReplaceAllString(text, ""), `/\`)
		e := &elsewhereError{why: fmt.Sprintf("%q is not below the workspace %s, which the rules are about: write a path in it as %q, or %q for this place only",
			text, s.Workspace, plain, "./"+plain)}
		var err error
		e.below, err = policy.ParsePath("/" + strings.TrimLeft(drive.ReplaceAllString(abs, ""), "/"))
		e.certain = err == nil && !strings.HasPrefix(abs, "~") && !s.mayCover(abs)
		return p, e
	}
	return policy.ParsePath(rel)
}

// mayCover reports whether a pattern for an absolute path may match the workspace or what is in it: the workspace is below the names
// before the first sign.
func (s Source) mayCover(abs string) bool {
	if at := strings.IndexAny(abs, `*?[{\`); at >= 0 {
		abs = path.Dir(abs[:at] + "x")
	}
	workspace, err := filepath.EvalSymlinks(s.Workspace)
	if err != nil {
		return true
	}
	_, covered := below(filepath.FromSlash(path.Clean(abs)), filepath.ToSlash(workspace))
	return covered || path.Clean(abs) == "/"
}

// linked returns the pattern for what a path leads to by links, if that is elsewhere in the workspace. Calls are decided on by it.
func (s Source) linked(p policy.Pattern) (to policy.Pattern, ok bool) {
	name := path.Clean(strings.TrimLeft(strings.TrimSuffix(p.String(), "/**"), "/"))
	real, err := filepath.EvalSymlinks(filepath.Join(s.Workspace, filepath.FromSlash(name)))
	if err != nil {
		return to, false
	}
	rel, ok := below(s.Workspace, filepath.ToSlash(real))
	if rel = strings.TrimPrefix(rel, "/"); !ok || rel == name || name == "**" {
		return to, false
	}
	to, err = policy.ParsePath("./" + rel)
	return to, err == nil
}

// below returns a pattern for an absolute path as one that begins at the root, with a leading slash. The path's existing part is
// followed, so that each spelling of the root is recognised.
func below(root, abs string) (string, bool) {
	end := ""
	if strings.HasSuffix(abs, "/") {
		end = "/"
	}
	relative := func(names ...string) (string, bool) {
		rel := path.Join("/", path.Join(names...))
		if rel == "/" {
			return "**", true
		}
		return rel + end, true
	}
	slashed := filepath.ToSlash(root)
	if rest, ok := strings.CutPrefix(abs, slashed); ok && (rest == "" || rest[0] == '/') {
		return relative(rest)
	}
	at, err := os.Stat(root)
	if err != nil {
		return "", false
	}
	for head, rest := strings.TrimRight(abs, "/"), ""; ; head, rest = path.Dir(head), path.Join(path.Base(head), rest) {
		real, err := filepath.EvalSymlinks(filepath.FromSlash(head))
		for tail := ""; err == nil; tail, real = path.Join(filepath.Base(real), tail), filepath.Dir(real) {
			if info, err := os.Stat(real); err == nil && os.SameFile(info, at) {
				return relative(tail, rest)
			}
			if filepath.Dir(real) == real {
				return "", false
			}
		}
		if !strings.Contains(path.Dir(head), "/") || path.Dir(head) == head || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return "", false
		}
	}
}
