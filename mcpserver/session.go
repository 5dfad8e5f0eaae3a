package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session names the client session of a request: its MCP session, else its
// token, else the one of Serve.
func (s *Server) session(req *mcp.CallToolRequest) string {
	if id := req.Session.ID(); id != "" {
		return mcpSession(id)
	}
	if account := accountOf(req); account != "" {
		return account
	}
	return s.config.Session
}

// accountOf names the token of a request; "" over stdio.
func accountOf(req *mcp.CallToolRequest) string {
	if req.Extra == nil || req.Extra.TokenInfo == nil {
		return ""
	}
	return req.Extra.TokenInfo.UserID
}

func mcpSession(id string) string { return "mcp-" + digest("session", id) }

func tokenSession(token string) string { return "token-" + digest("token", token) }

// digest names a secret without giving it away.
func digest(of, secret string) string {
	sum := sha256.Sum256([]byte("stet " + of + "\x00" + secret))
	return hex.EncodeToString(sum[:6])
}

// watch ends the calls of an MCP session when that ends. Over stdio Serve does
// so, and in stateless revisions there are no sessions.
func (s *Server) watch(req *mcp.CallToolRequest, name string) {
	if req.Session.ID() == "" {
		return
	}
	if _, watched := s.watched.LoadOrStore(name, true); watched || !s.gate.enter() {
		return
	}
	go func() {
		defer s.gate.leave()
		_ = req.Session.Wait() // how it ended does not matter
		s.watched.Delete(name)
		s.calls.endSession(name)
		s.end(name)
	}()
}

func (s *Server) end(session string) {
	if s.config.End != nil {
		s.config.End(session)
	}
}
