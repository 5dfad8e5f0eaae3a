package trim

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// Policy says what may leave a request.
type Policy string

// The policies. Adaptive is the default.
const (
	Off        Policy = "off"         // nothing
	Finish     Policy = "finish"      // nothing; a proxy sends on as it was what it had shortened before
	KeepLatest Policy = "keep-latest" // all but the newest K reads of each file
	Lossless   Policy = "lossless"    // what is in view already is not shown twice
	Adaptive   Policy = "adaptive"    // lossless, and old outputs at cold points
	Bold       Policy = "bold"        // adaptive, and idle reads; in long conversations not at cold points alone
)

// Policies lists the policies in the order of how much they leave out. Finish, by which
// sessions end that another policy began, is not among them.
func Policies() []Policy { return []Policy{Off, KeepLatest, Lossless, Adaptive, Bold} }

// Clears reports whether a policy has a provider clear results ([Config.Clears]).
func (p Policy) Clears() bool { return p == Adaptive || p == Bold }

// ParsePolicy returns the policy named s.
func ParsePolicy(s string) (Policy, error) {
	var names []string
	for _, p := range append(Policies(), Finish) {
		if string(p) == s {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown policy %q: choose one of %s", s, strings.Join(names, ", "))
}

// Config sets an [Engine] up. The zero value is the default.
type Config struct {
	Policy Policy // "" is Adaptive

	// Root is the workspace: an absolute path inside it and a path relative
	// to it are one file. Empty: the directory that the agent's own
	// system prompt or first message names, if it does.
	Root string

	KeepReads int // newest reads of a file that keep-latest leaves whole; 0 is 5, negative all
	KeepShell int // newest outputs of commands that keep-latest (and adaptive, at a cold point) leaves whole; 0 is 5, negative all

	// BySize makes large files keep fewer reads under keep-latest: 3 where
	// the read is 64 KB or more, 1 from 256 KB.
	BySize bool

	// Window is how many tokens the model takes. A pointer does not name a source
	// that is further back than half of it: the lines are sent again. 0 is 200,000,
	// negative no bound.
	Window int

	// Idle is after how many turns of the model old content may leave at a cold
	// point that nothing has touched since. Under adaptive that is reads of files
	// outside the workspace (of dependencies already after 10), and outputs that
	// may show text of files. Under bold these outputs leave after a sixth of it; so do
	// reads of files that the agent has changed. Reads of other files leave after half of it,
	// and texts that were written after the whole. 0 is 30, negative never.
	Idle int

	// LineNumbers says which lines of reads keep their numbers, for agents that edit by text.
	LineNumbers LineNumbers

	// Price is what the provider bills cached tokens at. The account of what
	// omissions save goes by it. A warm break also does: where no price is known, by that of a cache of an hour.
	Price Price

	// ChecksThinking says that the provider refuses a request in which something
	// before a block of thinking has changed. Then keep-latest omits nothing more once
	// the first block of thinking was made, and only thinking leaves at a cold point, but for Clears.
	ChecksThinking bool

	// Clears says that the provider can clear the results of the oldest calls of tools itself, so that nothing changes before
	// thinking. Where thinking is checked, cold points under adaptive and bold, and warm breaks, make use of that (Plan.Cleared), and
	// evict nothing.
	Clears bool

	// BillsThinking says that the provider keeps the thinking of earlier turns in the prompt and bills it. Then it leaves at cold
	// points under adaptive and bold.
	BillsThinking bool

	// NoBreaks: there are no warm breaks. The provider keeps the conversation itself, so that what was sent
	// cannot change.
	NoBreaks bool

	// Language of the placeholders: "en" (or ""), "zh".
	Language string
	// Placeholder, if not empty, is the placeholder of a read left out under
	// keep-latest, in place of the language's. "{path}" and "{lines}" in it are
	// filled in.
	Placeholder string

	// ByContent also recognises reads by what their result looks like, where
	// the call is missing or names no file (the second way). Off by default.
	ByContent bool

	// InPlace: the messages were decoded from a request body that will be
	// patched, so only parts with a valid Span can be shortened.
	InPlace bool

	Dialects *dialect.Table // nil is dialect.Default()
	Logger   *slog.Logger   // nil discards
}
