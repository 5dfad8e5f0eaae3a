package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Keys of a request, and of the params of a tools/call; those from the third
// on say that there is more to the call.
var (
	requestKeys = []string{"jsonrpc", "id", "method", "params"}
	callKeys    = []string{"name", "arguments", "_meta", "requestState", "inputResponses"}
)

// plain finds what to call in a tools/call that says nothing else. Most say
// nothing else, and it takes a fraction of the time that decoding does. Of any
// other line there are no params, whatever is in it. What is returned is part
// of the line.
func plain(line []byte) (id json.RawMessage, _ *mcp.CallToolParamsRaw) {
	var request [4]rawjson.Span
	var call [5]rawjson.Span
	s := rawjson.New(line)
	s.Object(requestKeys, request[:])
	if s.End() != nil || !rawjson.Is(line, request[0], "2.0") || !rawjson.Is(line, request[2], "tools/call") || request[3].IsZero() {
		return nil, nil
	}
	s = rawjson.At(line, request[3])
	s.Object(callKeys, call[:])
	if s.Err() != nil || !call[2].IsZero() || !call[3].IsZero() || !call[4].IsZero() {
		return nil, nil
	}
	id = request[1].Of(line)
	name, arguments := rawjson.Word(line, call[0]), call[1].Of(line)
	if !isID(id) || !json.Valid(id) || bytes.IndexByte(name, '\\') >= 0 || arguments != nil && !json.Valid(arguments) {
		return nil, nil
	}
	return id, &mcp.CallToolParamsRaw{Name: string(name), Arguments: arguments}
}
