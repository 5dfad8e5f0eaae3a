package trim

import (
	"fmt"
	"testing"
)

// history1MB returns a conversation of 1,000 messages and about 1 MB: reads of 40 files, some of them repeated, edits and
// commands.
func history1MB() *conv {
	c := &conv{clock: noon}
	for i := range 500 {
		name := fmt.Sprintf("src/file%d.go", i*7%40)
		switch i % 10 {
		case 3:
			c.call("filesystem-edit", map[string]any{"filePath": name, "searchContent": "a", "replaceContent": "b"}, "Edited.")
		case 7:
			c.call("terminal-execute", map[string]any{"command": "go test ./..."}, shown("out", 1, 40, 40))
		default:
			first := i * 13 % 200
			c.read(name, first+1, first+70, 400)
		}
	}
	return c
}

func BenchmarkPlan(b *testing.B) {
	c := history1MB()
	size := 0
	for _, m := range c.messages {
		size += len(m.Parts[0].Text) + len(m.Parts[0].Args)
	}
	for _, policy := range []Policy{KeepLatest, Lossless} {
		e := newEngine(b, Config{Policy: policy})
		b.Run(string(policy), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if p := e.Plan(c.messages); len(p.Edits) == 0 {
					b.Fatal("nothing left out")
				}
			}
		})
	}
}
