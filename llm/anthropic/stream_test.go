package anthropic

import (
	"testing"

	"github.com/stet-dev/stet/test/codectest"
)

func FuzzStream(f *testing.F) { codectest.FuzzStream(f, API, "testdata/*.txtar") }
