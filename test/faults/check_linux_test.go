package faults

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// checkTime limits the search for an order of a history.
const checkTime = time.Minute

// logModel is the log of one session. Its state is a text: all values, with a comma after each. An append is made if the log has
// as many events as the client expected.
var logModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		o, log := input.(operation), state.(string)
		length := uint64(strings.Count(log, ",")) + 1 // including the opening
		switch {
		case !o.append:
			return log == joined(o.values), state
		case o.status == stale:
			return length != o.after, state
		default:
			return length == o.after, log + o.value + ","
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

func joined(values []string) string {
	var s strings.Builder
	for _, v := range values {
		s.WriteString(v + ",")
	}
	return s.String()
}

// linearizable returns an error if the history of a session is not the history of a log that ends with the values in final. An
// append with unknown result counts as made, at some time after its start, if its value is in final.
func linearizable(history []operation, final []string) error {
	if len(history) == 0 {
		return nil
	}
	begin := history[0].begin
	for _, o := range history {
		if o.begin.Before(begin) {
			begin = o.begin
		}
	}
	var operations []porcupine.Operation
	add := func(o operation, from, to int64) {
		operations = append(operations, porcupine.Operation{ClientId: o.client, Input: o, Call: from, Return: to})
	}
	for _, o := range history {
		from, to := o.begin.Sub(begin).Nanoseconds(), o.end.Sub(begin).Nanoseconds()
		if o.append && o.status == unknown {
			if !slices.Contains(final, o.value) {
				continue
			}
			to = math.MaxInt64 - 2
		}
		add(o, from, to)
	}
	add(operation{values: final}, math.MaxInt64-1, math.MaxInt64)
	return decided(porcupine.CheckOperationsTimeout(logModel, operations, checkTime), len(operations))
}

func decided(result porcupine.CheckResult, operations int) error {
	switch result {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("whether %d operations have an order was not decided within %v", operations, checkTime)
	}
	return fmt.Errorf("%d operations have no order in which a log would have answered so", operations)
}

// fileStep is a write to a file, or a read of it.
type fileStep struct {
	line  string   // the line that was added; "": it is a read
	lines []string // the lines that were read
}

// fileModel is a file: the set of the lines that agents have added. Each is added once.
var fileModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		s, file := input.(fileStep), state.(string)
		if s.line == "" {
			return file == joined(slices.Sorted(slices.Values(s.lines))), state
		}
		lines := append(strings.Split(strings.TrimSuffix(file, ","), ","), s.line)
		slices.Sort(lines)
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
		return true, joined(lines)
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// ordered returns an error if the history of a file is not the history of a file that ends with the lines in final.
func ordered(writes []*write, reads []reading, final []string) error {
	var operations []porcupine.Operation
	begin := time.Time{}
	at := func(t time.Time) int64 {
		if begin.IsZero() {
			begin = t.Add(-time.Hour)
		}
		return t.Sub(begin).Nanoseconds()
	}
	for _, w := range writes {
		o := porcupine.Operation{Input: fileStep{line: w.line}, Call: at(w.begin), Return: at(w.end)}
		if !w.acknowledged {
			if !slices.Contains(final, w.line) {
				continue
			}
			o.Return = math.MaxInt64 - 2
		}
		operations = append(operations, o)
	}
	for _, r := range reads {
		operations = append(operations, porcupine.Operation{Input: fileStep{lines: r.lines}, Call: at(r.begin), Return: at(r.end)})
	}
	operations = append(operations, porcupine.Operation{Input: fileStep{lines: final}, Call: math.MaxInt64 - 1, Return: math.MaxInt64})
	return decided(porcupine.CheckOperationsTimeout(fileModel, operations, checkTime), len(operations))
}

// check checks the history of each session.
func (w *writers) check(t testing.TB) {
	t.Helper()
	s := w.open(nodes)
	defer s.Close()
	for _, id := range w.sessions {
		final, ok := w.read(0, s, id)
		if !ok {
			t.Errorf("session %s cannot be read at the end", id)
			continue
		}
		var history []operation
		for _, o := range w.history {
			if o.session == id {
				history = append(history, o)
			}
		}
		if err := linearizable(history, final); err != nil {
			t.Errorf("session %s: %v", id, err)
			for _, o := range history {
				t.Logf("%s to %s %+v", o.begin.Format("05.000000"), o.end.Format("05.000000"), o)
			}
		}
	}
}

// check checks in the files and in the trail that each acknowledged write was done once, and each other write at most once.
func (a *agents) check(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	trail, err := store.Open(ctx, a.c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	entries, err := trail.Entries(ctx, record.TrailQuery{Root: a.c.tree})
	if err != nil {
		t.Fatal(err)
	}
	inTrail := map[string]int{}
	for _, e := range entries {
		if e.Kind == record.Outcome && e.Outcome == record.OK {
			inTrail[e.CallID]++
		}
	}
	inFiles := map[string]int{}
	for _, file := range a.files {
		final := a.onDisk(t, file)
		for _, line := range final {
			inFiles[file+" "+line]++
		}
		var writes []*write
		for _, w := range a.writes {
			if w.file == file {
				writes = append(writes, w)
			}
		}
		reads := slices.DeleteFunc(slices.Clone(a.reads), func(r reading) bool { return r.file != file })
		if err := ordered(writes, reads, final); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, w := range a.writes {
		n, m := inFiles[w.file+" "+w.line], 0
		for call, times := range inTrail {
			if hasSuffix(call, w.session+"/"+w.call) {
				m += times
			}
		}
		switch {
		case w.acknowledged && (n != 1 || m != 1):
			t.Errorf("%q was acknowledged, and is %d times in the file and %d times in the trail:\n%s", w.line, n, m, strings.Join(w.said, "\n"))
		case n > 1 || m > 1 || n != m:
			t.Errorf("%q is %d times in the file and %d times in the trail:\n%s", w.line, n, m, strings.Join(w.said, "\n"))
		case w.refused && n > 0:
			t.Errorf("%q was written, though each answer said that it was not:\n%s", w.line, strings.Join(w.said, "\n"))
		}
	}
	for _, hung := range a.hung {
		t.Error(hung)
	}
	verdict, err := record.Verify(ctx, trail)
	if err != nil || verdict.Broken != nil {
		t.Errorf("the trail: %+v, %v", verdict.Broken, err)
	}
}

// hasSuffix reports whether name, a name of the gateway, stands for the name that a client gave itself. The gateway puts the name
// of the token in front of it.
func hasSuffix(name, own string) bool {
	return name == own || strings.HasSuffix(name, "/"+own) || strings.HasSuffix(name, "-"+own) || strings.HasSuffix(name, ":"+own)
}

// longestGap returns the longest time between two successive times. from and to are the first and the last.
func longestGap(from, to time.Time, times []time.Time) time.Duration {
	times = slices.SortedFunc(slices.Values(append(times, to)), time.Time.Compare)
	longest := time.Duration(0)
	for _, t := range times {
		if t.After(from) {
			longest, from = max(longest, t.Sub(from)), t
		}
	}
	return longest
}
