package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/internal/budget"
)

// memory is how much memory a server is to have, in megabytes, and how its parts share
// that. The rest is for the program itself, and for what its parts do not count.
type memory int

const (
	usualMemory   memory = 320
	leastMemory   memory = 200 // one call on the largest file has room
	programMemory memory = 30  // of the program itself, which a limit of the garbage collector does not count
)

func (m *memory) add(flags *pflag.FlagSet) {
	flags.IntVar((*int)(m), "memory", int(usualMemory), "megabytes of memory to work with: calls that need more wait, or are refused for now")
}

func (m memory) check() error {
	if m < leastMemory {
		return fmt.Errorf("--memory: %d megabytes are not enough: want %d or more", m, leastMemory)
	}
	return nil
}

// keep has the garbage collector work harder when that much is in use, unless the
// environment says when.
func (m memory) keep() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m) << 20)
	}
}

// part is a budget of so many tenths.
func (m memory) part(tenths int64) *budget.Budget {
	return budget.New(budget.Process, int64(m)<<20*tenths/10)
}

// Shares of the memory, in tenths.
const (
	callShare     = 3 // calls that are being done here
	answerShare   = 3 // calls and answers that pass through the gateway
	questionShare = 3 // open questions
)
