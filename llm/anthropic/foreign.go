package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// maxName is the longest tool name that the API accepts, in bytes.
const maxName = 128

var (
	saidTypes   = []string{"document", "search_result", "container_upload"} // besides images
	answerTypes = []string{"server_tool_use", "mcp_tool_use", "compaction", "container_upload", "fallback"}
	imageTypes  = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	opaqueKeys  = [2]string{"type", "source"}
)

// native returns the opaque part p in a form that this API accepts from role: unchanged, as an image, or as text. A part that is
// not JSON stays unchanged.
func native(role llm.Role, p llm.Part) llm.Part {
	var f [2]rawjson.Span
	b := []byte(p.Raw)
	s := rawjson.New(b)
	s.Object(opaqueKeys[:], f[:])
	if s.End() != nil && !json.Valid(b) {
		return p
	}
	typ, said := string(rawjson.Word(b, f[0])), role == llm.User || role == llm.Tool
	switch {
	case said && (typ == "image" && f[1].KindOf(b) == '{' || slices.Contains(saidTypes, typ)):
		return p
	case role == llm.Assistant && (strings.HasSuffix(typ, "_tool_result") || slices.Contains(answerTypes, typ)):
		return p
	case said:
		if image, ok := llm.ImageOf(p.Raw); ok && (image.Data == "" || slices.Contains(imageTypes, image.MediaType)) {
			return llm.Part{Kind: llm.Opaque, Raw: imageBlock(image)}
		}
	}
	return llm.InWords(p.Raw, typ)
}

func imageBlock(i llm.Image) string {
	var w rawjson.Writer
	w.Open('{')
	w.Member("type", "image")
	w.Key("source")
	w.Open('{')
	if i.Data == "" {
		w.Member("type", "url")
		w.Member("url", i.URL)
	} else {
		w.Member("type", "base64")
		w.Member("media_type", i.MediaType)
		w.Member("data", i.Data)
	}
	w.Close('}')
	w.Close('}')
	b, _ := w.Bytes() // it holds only strings, so there is no error
	return string(b)
}
