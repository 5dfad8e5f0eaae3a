package bustest_test

import (
	"testing"

	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/test/bustest"
)

func TestLocal(t *testing.T) {
	bustest.Run(t, func(*testing.T) (a, b gateway.Bus) {
		l := new(gateway.Local)
		return l, l
	})
}
