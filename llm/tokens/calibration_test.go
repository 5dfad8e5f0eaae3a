package tokens

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// CTX-1: the estimate is calibrated by the reported usage. The model takes 1.3 tokens for one estimated token, after 17,000 tokens
// of tools, with noise and some odd reports.
func TestCalibrationLearns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var c Calibration
	m := Meter{Calibration: &c}
	estimate := 2000
	real := func(e int) int { return 17000 + int(1.3*float64(e)) }
	for i := range 60 {
		estimate += 200 + rng.IntN(2000)
		r := real(estimate) + rng.IntN(41) - 20
		if i%10 == 9 {
			r *= 3 // a wrong report
		}
		if i > 20 && i%10 > 1 {
			want := float64(r)
			if i%10 == 9 {
				want = float64(real(estimate))
			}
			if off := float64(m.Size(estimate))/want - 1; math.Abs(off) > 0.02 {
				t.Errorf("request %d: size off by %.1f %%", i, 100*off)
			}
		}
		m.Observe(estimate, r)
	}
	if s := c.Slope(); s < 1.27 || s > 1.33 {
		t.Errorf("slope %v, want 1.3", s)
	}
	if f := c.Fixed(); f < 15500 || f > 18500 {
		t.Errorf("fixed part %d, want 17000", f)
	}
	// A new conversation starts from what the model's other conversations taught.
	fresh := Meter{Calibration: &c}
	if off := float64(fresh.Size(20000))/float64(real(20000)) - 1; math.Abs(off) > 0.05 {
		t.Errorf("a new conversation is off by %.1f %%", 100*off)
	}
}

// CTX-1: where the estimate is too large, the first estimate of the next conversation is not.
func TestCalibrationTooLarge(t *testing.T) {
	var c Calibration
	m := Meter{Calibration: &c}
	m.Observe(21_650, 11_667)
	fresh := Meter{Calibration: &c}
	for estimate, want := range map[int]int{21_650: 11_667, 43_300: 23_334} {
		if got := fresh.Size(estimate); math.Abs(float64(got-want)) > 2 {
			t.Errorf("Size(%d) = %d, want %d", estimate, got, want)
		}
	}
	if got := m.Size(23_650); math.Abs(float64(got)-12_745) > 2 {
		t.Errorf("the next request: %d", got)
	}
	m.Observe(100, 100) // a small one changes nothing
	if s := c.Slope(); s > 1 {
		t.Error(s)
	}
}

func TestCalibrationZero(t *testing.T) {
	var c Calibration
	if c.Known() || c.Size(1234) != 1234 || c.Slope() != 1 || c.Fixed() != 0 || c.Size(-5) != 0 {
		t.Errorf("the zero calibration: %v %v %v", c.Size(1234), c.Slope(), c.Fixed())
	}
	var m Meter
	m.Observe(100, 150)
	if got := m.Size(180); got != 230 {
		t.Errorf("Size = %d, want 230", got)
	}
	m.Observe(0, 0) // no usage was reported
	if got := m.Size(100); got != 150 {
		t.Errorf("Size = %d, want 150", got)
	}
	if got := m.Size(-1000000); got != 0 {
		t.Errorf("Size = %d, want 0", got)
	}
}

func TestCalibrationOneOddGrowth(t *testing.T) {
	var c Calibration
	for range 20 {
		c.Grow(1000, 1200)
	}
	c.Grow(5000, 900000)
	c.Grow(-100, 50)
	if s := c.Slope(); s != 1.2 {
		t.Errorf("slope %v, want 1.2", s)
	}
}

func TestCalibrationJSON(t *testing.T) {
	var c Calibration
	for i := range 100 {
		c.Grow(100+i, 130+i)
		c.Observe(1000+i, 5000+i)
	}
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var d Calibration
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	if d.Slope() != c.Slope() || d.Fixed() != c.Fixed() || len(d.growth) != maxGrowth || len(d.sizes) != maxSizes {
		t.Errorf("%v %v after %v %v", d.Slope(), d.Fixed(), c.Slope(), c.Fixed())
	}
	again, _ := json.Marshal(d)
	if string(again) != string(out) {
		t.Errorf("%s after %s", again, out)
	}
	if err := json.Unmarshal([]byte(`{"growth":[[1]],"sizes":[[-4,3],[2,-1]]}`), &d); err != nil || d.Known() {
		t.Errorf("%v, %+v", err, d)
	}
	if err := json.Unmarshal([]byte(`{"growth":"x"}`), &d); err == nil {
		t.Error("damaged data was accepted")
	}
}
