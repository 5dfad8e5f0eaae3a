package anthropic

import (
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Session implements llm.Codec. A header of the agent comes before the key in the body.
func (Messages) Session(header func(string) string, req *llm.Request) (conversation, agent string) {
	for _, name := range [...]string{"X-Claude-Code-Session-Id", "X-Session-Id", "X-Session-Affinity"} {
		if conversation = header(name); conversation != "" {
			break
		}
	}
	if conversation == "" && req != nil {
		conversation = req.SessionKey
	}
	return conversation, header("X-Claude-Code-Agent-Id")
}

var metadataKeys, userKeys = [1]string{"user_id"}, [1]string{"session_id"}

// sessionKey finds the conversation's key in the request's metadata. user_id holds one only in two formats:
// user_…_session_KEY, or JSON with a session_id. Otherwise it names a person, who may have many conversations.
func (d *decoder) sessionKey(meta rawjson.Span) string {
	if meta.KindOf(d.Body) != '{' {
		return ""
	}
	var at [1]rawjson.Span
	s := rawjson.At(d.Body, meta)
	if s.Object(metadataKeys[:], at[:]).IsZero() || at[0].KindOf(d.Body) != '"' {
		return ""
	}
	id := d.Own(at[0])
	if strings.HasPrefix(id, "{") {
		inner := []byte(id)
		at[0] = rawjson.Span{}
		s = rawjson.New(inner)
		if s.Object(userKeys[:], at[:]).IsZero() || at[0].KindOf(inner) != '"' {
			return ""
		}
		key, _ := rawjson.Unquote(at[0].Of(inner))
		return key
	}
	if _, key, ok := strings.Cut(id, "_session_"); ok {
		return key
	}
	return ""
}

var threadKeys = [2]string{"type", "previous_message_id"}

// thread reads the request's message thread.
func (d *decoder) thread(at rawjson.Span) (thread, previous string) {
	if at.KindOf(d.Body) != '{' {
		return "", ""
	}
	var f [2]rawjson.Span
	s := rawjson.At(d.Body, at)
	s.Object(threadKeys[:], f[:])
	return d.Own(f[0]), d.Own(f[1])
}
