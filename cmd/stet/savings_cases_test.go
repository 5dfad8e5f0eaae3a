package main

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/trim/replay"
)

// Small sessions with a known bill: each stands for a kind of session that usage counters get wrong.
//
// BILL-1, BILL-2, BILL-4
func TestSavingsCases(t *testing.T) {
	for name, want := range map[string]struct {
		requests int
		usd      float64
		copies   int
	}{
		"S1-claude-resume-copy":       {5, 3.25, 4},
		"S2-codex-fork":               {4, 0.756, 3},
		"S20-backup-copy":             {4, 2.60, 4},
		"S24-opencode-fork":           {1, 0.65, 1},
		"S3-codex-zst":                {3, 0.567, 0},
		"S10-opencode-v2":             {4, 2.60, 0},
		"S10b-opencode-v2-only":       {3, 1.95, 0},
		"S9-copilot-shutdown":         {2, 0.825, 0},
		"S15-copilot-model-elsewhere": {2, 0.075, 0},
		"S5-codex-cache-write":        {3, 1.53, 0},
		"S7b-claude-days":             {16, 10.40, 0},
		"S8-claude-rewind":            {4, 2.60, 0},
		"S16-pi-branches":             {3, 1.95, 0},
		"S16-pi-compaction-usage":     {3, 1.95, 0},
		"S16-pi-1h":                   {1, 1.025, 0},
		"S13-claude-empty-content":    {3, 1.95, 0},
		"S18-codex-aborted":           {3, 0.567, 0},
		"S19-codex-compaction":        {3, 0.567, 0},
		"S14-claude-snapshots":        {2, 1.30, 0},
		"S21-broken":                  {4, 2.60, 3},
	} {
		rep, said := savingsOf(t, filepath.Join("testdata", "savings", name))
		if rep.Totals.USD == nil {
			t.Errorf("%s: no dollars: %s", name, said)
			continue
		}
		if usd := rep.Totals.USD; rep.Totals.Requests != want.requests || math.Abs(usd.Without-want.usd) > want.usd*5e-4 || rep.Copies != want.copies {
			t.Errorf("%s: %d requests, $%v, %d copies; want %+v", name, rep.Totals.Requests, usd.Without, rep.Copies, want)
		}
	}
}

// savingsOf returns what stet savings --json says of a path, and its standard error.
func savingsOf(t *testing.T, path string) (rep replay.Report, said string) {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &out, err: &errs, env: []string{"HOME=" + t.TempDir()}, dir: dir}
	code := p.run(t.Context(), []string{"savings", "--json", path})
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatalf("%s: exit code %d: %v: %s", path, code, err, errs.String())
	}
	return rep, errs.String()
}
