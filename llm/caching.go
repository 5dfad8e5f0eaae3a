package llm

import "time"

// Breakpoint is a cache marker: the request asks the provider to cache the prompt up to it.
type Breakpoint struct {
	Lifetime time.Duration // the lifetime that it asks for; 0: the provider's default
	Blocks   int           // number of prompt parts up to and including the marked one; 0: the marker is on the tools
}

// Caching is what a request asks of the provider's prompt cache, and what the provider may leave out itself.
type Caching struct {
	Breakpoints []Breakpoint  // in the order of the prompt; nil if the wire format has no markers
	Lifetime    time.Duration // the longest that the request asks for; 0: the provider's default

	// Clears says that the provider itself removes tool results from the prompt. Either the request asks for it when there are
	// many, or the provider has summarised the beginning of the conversation. Cuts says that the provider may drop the beginning
	// of the prompt if the window is too small.
	Clears, Cuts bool
}
