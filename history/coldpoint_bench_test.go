package history

import "testing"

// BenchmarkMoment is a conversation of 1 MB at a moment: what is added to a
// plan by eliding.
func BenchmarkMoment(b *testing.B) {
	c := history1MB()
	for _, policy := range []Policy{Lossless, Adaptive, Bold} {
		f := newEngine(b, Config{Policy: policy}).NewState()
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
		"adaptive": {}, "bold": {Policy: Bold},
	} {
		b.Run(name, func(b *testing.B) {
			c := history1MB()
			n := len(c.messages)
			for range 1000 {
				c.call("terminal-execute", map[string]any{"command": "go vet ./..."}, "no trouble")
			}
			var f *State
			at := len(c.messages)
			b.ReportAllocs()
			for b.Loop() {
				if at == len(c.messages) { // begin again, before the tail outweighs the rest
					b.StopTimer()
					f = newEngine(b, config).NewState()
					f.Add(c.messages[:n]...)
					f.Cold(Gap)
					at = n
					b.StartTimer()
				}
				f.Add(c.messages[at : at+2]...)
				at += 2
				if len(f.Plan().Edits) == 0 {
					b.Fatal("nothing left out")
				}
			}
		})
	}
}
