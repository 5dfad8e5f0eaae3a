package openai

import (
	"github.com/stet-dev/stet/llm"
)

// session finds the keys of the conversation and the sub-agent. A header of the agent comes before the key in the body. If a
// session has threads, a thread other than the session's own is the sub-agent.
func session(header func(string) string, req *llm.Request) (conversation, agent string) {
	conversation = llm.FirstHeader(header, "Session-Id", "Session_id", "X-Session-Id", "X-Session-Affinity", "Conversation_id")
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
