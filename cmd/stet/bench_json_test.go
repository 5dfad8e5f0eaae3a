package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// benchShape has the members that programs read from `stet bench --json`. All must be present with these types. There may be more.
type benchShape struct {
	benchGroup
	ByFormat  map[string]benchGroup `json:"by_format"`
	ByStratum map[string]benchGroup `json:"by_stratum"`
}

type benchGroup struct {
	Policies []benchFigures `json:"policies"`
}

type benchFigures struct {
	Name           string              `json:"name"`
	Tokens         *int64              `json:"tokens"`
	Cost           map[string]*float64 `json:"cost"`
	Rel            *float64            `json:"rel"`
	Peak           *int64              `json:"peak"`
	EditsSupported *int                `json:"edits_supported"`
	EditsLost      *int                `json:"edits_lost"`
	EditsSplit     *int                `json:"edits_split"`
	Dangling       *int                `json:"dangling"`
	WorstSession   *float64            `json:"worst_session"`
}

// check checks a group: all members are present, off comes first, and each policy has its relative values.
func (g benchGroup) check(t *testing.T, where string) {
	t.Helper()
	if len(g.Policies) == 0 || g.Policies[0].Name != "off" {
		t.Errorf("%s: the first policy is not off: %+v", where, g.Policies)
		return
	}
	off := g.Policies[0]
	for _, f := range g.Policies {
		if slices.Contains([]*int{f.EditsSupported, f.EditsLost, f.EditsSplit, f.Dangling}, nil) ||
			f.Tokens == nil || f.Peak == nil || f.Rel == nil || f.WorstSession == nil {
			t.Errorf("%s: %s: a member is missing", where, f.Name)
			continue
		}
		for _, rule := range []string{"anthropic-5m", "anthropic-1h", "openai", "none"} {
			if f.Cost[rule] == nil {
				t.Errorf("%s: %s: no cost under %s", where, f.Name, rule)
				return
			}
		}
		if want := *f.Cost["anthropic-5m"] / *off.Cost["anthropic-5m"] - 1; *f.Rel-want > 1e-9 || want-*f.Rel > 1e-9 {
			t.Errorf("%s: %s: rel %v, want %v", where, f.Name, *f.Rel, want)
		}
		if f.Name != "off" && *f.Rel > *f.WorstSession+1e-9 {
			t.Errorf("%s: %s: all sessions are dearer (%v) than the dearest (%v)", where, f.Name, *f.Rel, *f.WorstSession)
		}
		if *f.Tokens < *f.Peak || *f.Cost["none"] != float64(*f.Tokens) {
			t.Errorf("%s: %s: %d tokens, %d at most, cost %v without a cache", where, f.Name, *f.Tokens, *f.Peak, *f.Cost["none"])
		}
	}
}

// recordedSession is a small session in which a file is read twice.
func recordedSession(lines int) string {
	read := `{"type":"assistant","uuid":"%a","parentUuid":"%p","sessionId":"s","timestamp":"2026-05-01T12:00:05Z","message":{"id":"m%a","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"%a","name":"Read","input":{"file_path":"/home/me/project/a.md"}}]}}
{"type":"user","uuid":"r%a","parentUuid":"%a","sessionId":"s","timestamp":"2026-05-01T12:00:06Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%a","content":"` + strings.Repeat(`1\tpeas and beans\n`, lines) + `"}]}}
`
	return `{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/home/me/project","timestamp":"2026-05-01T12:00:00Z","message":{"role":"user","content":"go on"}}` + "\n" +
		strings.NewReplacer("%a", "one", "%p", "u").Replace(read) + strings.NewReplacer("%a", "two", "%p", "rone").Replace(read) +
		strings.Split(strings.NewReplacer("%a", "three", "%p", "rtwo").Replace(read), "\n")[0] + "\n"
}

// The JSON has the expected members, with the flag in any position and for any paths. Standard output has nothing else.
func TestBenchJSON(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"all/one/a.jsonl": recordedSession(30), "all/one/b.jsonl": recordedSession(60), "other/c.jsonl": recordedSession(5), "none/notes.txt": "peas",
		"all/index.json": `[{"file":"one/a.jsonl","stratum":"usual"},{"file":"one/b.jsonl","stratum":"rare"}]`,
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bench := func(want int, args ...string) (b benchShape, said string) {
		t.Helper()
		var out, errs bytes.Buffer
		p := &program{in: strings.NewReader(""), out: &out, err: &errs, env: []string{"HOME=" + dir}, dir: dir}
		if code := p.run(t.Context(), append([]string{"bench"}, args...)); code != want {
			t.Errorf("stet bench %v: code %d, want %d: %s", args, code, want, &errs)
		}
		d := json.NewDecoder(&out)
		if err := d.Decode(&b); err != nil {
			t.Errorf("stet bench %v: %v", args, err)
		}
		if d.More() {
			t.Errorf("stet bench %v: there is more than one value", args)
		}
		return b, errs.String()
	}
	for _, c := range []struct {
		args   []string
		strata []string
	}{
		{[]string{"--json", "all"}, []string{"rare", "usual"}},
		{[]string{"all", "--json"}, []string{"rare", "usual"}},
		{[]string{"--json", "all", "other"}, []string{"rare", "usual"}},
		{[]string{"other", "--json", "all"}, []string{"rare", "usual"}},
		{[]string{"--json", "other/c.jsonl"}, nil},
		{[]string{"--policy=adaptive", "other", "--json"}, nil},
	} {
		b, said := bench(0, c.args...)
		if said != "" {
			t.Errorf("%v: %q", c.args, said)
		}
		b.check(t, "all")
		if len(b.ByFormat) != 1 || len(b.ByStratum) != len(c.strata) {
			t.Errorf("%v: formats %v, strata %v", c.args, b.ByFormat, b.ByStratum)
		}
		b.ByFormat["claude-code-jsonl"].check(t, "format")
		for _, name := range c.strata {
			b.ByStratum[name].check(t, name)
		}
	}
	for _, path := range []string{"none", "none/notes.txt", "nowhere"} {
		b, said := bench(exitFailed, "--json", path)
		if len(b.Policies) == 0 || *b.Policies[0].Tokens != 0 || !strings.HasPrefix(said, "stet: no") {
			t.Errorf("%s: %+v, %q", path, b.Policies, said)
		}
	}
}
