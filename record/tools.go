package record

import "time"

// ToolSet says which tools a request offers to the model. Many requests offer the same tools.
type ToolSet struct {
	ID    uint64 // a hash of Tools; Request.ToolSet names it
	Tools []OfferedTool
}

// OfferedTool is a tool that a request offers.
type OfferedTool struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"` // estimated size of name, description and schema; 0: they are not sent before the model searches for the tool
}

// ToolCalls says how often a conversation called a tool. The key is Conversation, Agent and Tool together.
type ToolCalls struct {
	Conversation, Agent, Tool string

	Time  time.Time // when Calls was counted; stores keep microseconds, in UTC
	Calls int       // the largest number that was counted
}
