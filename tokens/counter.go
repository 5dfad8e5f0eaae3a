package tokens

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer"

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
		return &o200k, nil
	case prices.VocabularyCL100k:
		return &cl100k, nil
	}
	return nil, fmt.Errorf("no public vocabulary %q", vocabulary)
}

// ForModel returns the best counter for the model of that name: the exact one
// where its vocabulary is public, else the estimate.
func ForModel(model string) Counter {
	if m, ok := prices.Lookup(model); ok && m.Vocabulary != "" {
		if c, err := Exact(m.Vocabulary); err == nil {
			return c
		}
	}
	return Estimate{}
}

// EstimateFor returns the fast estimate for the model of that name, made for
// its vocabulary where that is public.
func EstimateFor(model string) Counter {
	if m, ok := prices.Lookup(model); ok && m.Vocabulary == prices.VocabularyCL100k {
		return Estimate{CL100k: true}
	}
	return Estimate{}
}

// exact counts by a library, which keeps what it reads at the first use.
type exact struct {
	encoding tokenizer.Encoding
	once     sync.Once
	codec    tokenizer.Codec
}

var (
	o200k  = exact{encoding: tokenizer.O200kBase}
	cl100k = exact{encoding: tokenizer.Cl100kBase}
)

// Count implements Counter.
func (e *exact) Count(text string) int {
	e.once.Do(func() { e.codec, _ = tokenizer.Get(e.encoding) })
	if e.codec == nil {
		return Estimate{}.Count(text)
	}
	n, err := e.codec.Count(text)
	if err != nil {
		return Estimate{}.Count(text)
	}
	return n
}
