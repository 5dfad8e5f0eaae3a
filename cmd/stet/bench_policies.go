package main

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay/bench"
)

// benchPolicies are the compared policies: stet's own, those of other tools by their documented rules, and two bounds.
func benchPolicies() []bench.Policy {
	var all []bench.Policy
	for _, p := range trim.Policies() {
		// The agents of most recordings have a shell, so bold may fold. It is assumed that "stet show" would have worked for them.
		// The parts of a fold that they would have needed are charged as recall.
		if ours, err := bench.Ours(trim.Config{Policy: p, Fold: true}); err == nil && p != trim.Off {
			all = append(all, ours)
		}
	}
	return append(all, []bench.Policy{
		{
			Name: "last-5", Begin: bench.LastResults(5),
			Source: "SWE-agent, sweagent/agent/history_processors.py, LastNObservations with n = 5 (the paper's setting); arXiv 2405.15793",
		},
		{
			Name: "last-10", Begin: bench.LastResults(10),
			Source: "SWE-agent, LastNObservations with n = 10, as in \"The Complexity Trap\", arXiv 2508.21433",
		},
		{
			Name: "clear-100k", Begin: bench.ClearPast(100_000, 3, 0), WholeSize: true, ByProvider: true,
			Source: "Anthropic, platform documentation, \"Context editing\": clear_tool_uses_20250919 with its defaults (trigger 100,000 input tokens, keep 3); what was cleared stays so",
		},
		{
			Name: "clear-100k-min-20k", Begin: bench.ClearPast(100_000, 3, 20_000), WholeSize: true, ByProvider: true,
			Source: "Anthropic, platform documentation, \"Context editing\": clear_tool_uses_20250919 with clear_at_least 20,000",
		},
		{
			Name: "outdated-64k", Begin: bench.OutdatedReads(64 << 10),
			Source: "Cline, MessageBuilder: reads of which a later one shows the same range or the whole file, in batches of 65,536 bytes (pull request 11471)",
		},
		{
			Name: "prune-40k", Begin: bench.PruneTurns(40_000, 20_000),
			Source: "opencode, packages/opencode/src/session/compaction.ts, prune: at the end of a turn, the last two turns left alone, PRUNE_PROTECT 40,000, PRUNE_MINIMUM 20,000",
		},
		{
			Name: "mask-50k", Begin: bench.MaskOld(50_000, 30_000),
			Source: "Gemini CLI, packages/core/src/context/toolOutputMaskingService.ts: 50,000 tokens protected, masked by 30,000, with a preview",
		},
		{
			Name: "same-arguments", Begin: bench.SameCalls("task", "todowrite", "todoread", "TodoWrite", "TodoRead", "Task"),
			Source: "opencode-dynamic-context-pruning, lib/strategies/deduplication.ts: the same tool with the same parameters, only the newest kept, at every request",
		},
		bench.LosslessBound("bound-lossless"),
		bench.ClairvoyantBound("bound-clairvoyant"),
	}...)
}

// chosenPolicies returns the policies of these names in the order of the table; without names, all.
func chosenPolicies(names []string) ([]bench.Policy, error) {
	all := benchPolicies()
	if len(names) == 0 {
		return all, nil
	}
	asked := make(map[string]bool)
	for _, name := range names {
		asked[name] = true
	}
	delete(asked, string(trim.Off)) // it is always included
	var chosen []bench.Policy
	known := []string{string(trim.Off)}
	for _, p := range all {
		known = append(known, p.Name)
		if asked[p.Name] {
			chosen = append(chosen, p)
			delete(asked, p.Name)
		}
	}
	for _, name := range names {
		if asked[name] {
			return nil, fmt.Errorf("unknown policy %q: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
