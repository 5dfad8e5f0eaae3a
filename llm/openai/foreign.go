package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Limits of the APIs for names and call identities, in bytes.
const (
	maxName        = 64
	maxChatID      = 40
	maxResponsesID = 64
)

var imageKeys = [2]string{"type", "image_url"}

// opaque reads what tells whether a part is the API's own: its type, and what
// its image_url is. It is false if raw is no JSON.
func opaque(raw string) (typ string, image rawjson.Kind, ok bool) {
	var f [2]rawjson.Span
	b := []byte(raw)
	s := rawjson.New(b)
	s.Object(imageKeys[:], f[:])
	return string(rawjson.Word(b, f[0])), f[1].KindOf(b), s.End() == nil || json.Valid(b)
}

// chatNative returns the parts of a message of role as Chat Completions take
// them: an opaque one as it is, as an image of the API's own, or in words. What
// is no JSON stays.
func chatNative(role llm.Role, parts []llm.Part) []llm.Part {
	return translated(parts, func(p llm.Part) llm.Part {
		typ, image, ok := opaque(p.Raw)
		switch {
		case !ok:
			return p
		case role == llm.Assistant && typ == "refusal":
			return p
		case role == llm.User && (typ == "image_url" && image == '{' || typ == "input_audio" || typ == "file"):
			return p
		case role == llm.User:
			if i, ok := llm.ImageOf(p.Raw); ok {
				return llm.Part{Kind: llm.Opaque, Raw: `{"type":"image_url","image_url":{"url":` + quoted(i.Link()) + `}}`}
			}
		}
		return llm.InWords(p.Raw, typ)
	})
}

// responsesNative is chatNative for Responses.
func responsesNative(role llm.Role, parts []llm.Part) []llm.Part {
	return translated(parts, func(p llm.Part) llm.Part {
		typ, image, ok := opaque(p.Raw)
		switch {
		case !ok:
			return p
		case role == llm.Assistant && (isAnswered(typ) || isItem(typ)):
			return p
		case role == llm.User && (typ == "input_image" && image != '{' || typ == "input_file" || typ == "input_audio"):
			return p
		case role == llm.User:
			if i, ok := llm.ImageOf(p.Raw); ok {
				return llm.Part{Kind: llm.Opaque, Raw: `{"type":"input_image","image_url":` + quoted(i.Link()) + `}`}
			}
		}
		return llm.InWords(p.Raw, typ)
	})
}

// translated returns parts with what word makes of the opaque ones.
func translated(parts []llm.Part, word func(llm.Part) llm.Part) []llm.Part {
	out := parts
	for i, p := range parts {
		if p.Kind != llm.Opaque {
			continue
		}
		if now := word(p); now.Kind != p.Kind || now.Raw != p.Raw {
			if &out[0] == &parts[0] {
				out = slices.Clone(parts)
			}
			out[i] = now
		}
	}
	return out
}

// isAnswered reports whether parts of type typ are content of an answer.
func isAnswered(typ string) bool { return typ == "refusal" || strings.HasPrefix(typ, "output_") }

var itemTypes = []string{
	"compaction", "compaction_summary", "context_compaction", "item_reference", "mcp_list_tools", "mcp_approval_request",
}

// isItem reports whether typ is that of an item of an answer.
func isItem(typ string) bool {
	return strings.HasSuffix(typ, "_call") || slices.Contains(itemTypes, typ) || isOutput(typ)
}

// isOutput reports whether typ is that of an item that answers another.
func isOutput(typ string) bool {
	return strings.HasSuffix(typ, "_output") || typ == "mcp_approval_response"
}

// named returns the name of a tool that was called as it can be sent. What the
// request offers is taken by the endpoint already.
func named(name string, offered map[string]bool) string {
	if offered[name] {
		return name
	}
	return llm.LegalName(name, maxName)
}
