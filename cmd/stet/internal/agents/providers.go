package agents

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// provider is a provider in an agent's configuration.
type provider struct {
	name    string
	api     string
	baseURL string // empty: the environment's or the provider's default
}

// inOrder returns the providers with one of the APIs: the chosen one, then those with a base URL, then the others.
func inOrder(found map[string]provider, chosen string) []provider {
	all := slices.DeleteFunc(slices.Collect(maps.Values(found)), func(p provider) bool { return p.api == "" })
	rank := func(p provider) int {
		switch {
		case p.name == chosen:
			return 0
		case p.baseURL != "":
			return 1
		}
		return 2
	}
	slices.SortFunc(all, func(a, b provider) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.name, b.name))
	})
	return all
}

// redirectProviders calls set to give each provider another base URL. Each API has one upstream: that of the first provider that
// uses it. Other providers that use the same API at another address are not changed.
func (r *Redirect) redirectProviders(agent string, all []provider, base string, set func(p provider, baseURL string)) {
	taken := llm.Upstreams{}
	for _, p := range all {
		if first, ok := taken[p.api]; ok && p.baseURL != first {
			if p.baseURL != "" {
				r.Notes = append(r.Notes, fmt.Sprintf("%s's provider %s is not redirected: its requests go elsewhere than those before it", agent, p.name))
			}
			continue
		}
		taken[p.api] = p.baseURL
		if p.baseURL != "" {
			r.learn(agent+"'s provider "+p.name, p.baseURL, p.api)
		}
		set(p, inPlaceOf(r.Found[p.api], base))
	}
}

// temporaryFile writes a file for the agent that Clean removes. Only its owner can read it, because it may hold keys. On an error
// it returns "" and adds a note.
func (r *Redirect) temporaryFile(agent, name string, content []byte) string {
	removeLeft(os.TempDir())
	dir, remove, err := makeTemporary()
	if err == nil {
		r.cleanup = append(r.cleanup, remove)
		name = dir + string(os.PathSeparator) + name
		err = os.WriteFile(name, content, 0o600)
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s is not redirected: %v", agent, err))
		return ""
	}
	return name
}

// flagValue returns the value of a flag in args; names are the flag's names.
func flagValue(args []string, names ...string) string {
	for i, arg := range args {
		if slices.Contains(names, arg) && i+1 < len(args) {
			return args[i+1]
		}
		for _, name := range names {
			if v, ok := strings.CutPrefix(arg, name+"="); ok {
				return v
			}
		}
	}
	return ""
}
