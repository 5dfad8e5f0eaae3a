package openai_test

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/test/modeltest"
)

var chat = modeltest.Adapter{
	API:    openai.ChatAPI,
	Resent: true, IDs: regexp.MustCompile(`^.{1,40}$`),
}

var responses = modeltest.Adapter{
	API: openai.ResponsesAPI,
	Opaque: []llm.Part{
		{Kind: llm.Thinking, Raw: `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VjcmV0"}`},
		{Kind: llm.Opaque, Raw: `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"plants"}}`},
	},
	Resent: true, IDs: regexp.MustCompile(`^.{1,64}$`),
}

func TestChatClient(t *testing.T) { modeltest.Run(t, chat) }

func TestResponsesClient(t *testing.T) { modeltest.Run(t, responses) }

var update = flag.Bool("update", false, "write what comes of the recorded exchanges into them")

func TestRecorded(t *testing.T) { // CTX-11
	write := func(name string, archive []byte) error { return os.WriteFile("testdata/"+name, archive, 0o644) }
	if !*update {
		write = nil
	}
	modeltest.Recorded(t, chat, os.DirFS("testdata"), "chat/*.txtar", write)
	modeltest.Recorded(t, responses, os.DirFS("testdata"), "responses/*.txtar", write)
}
