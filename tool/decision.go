package tool

import "context"

// Decision is what a person decided about a call.
type Decision struct {
	CallID  string
	Tool    string
	Path    string
	Verdict string // "approved", "edited" (and so approved), "rejected", "cancelled"
	By      string // who decided
	Grant   string // the pattern of paths for which it also holds from now on, "*" for all; empty: this call alone
	Words   string // what the person said
}

type witness struct{}

// WithWitness returns a context in which see is told what people decide about
// the calls that are made in it, before anything is done about it. It may be
// called concurrently.
func WithWitness(ctx context.Context, see func(Decision)) context.Context {
	return context.WithValue(ctx, witness{}, see)
}

// Decided tells the witness of ctx, if there is one.
func Decided(ctx context.Context, d Decision) {
	if see, ok := ctx.Value(witness{}).(func(Decision)); ok {
		see(d)
	}
}
