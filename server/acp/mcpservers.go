package acp

import (
	"context"
	"net/http"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/agent/mcpclient"
)

// offer is what a client sends for a session besides its working directory: MCP servers and additional directories.
type offer struct {
	servers []sdk.McpServer
	dirs    []string
}

// accept starts to connect to the MCP servers of an offer. It adds a note for the person about each part that is not accepted.
func (c *connection) accept(s *session, o offer) {
	if len(o.dirs) > 0 {
		s.notes = append(s.notes, "The agent works in the working directory alone: the additional directories are not opened.")
	}
	if len(o.servers) == 0 {
		return
	}
	if s.space.With == nil {
		s.notes = append(s.notes, "The MCP servers of this editor are not connected: the agent works with its own file tools.")
		return
	}
	var servers []mcpclient.Server
	for _, m := range o.servers {
		if server, ok := serverOf(m, s.dir); ok {
			servers = append(servers, server)
		} else {
			s.notes = append(s.notes, "An MCP server of this editor is not connected: it is of a kind that was not offered.")
		}
	}
	s.begun = false // the conversation does not have their tools yet
	s.servers = mcpclient.Open(mcpclient.Config{Version: c.config.Version, Environ: c.config.Environ, Log: c.config.Log}, servers)
}

func serverOf(m sdk.McpServer, dir string) (mcpclient.Server, bool) {
	header := func(all []sdk.HttpHeader) http.Header {
		out := http.Header{}
		for _, h := range all {
			out.Add(h.Name, h.Value)
		}
		return out
	}
	switch {
	case m.Stdio != nil:
		s := mcpclient.Server{Name: m.Stdio.Name, Command: m.Stdio.Command, Args: m.Stdio.Args, Dir: dir}
		for _, v := range m.Stdio.Env {
			s.Env = append(s.Env, v.Name+"="+v.Value)
		}
		return s, true
	case m.Http != nil:
		return mcpclient.Server{Name: m.Http.Name, URL: m.Http.Url, Header: header(m.Http.Headers)}, true
	case m.Sse != nil:
		return mcpclient.Server{Name: m.Sse.Name, URL: m.Sse.Url, Header: header(m.Sse.Headers), SSE: true}, true
	}
	return mcpclient.Server{}, false
}

// agent returns the workspace's agent with the tools of the session's MCP servers. It waits for the servers. tell gets messages
// for the person: servers are starting, or a server is missing.
func (s *session) agent(ctx context.Context, tell func(string)) (*agent.Agent, error) {
	if s.servers == nil {
		return s.space.Agent, nil
	}
	if !s.servers.Ready() {
		tell("The MCP servers are starting.")
	}
	set, troubles, err := s.servers.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range troubles {
		tell(mcpclient.Missing(t))
	}
	return s.space.Agent.With(&sessionTools{next: s.space.With(set), text: s.space.Text}), nil
}
