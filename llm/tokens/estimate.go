package tokens

import _ "embed" // the tables

// The tables have the average number of tokens of the pieces of each cell, in 1/unit tokens: two bytes for a cell, the low one first.
// fit_test.go makes them.
var (
	//go:embed estimate_o200k.table
	tableO200k string
	//go:embed estimate_cl100k.table
	tableCL100k string
)

// Estimate counts by the characters only, without a vocabulary: it adds the tokens that pieces of the same kind and length have on the
// average. The zero value estimates for o200k_base, whose counts are closest to
// those of most models.
type Estimate struct {
	CL100k bool    // estimate for cl100k_base
	Scale  float64 // real tokens for one estimated token; 0: 1
}

// unit is the table's value for one token.
const unit = 1024

// Count implements Counter. A text that is not empty has at least one token.
func (e Estimate) Count(text string) int {
	if text == "" {
		return 0
	}
	table := tableO200k
	if e.CL100k {
		table = tableCL100k
	}
	sc := scanner{s: text, humps: !e.CL100k}
	sum := 0
	for i := 0; i < len(text); {
		c, end := sc.next(i)
		if c < 0 {
			sum += unit
		} else {
			sum += int(table[2*c]) | int(table[2*c+1])<<8
		}
		i = end
	}
	if e.Scale > 0 {
		sum = int(float64(sum) * e.Scale)
	}
	return max(1, (sum+unit/2)/unit)
}
