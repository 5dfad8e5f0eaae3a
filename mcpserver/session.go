package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session returns the name of the client session of a request. It is made from the MCP session, or else from the token, or else
// it is the session of Serve.
func (s *Server) session(req *mcp.CallToolRequest) string {
	if id := req.Session.ID(); id != "" {
		return mcpSession(id)
	}
	if account := accountOf(req); account != "" {
		return account
	}
	return s.config.Session
}

// accountOf returns the name of a request's token; "" over stdio.
func accountOf(req *mcp.CallToolRequest) string {
	if req.Extra == nil || req.Extra.TokenInfo == nil {
		return ""
	}
	return req.Extra.TokenInfo.UserID
}

func mcpSession(id string) string { return "mcp-" + digest("session", id) }

func tokenSession(token string) string { return "token-" + digest("token", token) }

// digest returns a short hash of a secret. The secret cannot be computed from it.
func digest(of, secret string) string {
	sum := sha256.Sum256([]byte("stet " + of + "\x00" + secret))
	return hex.EncodeToString(sum[:6])
}

// watch waits for the end of an MCP session in the background, and then ends its calls. Over stdio Serve does this. Stateless
// revisions have no sessions.
func (s *Server) watch(req *mcp.CallToolRequest, name string) {
	if req.Session.ID() == "" {
		return
	}
	if _, watched := s.watched.LoadOrStore(name, true); watched || !s.gate.enter() {
		return
	}
	go func() {
		defer s.gate.leave()
		_ = req.Session.Wait() // the reason of the end does not matter
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
