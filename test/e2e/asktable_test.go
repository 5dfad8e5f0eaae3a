package e2e

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// table has what happened in the tests of questions: agent, kind of call, and how it was answered. "go test -v" prints it at the end.
var table struct {
	sync.Mutex
	cells map[[3]string]bool
}

// happened notes that a call was answered in a way, and that all came as it must.
func (r *asking) happened(call, how string) {
	r.t.Helper()
	if r.t.Failed() {
		return
	}
	table.Lock()
	defer table.Unlock()
	if table.cells == nil {
		table.cells = map[[3]string]bool{}
	}
	table.cells[[3]string{r.a.name, call, how}] = true
}

// printTable prints what happened, one row for each agent and kind of call.
func printTable(w io.Writer) {
	rows := map[[2]string][]string{}
	for c := range table.cells {
		key := [2]string{c[0], c[1]}
		rows[key] = append(rows[key], c[2])
	}
	for _, key := range slices.SortedFunc(maps.Keys(rows), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		slices.Sort(rows[key])
		fmt.Fprintf(w, "%s, %s: %q\n", key[0], key[1], rows[key])
	}
}
