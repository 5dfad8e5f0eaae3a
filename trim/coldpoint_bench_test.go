package trim

import "testing"

// BenchmarkColdPoint measures what eviction adds to a plan: it plans a conversation of 1 MB at a cold point.
func BenchmarkColdPoint(b *testing.B) {
	c := history1MB()
	for _, policy := range []Policy{Lossless, Adaptive, Bold} {
		st := newEngine(b, Config{Policy: policy}).NewState()
		st.Add(c.messages...)
		b.Run(string(policy), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				st.Cold(Gap, 0)
			}
		})
	}
}

// BenchmarkTail adds a call and its result to a conversation of 1 MB, and plans.
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
			var st *State
			at := len(c.messages)
			b.ReportAllocs()
			for b.Loop() {
				if at == len(c.messages) { // begin again before the added messages outweigh the others
					b.StopTimer()
					st = newEngine(b, config).NewState()
					st.Add(c.messages[:n]...)
					st.Cold(Gap, 0)
					at = n
					b.StartTimer()
				}
				st.Add(c.messages[at : at+2]...)
				at += 2
				if len(st.Plan().Edits) == 0 {
					b.Fatal("nothing left out")
				}
			}
		})
	}
}
