package bench

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/test/replaytest/pointers"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// shapes are forms that sessions of other users may have.
var shapes = map[string]shape{
	"usual":             {steps: 20},
	"usual with gaps":   {steps: 40, gaps: true},
	"nothing":           {steps: 0},
	"one answer":        {steps: 1},
	"no tools":          {steps: 12, mute: true, gaps: true},
	"huge output":       {steps: 12, huge: 4000, gaps: true},
	"ids come again":    {steps: 30, twice: true, gaps: true},
	"results are lost":  {steps: 30, lose: true, gaps: true},
	"images":            {steps: 20, pictures: true, gaps: true},
	"sub-agents":        {steps: 20, sides: true, gaps: true},
	"compacted":         {steps: 40, compacts: true, gaps: true},
	"no times":          {steps: 30, timeless: true, compacts: true},
	"time goes back":    {steps: 30, backward: true, gaps: true, compacts: true},
	"no usage":          {steps: 30, silent: true, gaps: true},
	"unknown model":     {steps: 30, gaps: true, model: "nobody-knows-it"},
	"models in turn":    {steps: 40, gaps: true, models: 3},
	"spelled":           {steps: 90, gaps: true, spelled: true},
	"thinking":          {steps: 60, gaps: true, thinks: true, model: "claude-opus-4-6"},
	"models that think": {steps: 60, gaps: true, thinks: true, model: "claude-opus-4-6", models: 3},
	"Windows":           {steps: 90, gaps: true, windows: true},
	"all at once":       {steps: 40, gaps: true, models: 2, twice: true, lose: true, pictures: true, sides: true, compacts: true, backward: true, huge: 300},
}

// written writes a story in a format, and reads it back.
func written(t testing.TB, dir, format string, s *story) []*transcript.Session {
	t.Helper()
	files := formats[format](s)
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if s.windows {
			text = strings.ReplaceAll(text, "/home/me/project", `C:\\Users\\me\\project`)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all []*transcript.Session
	err := transcript.Opener{}.Walk([]string{dir}, func(path string, sessions []*transcript.Session, err error) error {
		all = append(all, sessions...)
		return err
	})
	if err != nil && !transcript.Skipped(err) {
		t.Fatal(err)
	}
	for _, session := range all {
		if session.Format != format || len(session.Damaged) > 0 {
			t.Fatalf("%s, written as %s: damaged %v", session.Format, format, session.Damaged)
		}
	}
	return all
}

// checkPromises checks the promises of lossless and adaptive on a session: no edit is lost, no pointer dangles, no cached byte changes,
// and the session is not dearer under any price rule. It returns how many tokens were left out, and how many there were.
func checkPromises(t interface {
	Helper()
	Errorf(string, ...any)
}, s *transcript.Session) (saved, of int64) {
	t.Helper()
	var policies []Policy
	for _, p := range []trim.Policy{trim.Off, trim.Lossless, trim.Adaptive} {
		ours, err := Ours(trim.Config{Policy: p})
		if err != nil {
			panic(err)
		}
		policies = append(policies, ours)
	}
	thinks := slices.ContainsFunc(s.Messages, func(m llm.Message) bool { // it may leave though it is cached
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	})
	var p played
	p.play(context.Background(), replay.New(s, &replay.Config{Pointers: pointers.Of}), policies)
	for by, outcomes := range map[string][]replay.Outcome{
		"counted": p.free.counted, "reported": p.free.reported, "checked": p.bound.counted, "checked, reported": p.bound.reported,
	} {
		for i := range outcomes {
			o, off := &outcomes[i], &outcomes[0]
			name := policies[i].Name + ", " + by
			if o.Tokens > off.Tokens {
				t.Errorf("%s: %d tokens instead of %d", name, o.Tokens, off.Tokens)
			}
			if dearerAtAny(off, o) {
				t.Errorf("%s: dearer than without stet after a request", name)
			}
			for rule, cost := range o.Cost {
				if cost > off.Cost[rule]*(1+1e-12) {
					t.Errorf("%s: %s: %.1f instead of %.1f", name, rule, cost, off.Cost[rule])
				}
			}
			for rule, lost := range o.LostByRule {
				if lost != 0 {
					t.Errorf("%s: %s: the text of %d edits is lost", name, rule, lost)
				}
			}
			if i > 0 && o.Dangling != 0 || o.Changed != 0 && !thinks {
				t.Errorf("%s: %d lines dangle, %d requests changed what was cached", name, o.Dangling, o.Changed)
			}
		}
	}
	if len(p.free.counted) == 0 {
		return 0, 0
	}
	return p.free.counted[0].Tokens - p.free.counted[len(policies)-1].Tokens, p.free.counted[0].Tokens
}

// TRIM-16, TRIM-17: the promises hold for sessions of every format and shape, and not only for the recorded ones.
func TestForeignShapes(t *testing.T) {
	for i, format := range slices.Sorted(maps.Keys(formats)) {
		t.Run(format, func(t *testing.T) {
			var saved, of int64
			for j, name := range slices.Sorted(maps.Keys(shapes)) {
				if (i+j)%replaytest.Sample != 0 {
					continue
				}
				s := rapid.Custom(func(t *rapid.T) *story { return generate(t, shapes[name]) }).Example(len(name))
				for _, session := range written(t, t.TempDir(), format, s) {
					a, b := checkPromises(t, session)
					saved, of = saved+a, of+b
				}
				if t.Failed() {
					t.Fatal(name)
				}
			}
			t.Logf("%d of %d tokens", saved, of)
			if saved == 0 && replaytest.Sample == 1 {
				t.Error("nothing was left out: its tools are not known")
			}
		})
	}
}

// The same, for sessions that mix all shapes.
func TestForeignSessions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		format := rapid.SampledFrom(slices.Sorted(maps.Keys(formats))).Draw(r, "format")
		some := rapid.Bool()
		s := generate(r, shape{
			steps: rapid.IntRange(0, 24/replaytest.Sample).Draw(r, "steps"), mute: rapid.IntRange(0, 20).Draw(r, "mute") == 0,
			twice: some.Draw(r, "twice"), lose: some.Draw(r, "lose"), pictures: some.Draw(r, "pictures"),
			sides: some.Draw(r, "sides"), compacts: some.Draw(r, "compacts"), timeless: some.Draw(r, "timeless"),
			backward: some.Draw(r, "backward"), silent: some.Draw(r, "silent"), gaps: some.Draw(r, "gaps"),
			models: rapid.IntRange(0, 3).Draw(r, "models"), model: rapid.SampledFrom([]string{"", "gpt-5.1", "nobody-knows-it"}).Draw(r, "model"),
		})
		for _, session := range written(t, t.TempDir(), format, s) {
			checkPromises(r, session)
		}
	})
}
