package tokens

import "github.com/stet-dev/stet/llm/prices"

// Counter counts the tokens of a text. It never returns less than 0, and may be used concurrently.
type Counter interface {
	Count(text string) int
}

// EstimateFor returns the fast estimate for the named model. It uses the table of the model's vocabulary if that is public.
// Otherwise it scales the result to the model's known average.
func EstimateFor(model string) Counter {
	m, _ := prices.Lookup(model)
	return Estimate{CL100k: m.Vocabulary == prices.VocabularyCL100k, Scale: m.Scale}
}
