package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Limits of the APIs for names and call ids, in bytes.
const (
	maxName        = 64
	maxChatID      = 40
	maxResponsesID = 64
)

var imageKeys = [2]string{"type", "image_url"}

// opaque reads the type of a part and the kind of its image_url, which show whether the part is the API's own. ok is false if raw is not JSON.
func opaque(raw string) (typ string, image rawjson.Kind, ok bool) {
	var f [2]rawjson.Span
	b := []byte(raw)
	s := rawjson.New(b)
	s.Object(imageKeys[:], f[:])
	return string(rawjson.Word(b, f[0])), f[1].KindOf(b), s.End() == nil || json.Valid(b)
}

// chatNative returns the parts of a message of role in a form that Chat Completions accepts: an opaque part stays, becomes an
// image, or becomes text. A part that is not JSON stays.
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

// translated returns parts with word applied to the opaque ones.
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

// isAnswered reports whether a part of type typ is content of an answer.
func isAnswered(typ string) bool { return typ == "refusal" || strings.HasPrefix(typ, "output_") }

var itemTypes = []string{
	"compaction", "compaction_summary", "context_compaction", "item_reference", "mcp_list_tools", "mcp_approval_request",
}

// isItem reports whether typ is the type of an answer's item.
func isItem(typ string) bool {
	return strings.HasSuffix(typ, "_call") || slices.Contains(itemTypes, typ) || isOutput(typ)
}

// isOutput reports whether typ is the type of an item that answers another item.
func isOutput(typ string) bool {
	return strings.HasSuffix(typ, "_output") || typ == "mcp_approval_response"
}

// named returns the name of a called tool in a form that can be sent. Names of offered tools stay, because the endpoint accepts them.
func named(name string, offered map[string]bool) string {
	if offered[name] {
		return name
	}
	return llm.LegalName(name, maxName)
}
