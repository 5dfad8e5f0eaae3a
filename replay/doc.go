// Package replay sends recorded sessions through a policy, request by request,
// and prices both what was sent and what would have been: tokens, and cost
// under the providers' prompt caches. No model is asked.
//
// What is counted is the visible content of each request, at 3.6 characters a
// token, and 15,000 tokens for the tools and the system prompt where the
// recording has none. Those are priced as a prefix that is cached already. A
// request is what stood in the session before an answer. The answers
// themselves (output tokens) cost the same with and without a policy and are
// left out. Costs are in plain input tokens: 1 is the price of one input token that
// is neither read from a cache nor written to it.
//
// A policy is planned for each price rule by itself, for its moments depend on
// how long the cache lives. Beside the costs a replay tells which edits of the
// recording lost the text that they needed, and which lines point at nothing; both
// are told from the lines of the requests alone.
//
// [RunBench] compares policies: our own ([Ours]), those of others, and bounds.
//
// Agents in a replay do not react to what they no longer see.
package replay
