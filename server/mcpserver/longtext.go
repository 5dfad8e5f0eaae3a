package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/rawjson"
)

// longText is the length, in bytes, from which this package encodes the text of a result itself, once. The SDK would encode the
// text and then process it four more times, each time together with the JSON around it.
const longText = 16 << 10

// setAside replaces a long text in a result by a random word, which does not occur elsewhere. writeResponse replaces the word by
// the text.
func (r *clientRequest) setAside(result mcp.Result) mcp.Result {
	call, _ := result.(*mcp.CallToolResult)
	if r == nil || call == nil || len(call.Content) != 1 {
		return result
	}
	content, ok := call.Content[0].(*mcp.TextContent)
	if !ok || len(content.Text) < longText {
		return result
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.text, r.word = content.Text, rand.Text()
	short := *call // the original may be delivered again
	short.Content = []mcp.Content{&mcp.TextContent{Text: r.word}}
	return &short
}

// writeResponse writes a response. If word is not empty, it replaces word by text, which setAside has removed.
func (c *connection) writeResponse(ctx context.Context, m *jsonrpc.Response, text, word string) error {
	if word == "" || m.Error != nil {
		return c.Connection.Write(ctx, m)
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(line, []byte(word))
	line = make([]byte, 0, len(line)+len(text)+len(text)/8)
	line = append(rawjson.AppendText(append(line, before...), text), after...)
	c.out.put(append(line, '\n'))
	return c.out.failed()
}
