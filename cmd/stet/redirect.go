package main

import (
	"fmt"
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
	source  map[wire]string // what says so: "OPENAI_BASE_URL", "Codex's configuration"
	notes   []string        // what the person should know before the agent starts
	cleanup []func()        // to be called when the child has ended
}

// redirection turns a command towards a proxy at base ("http://127.0.0.1:4141").
func (p *program) redirection(command []string, base string) redirect {
	r := redirect{args: slices.Clone(command), env: slices.Clone(p.env), source: map[wire]string{}}
	r.learn("ANTHROPIC_BASE_URL", p.getenv("ANTHROPIC_BASE_URL"), wireMessages)
	name, openai := "OPENAI_BASE_URL", p.getenv("OPENAI_BASE_URL")
	if openai == "" {
		name, openai = "OPENAI_API_BASE", p.getenv("OPENAI_API_BASE")
	}
	r.learn(name, openai, wireChat, wireResponses)

	r.set("ANTHROPIC_BASE_URL", base)
	r.set("OPENAI_BASE_URL", inPlaceOf(openai, base))
	r.set("OPENAI_API_BASE", inPlaceOf(openai, base))
	r.bypass()

	switch agent, at := agentOf(command); agent {
	case "codex":
		p.redirectCodex(&r, at, base)
	case "opencode":
		p.redirectOpencode(&r, at, base)
	case "continue":
		p.redirectContinue(&r, at, base)
	}
	return r
}

// learn takes down that source says where the requests of these APIs went.
func (r *redirect) learn(source, base string, apis ...wire) {
	for _, api := range apis {
		*upstreamFor(&r.found, api), r.source[api] = base, source
	}
}

// check says which of the base URLs found is none, of those that count: what
// is given for an API goes before what is found.
func (r *redirect) check(given proxy.Upstreams) error {
	for _, api := range []wire{wireMessages, wireChat, wireResponses} {
		if *upstreamFor(&given, api) != "" {
			continue
		}
		if err := checkBase(*upstreamFor(&r.found, api)); err != nil {
			return misconfigured(fmt.Errorf("%s: %w", r.source[api], err))
		}
	}
	return nil
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

// inPlaceOf returns the base URL that stands for was: with /v1 where that ends
// in a version or is not set, else without, so that the proxy sees the paths
// that was would have seen.
func inPlaceOf(was, base string) string {
	if was == "" || proxy.Versioned(was) {
		return base + "/v1"
	}
	return base
}

// clean removes what the redirection made. It may be called more than once.
func (r *redirect) clean() {
	for _, f := range r.cleanup {
		f()
	}
	r.cleanup = nil
}
