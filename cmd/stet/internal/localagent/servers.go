package localagent

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/stet-dev/stet/agent/mcpclient"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// serversOf returns the configured MCP servers. Programs start in dir, which is not the workspace: npx, python and similar programs
// search for programs in their working directory, and a checkout is not trusted.
func serversOf(all []config.MCPServer, dir string) []mcpclient.Server {
	var out []mcpclient.Server
	for _, s := range all {
		server := mcpclient.Server{Name: s.Name, URL: s.URL, Dir: dir, Header: http.Header{}}
		if len(s.Command) > 0 {
			server.Command, server.Args = s.Command[0], s.Command[1:]
		}
		for name, value := range s.Env {
			server.Env = append(server.Env, name+"="+value)
		}
		for name, value := range s.Headers {
			server.Header.Set(name, value)
		}
		out = append(out, server)
	}
	return out
}

// connect connects to the configured MCP servers and waits for them. It returns a caller for their tools and the file tools.
func (a *Agent) connect(ctx context.Context, o Options) (tool.Caller, error) {
	if o.Servers == nil || len(o.Settings.MCP) == 0 {
		return a.Handler, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	a.servers = mcpclient.Open(*o.Servers, serversOf(o.Settings.MCP, home))
	set, troubles, err := a.servers.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range troubles {
		a.Missing = append(a.Missing, mcpclient.Missing(t))
	}
	a.More = len(set.Specs())
	if len(troubles) == 0 {
		err = checkRules(slices.Concat(o.Tools.Policy.Rules, o.Tools.Policy.Project), set)
	}
	return a.Handler.With(set), err
}

// checkRules refuses rules about tools of servers that have no such tool, now that these are known.
func checkRules(rules []policy.Rule, servers *tool.Set) error {
	for _, r := range rules {
		for _, p := range r.Tools {
			one := policy.Rule{Tools: []policy.Pattern{p}, Do: r.Do}
			if strings.HasPrefix(p.String(), "mcp__") && !slices.ContainsFunc(servers.Specs(), func(s tool.Spec) bool { return one.Names(s.Name) }) {
				return &config.Error{Err: fmt.Errorf("a rule is about the tool %q, and no MCP server has it: correct the name", p)}
			}
		}
	}
	return nil
}
