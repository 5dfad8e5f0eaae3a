// Package trim decides what of a conversation goes into a request.
//
// The stored conversation never changes. An [Engine] looks at all messages of a
// request and makes a [Plan]: which results of tools are replaced by a
// placeholder, one line that stands for the content. [Engine.Build] makes the
// messages of a request out of a conversation: it normalises them, plans, and
// applies the plan to a copy.
//
// # How a result is shortened
//
// A [State] takes the messages in order (state.go). It turns each result of a
// recognised tool into a toolResult (result.go). What happens then depends on
// the policy. There are two regimes.
//
// Under lossless, adaptive and bold, decisions are made from the front:
//
//   - The ledger (ledger.go) holds the lines that stand whole in the request, and
//     their sources: the results that show them and the calls that write them.
//   - A new result is deduplicated (deduplicate.go): lines that the ledger holds
//     give way to a pointer, a placeholder that names their source. The decision
//     depends on what came before alone, so it is the same in every later
//     request, and the provider's prompt cache stays valid.
//   - Line numbers that can be counted leave new reads (numbers.go), if the configuration says so.
//   - At a cold point (see [Point]) an eviction scan chooses results that leave
//     (evict.go). Then everything that stays is deduplicated again in order, so
//     that no pointer names a source that has left.
//   - Under bold the same happens at a warm break (break.go): in a long conversation,
//     where what leaves is worth more than the cache that is lost.
//
// Under keep-latest, decisions are made from the end (keeplatest.go): the newest
// reads of each file and the newest outputs of commands stay. That changes what
// was sent before.
//
// Outside keep-latest the plan of the first n messages is the beginning of the plan of n+1 messages,
// unless a cold point or a warm break stands between; and planning a planned request
// changes nothing, but for further breaks. A conversation goes on from what was sent before
// (sent.go): [Engine.Resume] makes the state that has sent it.
//
// # Placeholders
//
// placeholder.go writes all of them. Each begins with "[stet: ", except the
// caller's own text and the Chinese one of keep-latest. None holds a line break, a
// quote or a backslash, so that it can stand in a JSON string as it is. Pointers
// are also recognised when they come back: a planned request, or
// a session of another process. Their lines count as shortened. An agent that asks
// for shortened lines again gets them in full.
//
// # Tests
//
// Most tests of a file stand in the test file of the same name. The promises of this
// page are properties over random conversations: property_test.go (lossless and
// keep-latest), coldpoint_property_test.go (cold points), sent_test.go (what was
// sent goes on), thinking_test.go (bound messages).
package trim
