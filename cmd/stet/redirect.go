package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stet-dev/stet/proxy"
)

// redirect is a child process that is to talk to the proxy: its command line
// and environment, and where its requests went before.
type redirect struct {
	args []string
	env  []string
	// found holds the base URLs that the child would have used, as far as
	// they are set anywhere.
	found   proxy.Upstreams
	notes   []string // what the person should know before the agent starts
	cleanup []func() // to be called when the child has ended
}

// redirection turns a command towards a proxy at base ("http://127.0.0.1:4141").
func (p *program) redirection(command []string, base string) redirect {
	r := redirect{args: slices.Clone(command), env: slices.Clone(p.env)}
	r.found.Messages = p.getenv("ANTHROPIC_BASE_URL")
	openai := p.getenv("OPENAI_BASE_URL")
	if openai == "" {
		openai = p.getenv("OPENAI_API_BASE")
	}
	r.found.Chat, r.found.Responses = openai, openai

	r.set("ANTHROPIC_BASE_URL", base)
	r.set("OPENAI_BASE_URL", inPlaceOf(openai, base))
	r.set("OPENAI_API_BASE", inPlaceOf(openai, base))
	r.bypass()

	switch name, at := agentOf(command); name {
	case "codex":
		p.redirectCodex(&r, at, base)
	case "opencode":
		p.redirectOpencode(&r, at, base)
	case "continue":
		p.redirectContinue(&r, at, base)
	}
	return r
}

func (r *redirect) set(name, value string) {
	r.env = slices.DeleteFunc(r.env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	r.env = append(r.env, name+"="+value)
}

// bypass keeps an HTTP proxy of the environment from being asked for the
// loopback address.
func (r *redirect) bypass() {
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		list := ""
		for _, s := range r.env {
			if v, ok := strings.CutPrefix(s, name+"="); ok {
				list = v + ","
			}
		}
		r.set(name, list+"127.0.0.1,localhost")
	}
}

var endsInVersion = regexp.MustCompile(`/v[0-9]+[a-z0-9]*/?$`)

// inPlaceOf returns the base URL that stands for was: with /v1 where that ends
// in a version or is not set, else without, so that the proxy sees the paths
// that was would have seen.
func inPlaceOf(was, base string) string {
	if was == "" || endsInVersion.MatchString(was) {
		return base + "/v1"
	}
	return base
}

// launchers run a command that is among their arguments.
var launchers = []string{"npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "node", "bun", "env", "time", "nice"}

// agentOf tells which agent a command line starts, and at which argument its
// name stands; empty where it is none that needs more than the environment.
func agentOf(command []string) (name string, at int) {
	for i, arg := range command {
		base := strings.ToLower(filepath.Base(arg))
		base, _, _ = strings.Cut(base, "@") // npx codex@latest
		if strings.HasSuffix(arg, "@continuedev/cli") {
			base = "cn"
		}
		base = strings.TrimSuffix(strings.TrimSuffix(base, ".exe"), ".js")
		switch base {
		case "codex":
			return "codex", i
		case "opencode", "opencode-ai":
			return "opencode", i
		case "cn":
			return "continue", i
		}
		if i == 0 && !slices.Contains(launchers, base) {
			return "", 0
		}
	}
	return "", 0
}

// clean removes what the redirection made.
func (r *redirect) clean() {
	for _, f := range r.cleanup {
		f()
	}
}
