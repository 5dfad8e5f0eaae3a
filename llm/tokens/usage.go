package tokens

import "github.com/stet-dev/stet/llm"

// FromUsage returns the number of tokens of a conversation after the answer that reported u: input, cache creation, cache read and
// output, each token once. u is in llm's form; the codecs convert each
// provider's usage, because providers differ in which values include others.
func FromUsage(u llm.Usage) int { return u.Total() }
