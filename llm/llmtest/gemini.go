package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"

	"github.com/stet-dev/stet/llm"
)

// ChecksSignatures matches the models that sign calls and require the signatures back: generations 3 and later. Earlier models give
// their calls no ids.
var (
	ChecksSignatures = regexp.MustCompile(`^gemini-([3-9]|[1-9][0-9])\b`)
	givesNoIDs       = regexp.MustCompile(`^gemini-[12]\b`)
)

// geminiUsage counts as this API does: the prompt includes tokens read from the cache, and thinking is not part of the output.
func geminiUsage(u llm.Usage) object {
	out := object{
		"promptTokenCount": u.Prompt(), "candidatesTokenCount": u.Output - u.Reasoning, "totalTokenCount": u.Total(),
		"promptTokensDetails": []any{object{"modality": "TEXT", "tokenCount": u.Prompt()}},
	}
	if u.CacheRead > 0 {
		out["cachedContentTokenCount"] = u.CacheRead
	}
	if u.Reasoning > 0 {
		out["thoughtsTokenCount"] = u.Reasoning
	}
	return out
}

// GeminiSignature returns the signature of a single call. The order of keys in the arguments does not matter.
func GeminiSignature(name string, args []byte) string {
	var v any
	if json.Unmarshal(args, &v) == nil {
		if sorted, err := json.Marshal(v); err == nil {
			args = sorted
		}
	}
	sum := sha256.Sum256([]byte(name + "\x00" + string(args)))
	return base64.StdEncoding.EncodeToString(sum[:12])
}

// geminiParts returns the parts of an answer in the wire format. The first call has the signature of the thinking.
func geminiParts(a answer) []any {
	signs := ChecksSignatures.MatchString(a.Model)
	out := []any{}
	for _, p := range a.Message.Parts {
		switch {
		case p.Raw != "":
			out = append(out, rawObject(p.Raw))
		case p.Kind == llm.Thinking:
			out = append(out, object{"text": p.Text, "thought": true})
		case p.Kind == llm.ToolCall:
			call := object{"name": p.Name, "args": json.RawMessage(p.Args)}
			part := object{"functionCall": call}
			if !givesNoIDs.MatchString(a.Model) {
				call["id"] = p.CallID
			}
			if signs {
				part["thoughtSignature"], signs = GeminiSignature(p.Name, []byte(p.Args)), false
			}
			out = append(out, part)
		default:
			out = append(out, object{"text": p.Text})
		}
	}
	return out
}

// geminiAnswer returns an answer with these parts, or a chunk of one.
func geminiAnswer(a answer, parts []any, stop string) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if stop != "" {
		candidate["finishReason"] = stop
	}
	return object{
		"candidates": []any{candidate}, "usageMetadata": geminiUsage(a.Usage), "modelVersion": a.Model, "responseId": a.ID,
	}
}

func geminiWhole(a answer) []byte {
	return []byte(encode(geminiAnswer(a, geminiParts(a), a.stop("STOP", "STOP"))))
}

// geminiEvents streams texts in pieces and everything else at once. Without alt=sse in the query, the stream is one JSON array
// of the chunks.
func geminiEvents(a answer) []event {
	var chunks []string
	send := func(part object, stop string) { chunks = append(chunks, encode(geminiAnswer(a, []any{part}, stop))) }
	for _, p := range geminiParts(a) {
		part := p.(object)
		text, ok := part["text"].(string)
		if !ok {
			send(part, "")
			continue
		}
		for _, piece := range pieces(text, 24) {
			next := object{}
			for k, v := range part {
				next[k] = v
			}
			next["text"] = piece
			send(next, "")
		}
	}
	send(object{"text": ""}, a.stop("STOP", "STOP"))
	out := make([]event, len(chunks))
	for i, c := range chunks {
		if !a.array {
			out[i] = event{data: c}
			continue
		}
		before, after := ",\r\n", ""
		if i == 0 {
			before = "["
		}
		if i == len(chunks)-1 {
			after = "]"
		}
		out[i] = event{raw: before + c + after}
	}
	return out
}
