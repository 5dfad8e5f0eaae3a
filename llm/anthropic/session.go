package anthropic

import (
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Session implements llm.Codec. A header of the agent comes before the key in the body.
func (Messages) Session(header func(string) string, req *llm.Request) (conversation, agent string) {
	conversation = llm.FirstHeader(header, "X-Claude-Code-Session-Id", "X-Session-Id", "X-Session-Affinity")
	if conversation == "" && req != nil {
		conversation = req.SessionKey
	}
	return conversation, header("X-Claude-Code-Agent-Id")
}

// sessionKey finds the conversation's key in the request's metadata. user_id holds one only in two formats:
// user_…_session_KEY, or JSON with a session_id. Otherwise it names a person, who may have many conversations.
func (d *decoder) sessionKey(metadata rawjson.Span) (key string) {
	at := rawjson.Member(d.Body, metadata, "user_id")
	if at.KindOf(d.Body) != '"' {
		return ""
	}
	id := d.Own(at)
	if inner := []byte(id); strings.HasPrefix(id, "{") {
		rawjson.Said(inner, rawjson.Member(inner, rawjson.Whole(inner), "session_id"), &key)
		return key
	}
	_, key, _ = strings.Cut(id, "_session_")
	return key
}
