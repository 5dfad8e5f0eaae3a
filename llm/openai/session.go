package openai

import (
	"github.com/stet-dev/stet/llm"
)

// session finds the keys of conversation and sub-agent. A header of the
// agent's own goes before the key in the body. Where a session has threads,
// the thread that is not the session's own is the sub-agent.
func session(header func(string) string, req *llm.Request) (conversation, agent string) {
	for _, name := range [...]string{"Session-Id", "Session_id", "X-Session-Id", "X-Session-Affinity", "Conversation_id"} {
		if conversation = header(name); conversation != "" {
			break
		}
	}
	if conversation == "" && req != nil {
		conversation = req.SessionKey
	}
	if thread := header("Thread-Id"); thread != conversation {
		agent = thread
	}
	if sub := header("X-Openai-Subagent"); agent == "" && sub != "" {
		agent = sub
	}
	return conversation, agent
}
