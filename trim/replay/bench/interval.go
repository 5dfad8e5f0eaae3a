package bench

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// drawCount is how often the repositories are drawn. The draws are the same in each run.
const drawCount = 1000

// draws are samples of the clusters of some sessions, as many as there are, drawn with replacement.
// Sessions of one repository have much in common: they are one cluster.
type draws struct {
	cluster  []int   // by session
	clusters int     //
	samples  [][]int // clusters
}

func newDraws(some []*played) draws {
	var d draws
	number := make(map[string]int)
	for _, p := range some {
		name := cmp.Or(p.about.Repository, p.file)
		if _, ok := number[name]; !ok {
			number[name] = len(number)
		}
		d.cluster = append(d.cluster, number[name])
	}
	d.clusters = len(number)
	if d.clusters == 1 {
		for i := range d.cluster {
			d.cluster[i] = i
		}
		d.clusters = len(some)
	}
	if d.clusters < 2 {
		return d
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range drawCount {
		sample := make([]int, d.clusters)
		for i := range sample {
			sample[i] = random.IntN(d.clusters)
		}
		d.samples = append(d.samples, sample)
	}
	return d
}

// fill fills in the interval of policy i: where the change of the bill lies in 95 of 100 draws. If there is one session alone, there is none.
func (d *draws) fill(f *Figures, some []*played, i int, regime func(*played) *regime) {
	if d.samples == nil {
		return
	}
	off, with := make([]float64, d.clusters), make([]float64, d.clusters)
	for n, p := range some {
		billed := billedSizes(regime(p))
		off[d.cluster[n]] += billed[0].Bill[RecordedRule]
		with[d.cluster[n]] += billed[i].Bill[RecordedRule]
	}
	rels := make([]float64, 0, len(d.samples))
	for _, sample := range d.samples {
		var a, b float64
		for _, c := range sample {
			a, b = a+off[c], b+with[c]
		}
		rels = append(rels, change(a, b))
	}
	slices.Sort(rels)
	n := len(rels)
	f.BillInterval = [2]float64{rels[n*25/1000], rels[n*975/1000-1]}
}
