package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/internal/limits"
)

// memory is the memory of a server in megabytes. Its parts share it. The rest is for the program itself and for uncounted data.
type memory int

const (
	usualMemory   memory = 320
	leastMemory   memory = 200 // enough for one call on the largest file
	programMemory memory = 30  // of the program itself; the garbage collector's limit does not include it
)

func (m *memory) add(flags *pflag.FlagSet) {
	flags.IntVar((*int)(m), "memory", int(usualMemory), "megabytes of memory for calls, answers and questions; calls that need more wait, or are refused for now")
}

func (m memory) check() error {
	if m < leastMemory {
		return fmt.Errorf("--memory: %d megabytes are not enough: want %d or more", m, leastMemory)
	}
	return nil
}

// keep sets the garbage collector's soft limit, unless the environment sets it.
func (m memory) keep() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m) << 20)
	}
}

// part returns a budget of that many tenths.
func (m memory) part(tenths int64) *limits.Budget {
	return limits.NewBudget(limits.Process, int64(m)<<20*tenths/10)
}

// Shares of the memory, in tenths.
const (
	callShare     = 3 // calls that run in this process
	answerShare   = 3 // calls and answers that the gateway forwards
	questionShare = 3 // open questions
	heldShare     = 1 // sessions and connections
)
