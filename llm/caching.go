package llm

import "time"

// Breakpoint is a mark up to which a request asks the provider to cache the prompt.
type Breakpoint struct {
	Lifetime time.Duration // that it asks for; 0: the provider's usual one
	Blocks   int           // parts of the prompt up to and with the marked one; 0: the tools
}

// Caching is what a request asks of the provider's prompt cache, and what the
// provider may leave out by itself.
type Caching struct {
	Breakpoints []Breakpoint  // in the order of the prompt; nil where the wire format has none
	Lifetime    time.Duration // the longest that the request asks for; 0: the provider's usual one

	// Clears: the provider drops results of tools from the prompt by itself: it
	// is told to once there are many of them, or has summed up what stands before
	// a place in the conversation. Cuts: it may drop the beginning of the prompt
	// where the window is too small for all.
	Clears, Cuts bool
}
