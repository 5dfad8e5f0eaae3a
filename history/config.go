package history

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// Policy says what may leave a request (TRIM-18).
type Policy string

// The policies. Adaptive is the default.
const (
	Off        Policy = "off"         // nothing
	KeepLatest Policy = "keep-latest" // TRIM-2: all but the newest K reads of each file
	Lossless   Policy = "lossless"    // what is in view already is not shown twice
	Adaptive   Policy = "adaptive"    // lossless, and more where the cache is cold
	Bold       Policy = "bold"        // adaptive, and old reads of idle files
)

// Policies lists the policies in the order of how much they leave out.
func Policies() []Policy { return []Policy{Off, KeepLatest, Lossless, Adaptive, Bold} }

// ParsePolicy returns the policy named s.
func ParsePolicy(s string) (Policy, error) {
	for _, p := range Policies() {
		if string(p) == s {
			return p, nil
		}
	}
	names := make([]string, 0, len(Policies()))
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown policy %q: choose one of %s", s, strings.Join(names, ", "))
}

// Config sets an [Engine] up. The zero value is the default.
type Config struct {
	Policy Policy // "" is Adaptive

	// Root is the workspace: an absolute path inside it and a path relative
	// to it are one file (TRIM-7). Empty: the directory that the agent's own
	// system prompt or first message names, if it does.
	Root string

	KeepReads int // newest reads of a file that keep-latest (and bold, at a moment) leaves whole; 0 is 5, negative all
	KeepShell int // newest outputs of commands that keep-latest (and adaptive, at a moment) leaves whole; 0 is 5, negative all

	// BySize makes large files keep fewer reads under keep-latest: 3 where
	// the read is 64 KB or more, 1 from 256 KB (TRIM-15).
	BySize bool

	// Window is how many tokens the model takes. What stands further back than
	// half of it is sent again rather than pointed to. 0 is 200,000, negative
	// no bound.
	Window int

	// Idle is after how many turns of the model what nobody has touched since
	// may leave at a moment: under adaptive, reads of files outside the
	// workspace (of dependencies already after 10) and outputs that may show
	// text of files; under bold, after twice as many, reads of files where the
	// agent changed nothing, reads past the newest KeepReads, and what was
	// written, if it is large. 0 is 30, negative never.
	Idle int

	// Price is what the provider bills cached tokens at. The account of what
	// eliding saves goes by it.
	Price Price

	// ChecksThinking says that the provider refuses a request in which something before
	// a block of thinking is not what it was. Then what keep-latest has left out when
	// the first block of thinking was made stays as it is. Breaks count nevertheless:
	// they are the caller's.
	ChecksThinking bool

	// Language of the lines that stand for what was left out: "en" (or ""), "zh".
	Language string
	// Placeholder, if not empty, is the line that stands for a read left out
	// under keep-latest, in place of the language's. "{path}" and "{lines}"
	// in it are filled in.
	Placeholder string

	// ByContent also recognises reads by what their result looks like, where
	// the call is missing (TRIM-5, the second way). Off by default.
	ByContent bool

	// InPlace: the messages were decoded from a request body that will be
	// patched, so only parts with a valid Span can be shortened.
	InPlace bool

	Dialects *dialect.Table // nil is dialect.Default()
	Logger   *slog.Logger   // nil discards
}
