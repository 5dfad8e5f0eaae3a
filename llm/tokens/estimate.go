package tokens

// Estimate counts by the characters only, without a vocabulary. A table has the average number of tokens of text pieces of each
// kind and length (estimate_table.go, fitted by fit_test.go). The zero value estimates for o200k_base, whose counts are closest to
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
	table := &tableO200k
	if e.CL100k {
		table = &tableCL100k
	}
	sc := scanner{s: text, humps: !e.CL100k}
	sum := 0
	for i := 0; i < len(text); {
		c, end := sc.next(i)
		if c < 0 {
			sum += unit
		} else {
			sum += int(table[c])
		}
		i = end
	}
	if e.Scale > 0 {
		sum = int(float64(sum) * e.Scale)
	}
	return max(1, (sum+unit/2)/unit)
}
