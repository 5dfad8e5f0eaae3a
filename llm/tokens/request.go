package tokens

import "github.com/stet-dev/stet/llm"

// Tokens around the strings of a request: about the values of the public chat formats. Calibration corrects the difference.
const (
	perMessage = 4  // role and separators
	perCall    = 8  // the frame of a tool call with its id
	perResult  = 6  // the frame of a tool result
	perTool    = 12 // the frame of a tool's description

	// An opaque part longer than opaqueText bytes counts as an image or a document, whose size in bytes says little.
	opaqueText = 4096
	opaqueSize = 1600
)

// CountRequest returns the tokens of a request: its decoded strings, its tools' schemas, and a few tokens for every message.
// Readable thinking counts; a long opaque part (an image) counts as 1,600.
func CountRequest(r *llm.Request, c Counter) int {
	n := 0
	for _, t := range r.Tools {
		n += perTool + c.Count(t.Name) + c.Count(t.Description) + c.Count(string(t.Schema))
	}
	return n + CountMessages(r.Messages, c)
}

// CountMessages returns the tokens of the sent messages; local ones do not count.
func CountMessages(messages []llm.Message, c Counter) int {
	n := 0
	for i := range messages {
		n += CountMessage(&messages[i], c)
	}
	return n
}

// CountMessage returns the tokens of one message, 0 for a local one.
func CountMessage(m *llm.Message, c Counter) int {
	if m.Local {
		return 0
	}
	n := perMessage
	for i := range m.Parts {
		n += CountPart(&m.Parts[i], c)
	}
	return n
}

// CountPart returns the tokens of one part.
func CountPart(p *llm.Part, c Counter) int {
	switch p.Kind {
	case llm.ToolCall:
		return perCall + c.Count(p.Name) + c.Count(p.Args)
	case llm.ToolResult:
		return perResult + c.Count(p.Text)
	case llm.Opaque:
		if len(p.Raw) > opaqueText {
			return opaqueSize
		}
		return c.Count(p.Raw)
	}
	return c.Count(p.Text)
}
