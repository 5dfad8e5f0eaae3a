// Package replay says what a policy would have saved in recorded sessions. It
// sends a session through the policy, request by request, and prices both what was
// sent and what would have been: tokens, and cost under the providers' prompt
// caches. No model is asked. Agents in a replay do not react to what they no
// longer see.
//
// A session takes this way:
//
//	transcript.Session → check.Recording       its parts, and the requests
//	                   → cold points           under a price rule (coldpoints.go)
//	                   → Policy, Planner       what each request leaves out (policy.go)
//	                   → Sender, Cache         the request as sent, and its bill (send.go, cache.go)
//	                   → check.View            what the smaller request lost
//	                   → Outcome               one session under one policy (replay.go)
//	                   → Report                all sessions (savings.go)
//
// What is counted is the visible content of each request, by package tokens' estimate
// for the model, and 15,000 tokens for the tools and the system prompt where the
// recording has none. Those are priced as a prefix that is cached already. The
// answers themselves (output tokens) cost the same with and without a policy and
// are left out. Costs are in plain input tokens: 1 is the price of one input token
// that is neither read from a cache nor written to it.
//
// [Account] follows the provider's cache through the usage that a session
// reported. Package trim/replay/bench compares many policies.
package replay
