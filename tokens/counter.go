package tokens

import (
	"fmt"

	"github.com/stet-dev/stet/internal/bpe"
	"github.com/stet-dev/stet/prices"
)

// Counter counts the tokens of a text. It never returns less than 0, and may
// be used by many at once.
type Counter interface {
	Count(text string) int
}

// Exact returns the counter of a public vocabulary: "o200k_base" or
// "cl100k_base" (prices.VocabularyO200k, prices.VocabularyCL100k). It is loaded
// at the first count. Text that looks like a special token is counted as text.
func Exact(vocabulary string) (Counter, error) {
	switch vocabulary {
	case prices.VocabularyO200k:
		return bpe.O200k(), nil
	case prices.VocabularyCL100k:
		return bpe.CL100k(), nil
	}
	return nil, fmt.Errorf("no public vocabulary %q", vocabulary)
}

// ForModel returns the best counter for the model of that name: the exact one
// where its vocabulary is public, else the estimate.
func ForModel(model string) Counter {
	m, _ := prices.Lookup(model)
	if c, err := Exact(m.Vocabulary); err == nil {
		return c
	}
	return Estimate{Scale: m.Scale}
}

// EstimateFor returns the fast estimate for the model of that name: made for
// its vocabulary where that is public, and scaled to what it is known to take
// where it is not.
func EstimateFor(model string) Counter {
	m, _ := prices.Lookup(model)
	return Estimate{CL100k: m.Vocabulary == prices.VocabularyCL100k, Scale: m.Scale}
}
