package proxy

import (
	"net/http"
	"slices"
	"strings"
)

// The providers with an upstream of their own by default.
const (
	anthropicOwner = "Anthropic"
	openaiOwner    = "OpenAI"
	googleOwner    = "Google"
)

// keyForms are the beginnings of keys that say whose they are, as the providers document them. Keys that only begin with "sk-" are of many
// providers.
var keyForms = []struct{ prefix, owner string }{
	{"sk-ant-", anthropicOwner},
	{"sk-proj-", openaiOwner}, {"sk-svcacct-", openaiOwner}, {"sk-admin-", openaiOwner},
	{"AIza", googleOwner}, {"AQ.Ab", googleOwner}, {"ya29.", googleOwner},
	{"sk-or-", "OpenRouter"}, {"gsk_", "Groq"}, {"xai-", "xAI"}, {"pplx-", "Perplexity"}, {"csk-", "Cerebras"}, {"nvapi-", "NVIDIA"},
	{"fw_", "Fireworks"}, {"tgp_", "Together"}, {"r8_", "Replicate"}, {"hf_", "Hugging Face"}, {"vck_", "Vercel"}, {"dapi", "Databricks"},
	{"ghp_", "GitHub"}, {"gho_", "GitHub"}, {"ghu_", "GitHub"}, {"ghs_", "GitHub"}, {"github_pat_", "GitHub"},
	{"ABSK", "Amazon"}, {"bedrock-api-key-", "Amazon"}, {"AWS4-", "Amazon"},
}

// openaiMark is in every key of OpenAI, also in the older ones that begin with "sk-".
const openaiMark = "T3BlbkFJ"

// keyHeaders are the headers in which clients send keys, with the provider that alone reads the header; "": several do.
var keyHeaders = []struct{ name, owner string }{
	{"Authorization", ""}, {"X-Api-Key", anthropicOwner}, {"X-Goog-Api-Key", googleOwner}, {"Api-Key", "Azure"},
}

// ownerOf returns whose a key is, or "" if its form does not say it. A scheme ("Bearer") may be before it.
func ownerOf(key string) string {
	if scheme, rest, ok := strings.Cut(strings.TrimSpace(key), " "); ok && strings.EqualFold(scheme, "Bearer") {
		key = rest
	}
	key = strings.TrimSpace(key)
	for _, f := range keyForms {
		if strings.HasPrefix(key, f.prefix) {
			return f.owner
		}
	}
	if strings.HasPrefix(key, "sk-") && strings.Contains(key, openaiMark) {
		return openaiOwner
	}
	return ""
}

// stranger returns whose key a request carries, if it is not one of owner's; "" if there is no such key.
func stranger(r *http.Request, owner string) string {
	var all []string
	add := func(key, usual string) {
		if of := ownerOf(key); of != "" {
			usual = of
		}
		if usual != "" && usual != owner {
			all = append(all, usual)
		}
	}
	for _, h := range keyHeaders {
		usual := h.owner
		if h.name == "X-Api-Key" && r.Header.Get("Authorization") != "" {
			usual = "" // it may be a placeholder next to the key
		}
		for _, v := range r.Header.Values(h.name) {
			if v != "" {
				add(v, usual)
			}
		}
	}
	for _, v := range r.URL.Query()["key"] {
		add(v, googleOwner)
	}
	for _, v := range r.Header.Values("Sec-WebSocket-Protocol") { // how a browser sends a key
		for protocol := range strings.SplitSeq(v, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(protocol), "openai-insecure-api-key."); ok {
				add(key, openaiOwner)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.Min(all)
}
