package dialect

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// history returns a conversation of 500 calls and their results, 1 MB in all, in the forms of all agents.
func history() []exchange {
	r := rand.New(rand.NewPCG(3, 4))
	f := written{ended: true}
	for i := range 60 {
		f.lines = append(f.lines, fmt.Sprintf("\treturn someFunction(argument%d, another.Value) // line", i))
	}
	var out []exchange
	size := 0
	for size < 1<<20 || len(out) < 500 {
		s := &renderers[r.IntN(len(renderers))]
		x := exchange{}
		if len(out)%3 == 0 {
			x = exchange{name: "bash", args: `{"command":"go test ./...","description":"run"}`, text: "ok  \tp\t0.1s\n"}
		} else {
			x.name, x.args, x.text = s.show(f, 0, 0)
		}
		size += len(x.text)
		out = append(out, x)
	}
	return out
}

func BenchmarkHistory(b *testing.B) {
	all := history()
	size := 0
	actions := make([]Action, len(all))
	for i, x := range all {
		size += len(x.text)
		actions[i] = Default().Action(x.name, x.args)
	}
	b.Run("actions", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, x := range all {
				Default().Action(x.name, x.args)
			}
		}
	})
	b.Run("results", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(size))
		for b.Loop() {
			for i, x := range all {
				Default().Result(actions[i], x.text, false)
			}
		}
	})
	b.Logf("%d calls, %d bytes of results", len(all), size)
}

func BenchmarkShellAction(b *testing.B) {
	const args = `{"cmd":"cd /home/me/project && sed -n '10,200p' src/store.go && sed -n '1,20p' src/main.go"}`
	b.ReportAllocs()
	for b.Loop() {
		Default().Action("exec_command", args)
	}
}
