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
		return "token-" + account
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

// digest returns a short hash of a secret. The secret cannot be computed from it.
func digest(of, secret string) string {
	sum := sha256.Sum256([]byte("stet " + of + "\x00" + secret))
	return hex.EncodeToString(sum[:6])
}

func (s *Server) end(session string) {
	if s.config.End != nil {
		s.config.End(session)
	}
}
