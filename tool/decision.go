package tool

import "context"

// Decision is a person's decision about a call.
type Decision struct {
	CallID  string
	Tool    string
	Path    string
	Verdict string // "approved", "edited" (which also approves), "rejected", "cancelled"
	By      string // the person who decided
	Grant   string // pattern of paths for which it also holds in later calls, "*" for all; "": only this call
	Words   string // the person's text
}

type witness struct{}

// WithWitness returns a context in which see is called with people's decisions about its calls, before the calls act on them. see
// may be called concurrently.
func WithWitness(ctx context.Context, see func(Decision)) context.Context {
	return context.WithValue(ctx, witness{}, see)
}

// Decided calls the witness of ctx, if there is one.
func Decided(ctx context.Context, d Decision) {
	if see, ok := ctx.Value(witness{}).(func(Decision)); ok {
		see(d)
	}
}
