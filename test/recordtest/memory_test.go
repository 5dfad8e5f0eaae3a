package recordtest_test

import (
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

func TestMemory(t *testing.T) {
	recordtest.Run(t, func(*testing.T) record.Store { return new(recordtest.Memory) })
}

func TestMemoryTrail(t *testing.T) {
	recordtest.RunTrail(t, func(*testing.T) record.Trail { return new(recordtest.Memory) })
}
