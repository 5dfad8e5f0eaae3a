package openai

import (
	"testing"

	"github.com/stet-dev/stet/test/codectest"
)

func FuzzChatStream(f *testing.F) { codectest.FuzzStream(f, ChatAPI, "testdata/chat/*.txtar") }

func FuzzResponsesStream(f *testing.F) {
	codectest.FuzzStream(f, ResponsesAPI, "testdata/responses/*.txtar")
}
