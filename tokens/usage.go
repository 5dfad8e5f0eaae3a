package tokens

import "github.com/stet-dev/stet/llm"

// FromUsage returns how many tokens a conversation holds after the answer that
// reported u: input, cache creation, cache read and output, each token once
// (the source's count_tokens_from_usage, CTX-1). u is in llm's form; the
// codecs bring each provider's to it, for they differ in what includes what.
func FromUsage(u llm.Usage) int { return u.Total() }
