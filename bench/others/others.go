// Package others has the policies of other tools, by their documented rules, and bounds that no policy can go below.
package others

import (
	"context"

	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
)

// Policies returns them in the order of the tables.
func Policies() []bench.Policy {
	return []bench.Policy{
		{
			Name: "last-5", Begin: LastResults(5),
			Source: "SWE-agent, sweagent/agent/history_processors.py, LastNObservations with n = 5 (the paper's setting); arXiv 2405.15793",
		},
		{
			Name: "last-10", Begin: LastResults(10),
			Source: "SWE-agent, LastNObservations with n = 10, as in \"The Complexity Trap\", arXiv 2508.21433",
		},
		byProvider("clear-100k", ClearPast(100_000, 3, 0),
			"Anthropic, platform documentation, \"Context editing\": clear_tool_uses_20250919 with its defaults (trigger 100,000 input tokens, keep 3); what was cleared stays so"),
		byProvider("clear-100k-min-20k", ClearPast(100_000, 3, 20_000),
			"Anthropic, platform documentation, \"Context editing\": clear_tool_uses_20250919 with clear_at_least 20,000"),
		{
			Name: "outdated-64k", Begin: OutdatedReads(64 << 10),
			Source: "Cline, MessageBuilder: reads of which a later one shows the same range or the whole file, in batches of 65,536 bytes (pull request 11471)",
		},
		{
			Name: "prune-40k", Begin: PruneTurns(40_000, 20_000),
			Source: "opencode, packages/opencode/src/session/compaction.ts, prune: at the end of a turn, the last two turns left alone, PRUNE_PROTECT 40,000, PRUNE_MINIMUM 20,000",
		},
		{
			Name: "mask-50k", Begin: MaskOld(50_000, 30_000),
			Source: "Gemini CLI, packages/core/src/context/toolOutputMaskingService.ts: 50,000 tokens protected, masked by 30,000, with a preview",
		},
		{
			Name: "same-arguments", Begin: SameCalls("task", "todowrite", "todoread", "TodoWrite", "TodoRead", "Task"),
			Source: "opencode-dynamic-context-pruning, lib/strategies/deduplication.ts: the same tool with the same parameters, only the newest kept, at every request",
		},
		LosslessBound("bound-lossless"),
		ClairvoyantBound("bound-clairvoyant"),
	}
}

// byProvider returns a rule that the provider itself applies, by the size of the whole request. It checks what the client sent, which is
// all of it, so the rule can be used where thinking is checked too.
func byProvider(name string, begin replay.Policy, source string) bench.Policy {
	return bench.Policy{
		Name: name, Source: source, Begin: begin, Checked: begin,
		Play: func(ctx context.Context, r *replay.Replay, rules []replay.Rule) (replay.Outcome, error) {
			return r.Under(ctx, begin, rules)
		},
	}
}
