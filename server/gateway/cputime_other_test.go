//go:build !unix

package gateway

import (
	"testing"
	"time"
)

// cpuTime returns 0: it is not implemented for this system.
func cpuTime(testing.TB) time.Duration { return 0 }
