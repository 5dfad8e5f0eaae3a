// Package proxy stands between coding agents and the endpoint of their model.
// It is an http.Handler: what an agent asks is forwarded to the provider, and
// what is left out on the way is decided by package history.
//
// # What it changes
//
// In the bodies of POST /v1/messages, /v1/messages/count_tokens,
// /v1/chat/completions and /v1/responses (with or without the /v1) results of
// tools and arguments of calls are replaced, and nothing else changes by a byte. Of the headers,
// Accept-Encoding becomes identity on these paths, so that the usage in the
// answer can be read; Host is the upstream's; the hop-by-hop ones end here, and
// so does Expect where the proxy has read the body. Trailers of a body that
// was read whole are dropped.
// Everything else, other paths and methods included, passes through as it is,
// and so do answers: streams are forwarded as they come. Only CONNECT and TRACE
// are answered with a 405.
//
// On any doubt the original body is sent: one that is no valid request, is
// compressed, is larger than Config.MaxBody or continues a conversation that
// the provider stores; and if a plan or a patch fails. A row with the reason is
// recorded all the same (record.Request.Passed). The reasons:
//
//	encoded    the body has a Content-Encoding
//	large      the body is larger than Config.MaxBody
//	malformed  the codec cannot read it
//	chained    it continues a stored conversation (previous_response_id)
//	thread     it continues a thread that the provider keeps; see below
//	managed    the provider is told to drop older results by itself, has summed up part of
//	           the conversation, or may have to cut the prompt to its window: what a line
//	           points at could be gone
//	patch      the patched body did not prove right
//	panic      our own code failed
//
// No threads are kept here: a Messages request that continues one (thread) is answered as
// by a server that keeps none, with a 400 whose details name thread_unsupported_request.
// The client sends the whole conversation again, and no more threads. A request that
// begins a thread has the whole conversation: it is planned and passed on as any other.
// Where nothing is ever changed (the policy off, Config.Observe) both pass untouched.
//
// A body of which the client did not send all goes nowhere: it is answered with
// a 400, with a 503 when the proxy is closing, and recorded as "incomplete".
//
// # Where a request goes
//
// Every API has a base URL, which may end in a version ("https://host/v1"), in
// nothing ("https://host") or in some prefix ("https://host/some/prefix"). The
// path that the client asked for is appended to it; a version that the base
// ends in stands in place of the client's /v1:
//
//	https://host                  /v1/messages          https://host/v1/messages
//	https://host/v1               /v1/chat/completions  https://host/v1/chat/completions
//	https://host/v1               /chat/completions     https://host/v1/chat/completions
//	https://host/some/prefix      /v1/messages          https://host/some/prefix/v1/messages
//	https://host/api/v4           /v1/chat/completions  https://host/api/v4/chat/completions
//
// A query in the base URL goes before the client's. Paths of no API go to that
// API's upstream to which they look: below /v1/messages, /v1/chat and
// /v1/responses to theirs; with an anthropic-version header, the path / itself and a few
// that agents of that provider ask for (/api/hello), to that of Messages; the other paths
// of the Chat API's provider (/v1/models, /v1/embeddings, …) to that of Chat. Where all
// upstreams are one host, all others go there. Else they are answered with a 404, and so
// is everywhere what has the key of another provider in it: no key goes to a provider
// that it is not of.
//
// # How much at once
//
// The bodies that are held at once have 160 MB together, and 112 MB those of one client
// (its address and its key). What is more is answered with a 503, or a 429, and with
// Retry-After. A body that stands still for a minute is answered with a 408; one that is
// slow may take as long as it likes.
//
// Under lossless and above, nothing is left out of a conversation's first messages: of
// those that have, with tools and system text before them, less text than five bytes for
// each token of the shortest prompt that the model's provider caches. A prompt that would
// be cached is not made one that is not.
//
// # Conversations
//
// Requests of one conversation are told by the keys that the agent itself
// sends. Without any, a request belongs to the conversation whose last request
// is the longest beginning of this one, compared by the hashes of the
// messages, with a user's message in it; if there is none, it begins a new
// conversation. The leading system text is compared apart: it may change only
// where an answer of the model is common to both. A conversation that was
// remembered by an earlier process keeps its name. The newest 1,000
// conversations are kept.
//
// # The provider's cache
//
// What was sent once is sent the same way again, or the provider's prompt cache is
// lost. A policy that leaves out more of what was sent before (lossless and above)
// does so at moments only, when that cache holds nothing of the conversation in any
// case:
//
//	gap         more time has passed since the model's last answer than the cache
//	            lives: the longest lifetime that the markers of this request or the
//	            one before ask for, else the provider's own for the model. Where
//	            nothing vouches for that (no markers, less than an hour), the
//	            conversation's cache must have been seen not to outlive such a pause
//	model       the conversation's last request asked another model, and this one
//	            was never asked in it, or not for as long
//	tools       it offers tools, or has a system text, that the model was not asked with
//	            in the conversation; but not where these change with every request, nor
//	            once the cache has outlived such a change
//	compaction  the agent has begun anew under the same name, with something of
//	            what was before
//
// The cache goes by model, tools and system text, and so do moments: after a request
// with other tools, one with those from before finds its cache alive, and is planned
// as if the other had not come. Where one of the three is new, the cache is cold, and
// the moments so far, of the same model, are taken over. Tools that the model has to
// search for (defer_loading) do not count. A moment stands just behind the
// last message of the model in the request: what is asked behind it may be taken back,
// asked in other words, or lose the agent's reminders.
//
// Every request that was answered is remembered by its model, tools and system text and
// a hash of its messages up to there, with its moment if it was one.
// A request that goes on from some of these, in this process or a later one, is planned
// with their moments; so forks, and conversations gone back, get what was sent before.
// Where an agent changes a message before a moment, or goes back to before it, the moment
// moves to the end of what is there now. What comes before the change
// is sent as it was last, by the newest requests of the conversation's forks, 16 for each
// line, whose cache is not gone: what a moment had left out stays out, though it is among
// the newest again. Whole again is what would not be true else (a line for a listing,
// a plan or an edit's old text, of which the newer one is not there any more), and what
// the model has not answered yet.
// Several processes may have the same store: a request that goes on from more than one
// answer that nothing is known of has what is new there looked up first.
// Memory and store keep the newest 20,000 moments and as many other requests, and a
// proxy that begins recalls them all. Where thinking is not checked, what is
// forgotten costs the savings of its moments, and nothing else changes. Where it is
// checked, a shortened conversation that is forgotten may be refused: see
// docs/rough_edges.md.
//
// The answer's cache figures say whether a cache taken for cold was alive: then more
// was read of it than tools and system text. If so, its lifetime is known to be
// longer from then on. What had to be written again is charged to the
// conversation's account, to which every request brings what it is shorter by, at the
// price of reading; at that of writing where the cache is seen to be cold, or certain
// to be: after an hour, after the lifetime that markers asked of a provider that keeps
// to it, after a pause as long as one that it was seen not to outlive, and after a
// compaction. Where the answer cannot show it (what changed stands
// near the beginning, or no marker leads to what did not), it is reckoned as alive.
// While the account is negative, there are no more moments.
//
// # Models
//
// How far back a line may point goes by the window of the request's own model, and
// the engine's account by its prices, as Config.Prices has them: each of a
// conversation's models has a plan of its own, as it has a cache of its own. What is
// not known is taken to be 200,000 tokens, at the API's own prices.
//
// # What is held
//
// The newest requests are held, decoded and folded, up to Config.Memory. One that
// begins like one of these, byte for byte, up to somewhere in its messages is read
// from there on, and planned from there on if it asks the same model; the result is
// that of reading it whole.
//
// # Who may ask
//
// Only requests whose Host is localhost, an address of the loopback or one of
// Config.AllowedHosts, and that no web page of another origin makes; the others
// get a 403. There is no token of the proxy's own: Authorization is the
// provider's. Keys are passed through; they are in no record and no log.
package proxy
