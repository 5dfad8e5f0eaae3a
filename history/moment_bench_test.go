package history

import "testing"

// BenchmarkMoment is a conversation of 1 MB at a moment: what is added to a
// plan by eliding.
func BenchmarkMoment(b *testing.B) {
	c := history1MB()
	for _, policy := range []Policy{Lossless, Adaptive, Bold} {
		f := newEngine(b, Config{Policy: policy}).Fold()
		f.Add(c.messages...)
		b.Run(string(policy), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Cold(Gap)
			}
		})
	}
}

// BenchmarkTail adds a call and its result to a conversation of 1 MB, and
// plans.
func BenchmarkTail(b *testing.B) {
	for name, config := range map[string]Config{
		"adaptive": {}, "margin": {Policy: Bold, Price: Price{0.1, 1.25}},
	} {
		b.Run(name, func(b *testing.B) {
			c := history1MB()
			f := newEngine(b, config).Fold()
			f.Add(c.messages...)
			f.Cold(Gap)
			n := len(c.messages)
			for range 2000 {
				c.call("terminal-execute", map[string]any{"command": "go vet ./..."}, "no trouble")
			}
			b.ReportAllocs()
			for i := n; b.Loop() && i+2 <= len(c.messages); i += 2 {
				f.Add(c.messages[i : i+2]...)
				if len(f.Plan().Edits) == 0 {
					b.Fatal("nothing left out")
				}
			}
		})
	}
}
