package acp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/mcpclient"
)

// offer is what a client gives a session besides its directory.
type offer struct {
	servers []sdk.McpServer
	dirs    []string
}

// take begins to connect to the MCP servers of an offer, and notes what is left
// of it. The session is closed if it is not opened then.
func (l *link) take(s *session, o offer) {
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
	var known []mcpclient.Server
	for _, m := range o.servers {
		if server, ok := serverOf(m, s.dir); ok {
			known = append(known, server)
		} else {
			s.notes = append(s.notes, "An MCP server of this editor is not connected: it is of a kind that was not offered.")
		}
	}
	s.begun = false // it has yet to have their tools
	s.servers = mcpclient.Open(mcpclient.Config{Version: l.config.Version, Environ: l.config.Environ, Log: l.config.Log}, known)
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

// agent is the workspace's, with the tools of the session's MCP servers, for
// which it waits. The person is told of that, and of those that are not there.
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
		left := "it"
		if errors.Is(t, mcpclient.ErrPart) {
			left = "the others"
		}
		tell(fmt.Sprintf("%v. The agent works without %s.", t, left))
	}
	more := func(a *agent.Agent) *agent.Agent {
		return a.With(&hands{next: s.space.With(set), text: s.space.Text})
	}
	out := more(s.space.Agent)
	if sub := s.space.Agent.Tasks; sub != nil {
		out.Tasks = more(sub)
	}
	return out, nil
}
