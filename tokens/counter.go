package tokens

import "github.com/stet-dev/stet/prices"

// Counter counts the tokens of a text. It never returns less than 0, and may
// be used by many at once.
type Counter interface {
	Count(text string) int
}

// EstimateFor returns the fast estimate for the model of that name: made for
// its vocabulary where that is public, and scaled to what it is known to take
// where it is not.
func EstimateFor(model string) Counter {
	m, _ := prices.Lookup(model)
	return Estimate{CL100k: m.Vocabulary == prices.VocabularyCL100k, Scale: m.Scale}
}
