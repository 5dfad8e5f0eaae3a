package tokens

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Calibration learns from a model's real prompt sizes how to correct the estimate: size = fixed + slope · estimate. The fixed part
// is in every request but not in the estimate (tools and system prompt of a recorded session, the provider's own preamble). The
// zero value does not change the estimate.
//
// The slope is the weighted median of the real growth for one token of estimated growth between two requests of one conversation,
// in which the fixed part cancels out. It is no greater than the median of real sizes for one estimated token, because the fixed part
// is not negative. The fixed part is the median of the remaining difference. Both use only the newest
// observations, and one odd observation among several changes neither. The same observations in the same order give the same calibration.
//
// A Calibration must not be used concurrently.
type Calibration struct {
	growth []pair // estimated and real growth, the newest last
	sizes  []pair // estimated and real size
}

type pair struct{ Estimate, Real int }

// Limits of a Calibration: the number of observations, the smallest useful growth, and the allowed slopes.
const (
	maxGrowth   = 64
	maxSizes    = 32
	minGrowth   = 64
	minSlope    = 0.5
	maxSlope    = 3.0
	priorWeight = 1000 // weight of the initial slope 1, in tokens of growth
)

// Grow records that the real size of a conversation's prompt grew by real
// tokens while its estimate grew by estimate tokens. Shrinking and small
// growth are ignored.
func (c *Calibration) Grow(estimate, real int) {
	if estimate < minGrowth || real <= 0 {
		return
	}
	c.growth = push(c.growth, pair{estimate, real}, maxGrowth)
}

// Observe records the estimate and the real size of one prompt.
func (c *Calibration) Observe(estimate, real int) {
	if estimate < 0 || real <= 0 {
		return
	}
	c.sizes = push(c.sizes, pair{estimate, real}, maxSizes)
}

func push(list []pair, p pair, limit int) []pair {
	if len(list) == limit {
		list = append(list[:0:0], list[1:]...)
	}
	return append(list, p)
}

// Slope returns the number of real tokens for one estimated token.
func (c *Calibration) Slope() float64 {
	type sample struct {
		ratio  float64
		weight int
	}
	samples := []sample{{1, priorWeight}}
	total := priorWeight
	for _, p := range c.growth {
		samples = append(samples, sample{float64(p.Real) / float64(p.Estimate), p.Estimate})
		total += p.Estimate
	}
	if len(c.growth) >= 8 { // enough to ignore the initial slope
		samples = samples[1:]
		total -= priorWeight
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.ratio, b.ratio) })
	seen := 0
	for _, s := range samples {
		if seen += s.weight; 2*seen >= total {
			return min(max(min(s.ratio, c.ratio()), minSlope), maxSlope)
		}
	}
	return 1
}

// ratio returns the median of real sizes for one estimated token; maxSlope if nothing was observed.
func (c *Calibration) ratio() float64 {
	var all []float64
	for _, p := range c.sizes {
		if p.Estimate > 0 {
			all = append(all, float64(p.Real)/float64(p.Estimate))
		}
	}
	if len(all) == 0 {
		return maxSlope
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// Fixed returns the part of a prompt's size that is not in the estimate, in tokens; never negative.
func (c *Calibration) Fixed() int {
	if len(c.sizes) == 0 {
		return 0
	}
	slope := c.Slope()
	rest := make([]float64, 0, len(c.sizes))
	for _, p := range c.sizes {
		rest = append(rest, float64(p.Real)-slope*float64(p.Estimate))
	}
	slices.Sort(rest)
	return max(0, int(rest[len(rest)/2]))
}

// Size returns the real size to expect for a prompt estimated at estimate
// tokens.
func (c *Calibration) Size(estimate int) int {
	return max(0, c.Fixed()+int(c.Slope()*float64(max(0, estimate))+0.5))
}

// Known reports whether anything was observed.
func (c *Calibration) Known() bool { return len(c.growth) > 0 || len(c.sizes) > 0 }

type calibrationJSON struct {
	Growth [][2]int `json:"growth,omitempty"` // estimated, real
	Sizes  [][2]int `json:"sizes,omitempty"`
}

// MarshalJSON writes the observations, so that a calibration can be stored.
func (c Calibration) MarshalJSON() ([]byte, error) {
	var out calibrationJSON
	for _, p := range c.growth {
		out.Growth = append(out.Growth, [2]int{p.Estimate, p.Real})
	}
	for _, p := range c.sizes {
		out.Sizes = append(out.Sizes, [2]int{p.Estimate, p.Real})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the output of MarshalJSON. Observations that Grow and Observe would ignore are left out.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var in calibrationJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	*c = Calibration{}
	for _, p := range in.Growth {
		c.Grow(p[0], p[1])
	}
	for _, p := range in.Sizes {
		c.Observe(p[0], p[1])
	}
	return nil
}

// Meter follows the size of one conversation. After the first answer it starts from the last reported size and estimates only what
// is new.
type Meter struct {
	Calibration *Calibration // the model's calibration, shared by its conversations; nil: plain estimates

	estimate, real int // of the last reported prompt; 0, 0: none
}

// Observe records that a prompt estimated at estimate tokens was real tokens
// long (llm.Usage.Prompt).
func (m *Meter) Observe(estimate, real int) {
	if real <= 0 {
		return
	}
	if c := m.Calibration; c != nil {
		if m.real > 0 {
			c.Grow(estimate-m.estimate, real-m.real)
		}
		c.Observe(estimate, real)
	}
	m.estimate, m.real = estimate, real
}

// Size returns the real size to expect of the conversation's next prompt,
// estimated at estimate tokens.
func (m *Meter) Size(estimate int) int {
	c := m.Calibration
	if c == nil {
		c = new(Calibration)
	}
	if m.real == 0 {
		return c.Size(estimate)
	}
	return max(0, m.real+int(c.Slope()*float64(estimate-m.estimate)))
}
