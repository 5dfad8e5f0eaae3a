// Package exact counts tokens exactly, in the public vocabularies. It is separate from package tokens because the vocabularies add
// two megabytes to a program.
package exact

import (
	"fmt"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/llm/tokens/bpe"
)

// Counter returns the counter of a public vocabulary: "o200k_base" or
// "cl100k_base" (prices.VocabularyO200k, prices.VocabularyCL100k). It is loaded
// at the first count. Text that looks like a special token is counted as text.
func Counter(vocabulary string) (tokens.Counter, error) {
	switch vocabulary {
	case prices.VocabularyO200k:
		return bpe.O200k(), nil
	case prices.VocabularyCL100k:
		return bpe.CL100k(), nil
	}
	return nil, fmt.Errorf("no public vocabulary %q", vocabulary)
}

// ForModel returns the best counter for the named model: the exact one if its vocabulary is public, otherwise the estimate.
func ForModel(model string) tokens.Counter {
	m, _ := prices.Lookup(model)
	if c, err := Counter(m.Vocabulary); err == nil {
		return c
	}
	return tokens.Estimate{Scale: m.Scale}
}
