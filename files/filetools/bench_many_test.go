package filetools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
)

// BenchmarkManyEdits measures one call of edit_file with many edits.
func BenchmarkManyEdits(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bench := newBench(b, Config{}, workspace.Options{})
			var text strings.Builder
			var edits []map[string]any
			for i := range n {
				fmt.Fprintf(&text, "line %06d of the file\nthis line stays\n\n", i)
				edits = append(edits, map[string]any{"old_text": fmt.Sprintf("line %06d", i), "new_text": fmt.Sprintf("row %06d", i)})
			}
			call := args("path", "f", "edits", edits)
			for b.Loop() {
				bench.put("f", text.String())
				if o := bench.op("edit_file", call); !o.Success {
					b.Fatalf("%.500s", o.Error)
				}
			}
		})
	}
}
