package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/stet-dev/stet/bench/formats"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// row is a policy. checked says that the provider checks what is before thinking, and clears says that it then clears
// results.
type row struct {
	policy          trim.Policy
	checked, clears bool
}

var rows = map[string]row{
	"lossless":             {trim.Lossless, false, false},
	"adaptive":             {trim.Adaptive, false, false},
	"adaptive, checked":    {trim.Adaptive, true, true},
	"bold":                 {trim.Bold, false, false},
	"bold, checked":        {trim.Bold, true, true},
	"bold, nothing leaves": {trim.Bold, true, false},
}

// cost is what sessions cost. The unit is an input token without a cache.
type cost struct {
	Off  float64 `json:"off"`
	With float64 `json:"with"` // after recall
	Lost int     `json:"lost"` // number of lost edits
}

func (c *cost) add(o cost) { c.Off, c.With, c.Lost = c.Off+o.Off, c.With+o.With, c.Lost+o.Lost }

func (c *cost) change() float64 {
	if c.Off == 0 {
		return 0
	}
	return c.With/c.Off - 1
}

// measure replays the sessions in paths, and returns their costs by repository.
func measure(ctx context.Context, row row, paths []string) (map[string]cost, error) {
	policy, err := replay.Ours(trim.Config{Policy: row.policy, ChecksThinking: row.checked, Clears: row.clears})
	if err != nil {
		return nil, err
	}
	out := make(map[string]cost)
	var mu sync.Mutex
	var workers sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	repositories := make(map[string]string)
	for _, path := range paths {
		if err := readIndex(path, repositories); err != nil {
			return nil, err
		}
	}
	err = transcript.Opener{Formats: formats.All()}.Walk(paths, func(path string, sessions []*transcript.Session, _ error) error {
		for _, s := range sessions {
			turn <- struct{}{}
			workers.Go(func() {
				defer func() { <-turn }()
				r := replay.New(s, &replay.Config{})
				if len(r.Requests) == 0 {
					return
				}
				if m, ok := r.Reported(); ok {
					r.Measure = m
				}
				rules := []replay.Rule{{Rule: r.OwnRule(prices.Rules()[0]), Recorded: true}}
				off, err := r.Under(ctx, nil, rules)
				if err != nil {
					return
				}
				with, err := r.Under(ctx, policy, rules)
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				sum := out[repositories[path]]
				sum.add(cost{off.Bill[rules[0].Name], with.Bill[rules[0].Name], with.Edits.Lost})
				out[repositories[path]] = sum
			})
		}
		return nil
	})
	workers.Wait()
	return out, err
}

// readIndex reads the index.json of a directory, and adds the repository of each session file that it names.
func readIndex(dir string, repositories map[string]string) error {
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return err
	}
	var list []struct {
		File       string
		Repository string `json:"source_repo"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, e := range list {
		repositories[filepath.Join(dir, filepath.FromSlash(e.File))] = e.Repository
	}
	return nil
}
