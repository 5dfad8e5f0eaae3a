package localagent

import (
	"context"
	"net/http"
	"os"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/mcpclient"
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
	return a.Handler.With(set), nil
}
