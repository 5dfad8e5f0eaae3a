package agents

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/llm"
)

// keep is a variable with which an agent behaves at another base URL as it does at its provider's host.
type keep struct {
	since       []int // the first version with this row; nil: all versions before the next row
	name, value string
}

// The hosts at which agents do all that they can.
const (
	claudeHost = "api.anthropic.com"
	openaiHost = "api.openai.com"
)

// claudeKeeps has the oldest versions first. Each row was looked up in first requests of the npm package with one MCP server of 40
// tools (TestDoctor in test/e2e). Up to 2.1.303 a base URL alone makes it send all tools: 60 in place of 12. The variable of the second
// row also brings back betas, cache diagnostics and the global cache scope, but in 2.1.300 and 2.1.301 it takes away the betas
// dangerous-tool-use and afk-mode and the key safeguards. From 2.1.302 to 2.1.332 it takes away nothing.
var claudeKeeps = []keep{
	{nil, "ENABLE_TOOL_SEARCH", "true"},
	{[]int{2, 1, 302}, "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", "1"},
}

// claudeClouds are variables that make Claude Code ask elsewhere than at its base URL.
var claudeClouds = []string{"BEDROCK", "VERTEX", "FOUNDRY", "MANTLE", "ANTHROPIC_AWS", "ANTHROPIC_GOOGLE_CLOUD", "GATEWAY"}

var leadingVersion = regexp.MustCompile(`^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})`)

// versionOf returns the numbers of a version; nil: it is not known.
func versionOf(version string) (at []int) {
	if g := leadingVersion.FindStringSubmatch(version); g != nil {
		for _, s := range g[1:] {
			n, _ := strconv.Atoi(s) // nine digits fit
			at = append(at, n)
		}
	}
	return at
}

// versionFor returns the version of a program, or "".
func (m Machine) versionFor(program string) string {
	_, version, pinned := strings.Cut(strings.TrimPrefix(program, "@"), "@") // npx @anthropic-ai/claude-code@2.1.300
	if !pinned && m.Version != nil {
		version = m.Version(program)
	}
	return version
}

// keepOf returns the row for a version of Claude Code. An unknown version has the newest row.
func keepOf(version string) keep {
	at := versionOf(version)
	for _, k := range slices.Backward(claudeKeeps) {
		if at == nil || slices.Compare(at, k.since) >= 0 {
			return k
		}
	}
	return claudeKeeps[0]
}

// claudeKeep returns the variable that keeps Claude Code's own behaviour. ok is false if none is to be set: its requests do not end at
// the provider's own host, or the person has set the variable. asked is the base URL that it would ask without stet; "": the provider's.
// env has the environment of its settings. program starts it.
func (m Machine) claudeKeep(program, asked string, env map[string]string) (k keep, ok bool) {
	if !m.asksProvider(asked, env) {
		return keep{}, false
	}
	k = keepOf(m.versionFor(program))
	_, set := env[k.name]
	return k, !set && !slices.ContainsFunc(m.Env, func(s string) bool { return strings.HasPrefix(s, k.name+"=") })
}

// asksProvider reports whether the requests of Claude Code end at its provider's own host. asked is the base URL that it would ask without
// stet; "": the provider's. env has the environment of its settings.
func (m Machine) asksProvider(asked string, env map[string]string) bool {
	return m.goesTo(claudeHost, llm.Messages, asked) && !slices.ContainsFunc(claudeClouds, func(cloud string) bool {
		name := "CLAUDE_CODE_USE_" + cloud
		on, set := env[name]
		return switchedOn(on) || !set && switchedOn(m.Getenv(name))
	})
}

func switchedOn(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false") && !strings.EqualFold(value, "no") && !strings.EqualFold(value, "off")
}

// environment returns the environment that settings of Claude Code give it; later settings come before earlier ones.
func environment(settings ...[]byte) map[string]string {
	all := map[string]string{}
	for _, text := range settings {
		var s struct{ Env map[string]string }
		_ = jsonc.Unmarshal(text, &s) // what cannot be read is skipped: the agent reports it
		maps.Copy(all, s.Env)
	}
	return all
}

// claudeEnv returns the environment that all settings of a run give it: those of the person, of the project, of its arguments, and of
// the machine.
func (m Machine) claudeEnv(args []string) map[string]string {
	named, inline := flagValue(args, "--settings"), ""
	if strings.HasPrefix(strings.TrimSpace(named), "{") {
		named, inline = "", named
	}
	var all [][]byte
	read := func(names ...string) {
		text, _ := os.ReadFile(filepath.Join(names...)) // there may be no such file
		all = append(all, text)
	}
	read(m.claudeUserFile())
	read(m.Dir, ".claude", "settings.json")
	read(m.Dir, ".claude", "settings.local.json")
	read(m.Absolute(named))
	all = append(all, []byte(inline))
	for _, dir := range []string{"/etc/claude-code", "/Library/Application Support/ClaudeCode", m.Getenv("ProgramFiles") + "/ClaudeCode"} {
		read(dir, "managed-settings.json")
	}
	return environment(all...)
}

// redirectClaude completes the redirection of Claude Code by base URL.
func (m Machine) redirectClaude(r *Redirect, at int, _ string) {
	if m.Lasting["claude"].Trust != "" { // its settings come before the environment
		r.Env, r.Found = slices.Clone(m.Env), llm.Upstreams{}
		r.Notes = append(r.Notes, "Claude Code goes through the forward proxy of the service all the same, by stet setup --proxy: its savings are counted there")
		return
	}
	for _, v := range m.Lasting["claude"].Values {
		if len(v.APIs) > 0 {
			r.Notes = append(r.Notes, "Claude Code goes to "+v.Ours+" all the same, by stet setup --proxy: its savings are counted there")
		}
	}
	m.keepClaude(r, r.Args[at], r.Args[at:])
}

// keepClaude sets the variable that keeps Claude Code's own behaviour in a run of program with args.
func (m Machine) keepClaude(r *Redirect, program string, args []string) {
	env := m.claudeEnv(args)
	if env["ANTHROPIC_BASE_URL"] != "" {
		return // its settings come before the environment
	}
	if k, ok := m.claudeKeep(program, r.Found[llm.Messages], env); ok {
		r.set(k.name, k.value)
		r.Kept = append(r.Kept, k.name)
	}
}

// keepLasting returns the setting that keeps the own behaviour of an agent at a base URL in all its runs, with its path in the agent's
// configuration; nil: none. done has the base URLs, ours what stet has set before.
func (m Machine) keepLasting(name string, f *configFile, done LastingAgent, ours []LastingValue) *LastingValue {
	switch name {
	case "pi":
		return m.keepPi(f, done, ours)
	case "claude":
	default:
		return nil
	}
	env := environment(f.text)
	for _, v := range ours {
		if len(v.APIs) == 0 && env[v.Path[1]] == v.Ours {
			delete(env, v.Path[1])
		}
	}
	k, ok := m.claudeKeep("claude", Lasting{name: done}.Asked(name)[llm.Messages], env)
	if !ok {
		return nil
	}
	return &LastingValue{Path: []string{"env", k.name}, Ours: k.value}
}
